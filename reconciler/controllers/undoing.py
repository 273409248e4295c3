"""Measures how long it takes to undo changes of Pods that bypassed the webhook."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.jobs.pod_member import GroupPod
from reconciler.jobs.pod_writes import CUT_OFF, FINALIZER_RESTORED, KIND, LABEL_RESTORED
from reconciler.objects.bypasses import LABEL_REMOVED, RAN, Bypasses
from reconciler.objects.observed import Key
from reconciler.objects.wanted import WantedWrite

_WAYS = {CUT_OFF: RAN, LABEL_RESTORED: LABEL_REMOVED, FINALIZER_RESTORED: "FinalizerRemoved"}


class Undoing:
    """Follows each Pod from the first corrective write until it is corrected or gone."""

    def __init__(self, bypasses: Bypasses) -> None:
        self._bypasses = bypasses
        self._wanted: set[tuple[Key, str]] = set()

    def wanted(self, write: WantedWrite, now: int) -> None:
        way = _WAYS.get(write.reason) if write.warning else None
        if way is not None and write.key[0] == KIND:
            self._bypasses.seen(write.key, way, now)
            self._wanted.add((write.key, way))

    def looked(self, members: Iterable[GroupPod], now: int) -> None:
        """The unit with these Pods was looked at, and `wanted` was called for each of its corrective writes."""
        for member in members if len(self._bypasses) else ():
            key = (KIND, member.key)
            for way in self._bypasses.ways(key):
                if (key, way) not in self._wanted and not _runs_out(way, member):
                    self._bypasses.end(key, way, now)
        self._wanted.clear()


def _runs_out(way: str, member: GroupPod) -> bool:
    """Whether the Pod is being deleted because it ran without quota, and has not ended yet."""
    return way == RAN and member.occupies and member.deleting
