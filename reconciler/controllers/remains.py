"""Pods that outlive their job: while they run, the quota of their Workload is in use, whoever deleted the job and how.

Pods that a start let go carry the name of their Workload. Kueue gives the quota back when the job goes.
"""

from __future__ import annotations

from cluster.resource import PODS
from cluster.stream import Manifest
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.reading import mapping, metadata, text, texts
from reconciler.core.watched import WatchedKind, ignore
from reconciler.objects.observed import Observed
from scheduling.objects.times import SECOND

PATIENCE = 2 * SECOND
"""Pods are watched by themselves: those that were made last may be seen after their job has gone."""


def _workload_of(pod: Manifest) -> str | None:
    """`namespace/name` of the Workload on whose quota it may run; None where it has ended."""
    meta, name = metadata(pod), texts(metadata(pod).get("annotations")).get(STARTED_FOR)
    ended = mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")
    never = bool(meta.get("deletionTimestamp")) and not mapping(pod.get("spec")).get("nodeName")
    return f"{text(meta.get('namespace')) or ''}/{name}" if name and not ended and not never else None


STARTED_PODS = WatchedKind("StartedPod", PODS, _workload_of, ignore, ignore, label_selector=POD_SET, relist=True)


class Remains:
    """Moments are in nanoseconds."""

    def __init__(self) -> None:
        self._workload_of: dict[str, str] = {}
        self._pods: dict[str, set[str]] = {}
        self._left: dict[str, int | None] = {}

    def observe(self, observed: Observed) -> str | None:
        """A Pod has changed, or is gone; the Workload that no Pod runs for any more."""
        name, workload = observed.key[1], observed.value
        before = self._workload_of.pop(name, None)
        if workload is not None:
            self._workload_of[name] = workload
            self._pods.setdefault(workload, set()).add(name)
        if before is None or before == workload:
            return None
        self._pods[before].discard(name)
        if self._pods[before]:
            return None
        del self._pods[before]
        return before

    def leave(self, workload: str) -> None:
        """Its job goes, and may have Pods."""
        self._left.setdefault(workload, None)

    def forget(self, workload: str) -> None:
        self._left.pop(workload, None)

    def running(self, workload: str) -> bool:
        return workload in self._pods

    def wait(self, workload: str, now: int) -> int | None:
        """Until when more Pods may come into sight; None where none will."""
        if workload not in self._left:
            return None
        since = self._left[workload]
        self._left[workload] = since = now if since is None else since
        return since + PATIENCE if now < since + PATIENCE else None
