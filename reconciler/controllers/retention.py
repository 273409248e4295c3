"""Deletes finished Workloads, and the jobs of Workloads that Kueue or Quotree deactivated, after the configured time.
What a user deactivated is kept.

The time of deletion is computed from the conditions of the Workload, so a restart does not change it.
Source: Kueue v0.19, objectRetentionPolicies (workload controller, job framework); KEP-1618.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cluster.actions import Delete
from cluster.resource import Resource
from policies.configuration.kueue.values import RetentionPolicies
from policies.dialects.reading import group_kind, owner_references, text
from policies.model.objects import GroupKind
from reconciler.core.controller import Busy, Controller, Lookup, Wanted
from reconciler.objects.moments import DueNames
from reconciler.objects.observed import Observed
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.wanted import WantedWrite, refer, reference
from scheduling.objects.times import SECOND
from scheduling.objects.workload import DEACTIVATED, EVICTED, FINISHED, Workload

_DEACTIVATED_BY_SYSTEM = f"{DEACTIVATED}DueTo"
"""The reason of the condition Evicted begins with this if Kueue or Quotree deactivated the Workload, and not a user."""
_RETRY_AFTER = 10 * SECOND
"""Nanoseconds after which a deletion is tried again if the object still exists."""
_NO_KINDS: Mapping[GroupKind, tuple[str, Resource]] = {}


class RetentionController(Controller):
    """Deletes objects. `kinds`: the kinds of jobs that may be deleted, each with its kind in the store and resource."""

    def __init__(
        self, look: Lookup, retention: RetentionPolicies, kinds: Mapping[GroupKind, tuple[str, Resource]] = _NO_KINDS
    ) -> None:
        self._look = look
        self._retention = retention
        self._kinds = kinds
        self._moments = DueNames()
        self._tried: dict[str, int] = {}  # by Workload: the moment at which its deletion was due when it was tried

    def workload_changed(self, workload: str) -> None:
        observed = self._look(workload)
        moment = deletion_time(observed.value, self._retention) if observed is not None else None
        if moment is None:
            self._moments.drop(workload)
            self._tried.pop(workload, None)
        elif self._moments.get(workload) != moment and self._tried.get(workload) != moment:
            self._moments.set(workload, moment)

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Delete the objects whose retention time has passed. An object that still exists, or was busy, is tried again
        later."""
        for name in self._moments.due(now):
            self._moments.drop(name)
            observed = self._look(name)
            moment = deletion_time(observed.value, self._retention) if observed is not None else None
            if observed is None or moment is None or moment > now:
                continue
            if deletions := [*self._deletions(observed)]:
                self._tried[name] = moment
                self._moments.set(name, now + _RETRY_AFTER)
            yield from [write for write in deletions if not (busy(*write.key) or busy("Workload", name))]

    def _deletions(self, observed: Observed[Workload]) -> Iterator[WantedWrite]:
        """The deletion of a finished Workload, or of the jobs of a deactivated one.

        A deactivated Workload itself is not deleted, because the controller of its job would create another one, which
        would be active.
        """
        workload = observed.value
        if not workload.finished:
            yield from self._jobs(workload, observed.manifest())
            return
        action = Delete(WORKLOADS, workload.namespace, workload.name, workload.resource_version)
        message = "Deleted finished workload due to elapsed retention"
        yield WantedWrite(("Workload", workload.key), action, reference(workload), "Deleted", message)

    def _jobs(self, workload: Workload, manifest: Mapping[str, Any]) -> Iterator[WantedWrite]:
        for owner in owner_references(manifest):
            known, name = self._kinds.get(group_kind(owner)), text(owner.get("name"))
            if known is None or not name:
                continue
            (kind, resource), uid = known, text(owner.get("uid")) or ""
            action = Delete(resource, workload.namespace, name, uid=uid, background=True)
            key = f"{workload.namespace}/{name}"
            about = refer(str(owner["apiVersion"]), str(owner["kind"]), key, uid)
            message = "Deleted job: deactivation retention period expired"
            yield WantedWrite((kind, key), action, about, "Deleted", message)


def deletion_time(workload: Workload, retention: RetentionPolicies) -> int | None:
    """When to delete the Workload or its jobs; None if no retention time applies, a user deactivated the Workload, it
    is active, or it is already being deleted."""
    if workload.deleting:
        return None
    finished, evicted = workload.holding(FINISHED), workload.holding(EVICTED)
    if finished is not None:
        return finished.since + retention.after_finished if retention.after_finished is not None else None
    if (
        retention.after_deactivated is None
        or evicted is None
        or workload.active
        or not evicted.reason.startswith(_DEACTIVATED_BY_SYSTEM)
    ):
        return None
    return evicted.since + retention.after_deactivated
