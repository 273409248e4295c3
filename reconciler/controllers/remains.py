"""Pods that outlive their job: while they run, the quota of their Workload is in use, whoever deleted the job and how.

Pods that a start let go carry the name of their Workload. Kueue gives the quota back when the job goes.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from cluster.resource import PODS
from cluster.stream import Manifest
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.dialects.reading import listing, mapping, metadata, text, texts
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE
from reconciler.core.watched import WatchedKind, ignore
from reconciler.objects.observed import Observed
from scheduling.objects.times import SECOND

PATIENCE = 2 * SECOND
"""Pods are watched by themselves: those that were made last may be seen after their job has gone."""


class StartedPod(NamedTuple):
    """`workload` is `namespace/name` of the Workload on whose quota it may run, of several slices the first.

    `gates` are its scheduling gates, where that of elastic jobs is one of them; it takes no room then. `leaving`: it is
    being deleted. `bound`: it has a node, and may run on there when its job wants it no more.
    """

    workload: str
    pod_set: str = ""
    gates: tuple[str, ...] = ()
    leaving: bool = False
    bound: bool = False
    uid: str = ""


def _started_pod(pod: Manifest) -> StartedPod | None:
    """None where it has ended."""
    meta, spec = metadata(pod), mapping(pod.get("spec"))
    notes = texts(meta.get("annotations"))
    name = notes.get(SLICE_CHAIN) or notes.get(STARTED_FOR)
    ended = mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")
    never = bool(meta.get("deletionTimestamp")) and not spec.get("nodeName")
    if not name or ended or never:
        return None
    gates = tuple(text(mapping(gate).get("name")) or "" for gate in listing(spec.get("schedulingGates")))
    pod_set = texts(meta.get("labels")).get(POD_SET, "")
    workload, leaving = f"{text(meta.get('namespace')) or ''}/{name}", bool(meta.get("deletionTimestamp"))
    held = gates if ELASTIC_GATE in gates else ()
    return StartedPod(workload, pod_set, held, leaving, bool(spec.get("nodeName")), text(meta.get("uid")) or "")


STARTED_PODS = WatchedKind("StartedPod", PODS, _started_pod, ignore, ignore, label_selector=POD_SET, relist=True)


class Remains:
    """Moments are in nanoseconds."""

    def __init__(self) -> None:
        self._workload_of: dict[str, str] = {}
        self._pods: dict[str, dict[str, StartedPod]] = {}
        self._left: dict[str, int | None] = {}

    def observe(self, observed: Observed) -> str | None:
        """A Pod has changed, or is gone; the Workload that it does not run for any more."""
        name, pod = observed.key[1], observed.value
        workload = pod.workload if isinstance(pod, StartedPod) else None
        before = self._workload_of.pop(name, None)
        if isinstance(pod, StartedPod):
            self._workload_of[name] = pod.workload
            self._pods.setdefault(pod.workload, {})[name] = pod
        if before is None or before == workload:
            return None
        del self._pods[before][name]
        if not self._pods[before]:
            del self._pods[before]
        return before

    def leave(self, workload: str) -> None:
        """Its job goes, and may have Pods."""
        self._left.setdefault(workload, None)

    def forget(self, workload: str) -> None:
        self._left.pop(workload, None)

    def running(self, workload: str) -> bool:
        return workload in self._pods

    def bound(self, workload: str) -> Counter[str]:
        """How many Pods have a node, by pod set."""
        return Counter(pod.pod_set for pod in self._pods.get(workload, {}).values() if pod.bound)

    def wait(self, workload: str, now: int) -> int | None:
        """Until when more Pods may come into sight; None where none will."""
        if workload not in self._left:
            return None
        since = self._left[workload]
        self._left[workload] = since = now if since is None else since
        return since + PATIENCE if now < since + PATIENCE else None
