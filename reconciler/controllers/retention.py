"""Deletes finished Workloads, and the jobs of deactivated ones, after the time that the configuration sets.

The moment of deletion follows from the conditions of each, so a new process continues where the last one ended.
Source: Kueue v0.19, objectRetentionPolicies (workload controller, job framework); KEP-1618.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.actions import Delete
from cluster.resource import Resource
from policies.dialects.reading import group_kind, listing, mapping, metadata, text
from policies.model.objects import GroupKind
from reconciler.core.controller import Busy, Controller, Lookup, Wanted
from reconciler.objects.moments import DueNames
from reconciler.objects.observed import Observed
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.wanted import WantedWrite, refer, reference
from scheduling.objects.times import SECOND
from scheduling.objects.workload import DEACTIVATED, EVICTED, FINISHED, Workload

_BY_US = f"{DEACTIVATED}DueTo"
"""The prefix of an eviction's reason if the workload was deactivated automatically, not by a user."""
_AGAIN = 10 * SECOND
"""Nanoseconds until a deleted object is checked again."""
_NO_KINDS: Mapping[GroupKind, tuple[str, Resource]] = {}


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention times in nanoseconds; None: keep indefinitely."""

    finished: int | None = None
    deactivated: int | None = None


class RetentionController(Controller):
    """`kinds`: the kinds of jobs that may be deleted, each with its name in the core and its resource."""

    def __init__(
        self, look: Lookup, retention: Retention, kinds: Mapping[GroupKind, tuple[str, Resource]] = _NO_KINDS
    ) -> None:
        self._look = look
        self._retention = retention
        self._kinds = kinds
        self._moments = DueNames()

    def workload_changed(self, workload: str) -> None:
        observed = self._look(workload)
        moment = end_of(observed.value, self._retention) if observed is not None else None
        if moment is None:
            self._moments.drop(workload)
        elif self._moments.get(workload) != moment:
            self._moments.set(workload, moment)

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Delete the objects whose time is over.

        The deletion is repeated some time later while the object still exists.
        """
        for name in self._moments.due(now):
            self._moments.drop(name)
            observed = self._look(name)
            moment = end_of(observed.value, self._retention) if observed is not None else None
            if observed is None or moment is None or moment > now:
                continue
            if deletions := [*self._deletions(observed)]:
                self._moments.set(name, now + _AGAIN)
            yield from [write for write in deletions if not (busy(*write.key) or busy("Workload", name))]

    def _deletions(self, observed: Observed[Workload]) -> Iterator[WantedWrite]:
        """The deletions for a Workload: the Workload if it is finished, its job if it is deactivated.

        A deactivated Workload without a known job stays: the job's controller would create it anew, and active.
        """
        workload = observed.value
        if not workload.finished:
            yield from self._jobs(workload, observed.manifest())
            return
        action = Delete(WORKLOADS, workload.namespace, workload.name, workload.resource_version)
        message = "Deleted workload: it finished, and is kept no longer"
        yield WantedWrite(("Workload", workload.key), action, reference(workload), "Deleted", message)

    def _jobs(self, workload: Workload, manifest: Mapping[str, Any]) -> Iterator[WantedWrite]:
        """The jobs that the Workload belongs to, if they are of a known kind."""
        for owner in map(mapping, listing(metadata(manifest).get("ownerReferences"))):
            known, name = self._kinds.get(group_kind(owner)), text(owner.get("name"))
            if known is None or not name:
                continue
            (kind, resource), uid = known, text(owner.get("uid")) or ""
            action = Delete(resource, workload.namespace, name, uid=uid, background=True)
            key = f"{workload.namespace}/{name}"
            about = refer(str(owner["apiVersion"]), str(owner["kind"]), key, uid)
            message = f"Deleted job: its workload {workload.key} was deactivated, and is kept no longer"
            yield WantedWrite((kind, key), action, about, "Deleted", message)


def end_of(workload: Workload, retention: Retention) -> int | None:
    """The moment of deletion; None while the Workload is to stay, and if it is being deleted already."""
    if workload.deleting:
        return None
    finished, evicted = workload.holding(FINISHED), workload.holding(EVICTED)
    if finished is not None:
        return finished.since + retention.finished if retention.finished is not None else None
    if retention.deactivated is None or evicted is None or workload.active or not evicted.reason.startswith(_BY_US):
        return None
    return evicted.since + retention.deactivated
