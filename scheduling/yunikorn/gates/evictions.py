"""Chooses Pods to delete so that another queue gets its guaranteed amount.

Victims count as using quota until they have ended. Only then is it decided which Pod gets the room. Until then the leaf
for which they leave gets no further victims, so that no more Pods are deleted than necessary.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from scheduling.objects.times import SECOND
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod
from scheduling.yunikorn.preemptors import ANYWHERE
from scheduling.yunikorn.scheduler import Scheduler

PATIENCE = 600 * SECOND
"""How long a leaf waits for its victims to end, in nanoseconds. A Pod on a lost node may never end."""
_EVERY_LEAF = ""


class Evictions:
    """The current victims. `leaves`: by Pod, the path of the leaf for which it is deleted."""

    def __init__(self) -> None:
        self.leaves: dict[str, str] = {}
        self._until: dict[str, int] = {}  # until when each leaf waits for its victims
        self._begun = False  # whether the Pods that an earlier process deleted are counted

    def decide(
        self, scheduler: Scheduler, pods: Mapping[str, YuniKornGatedPod], granted: Container[str], now: int
    ) -> None:
        """Choose the victims. The victims of other leaves are not chosen again.

        None are chosen while a possible victim is `granted`: it may pass but still has its gate.
        """
        if not self._begun:  # an earlier process may have deleted Pods that have not ended yet
            self._begun = True
            self._add(_EVERY_LEAF, (key for key, pod in pods.items() if pod.deleting and not pod.ended), now)
        while (found := scheduler.preemption(now, lambda leaf: self._waits(leaf.path, now), self.leaves)) is not None:
            leaf, keys = found.application.leaf, [victim.ask.key for victim in found.victims]
            if any(key in granted for key in keys):
                return
            if all(key in pods for key in keys):
                self._add(leaf.path, keys, now)
            else:  # placeholders are not Pods and cannot be deleted
                scheduler.preemptors.in_vain(leaf, {ANYWHERE}, None)

    def gone(self, pod: str) -> None:
        """Forget a Pod that has ended, or could not be deleted."""
        leaf = self.leaves.pop(pod, None)
        if leaf is not None and leaf not in self.leaves.values():
            self._until.pop(leaf, None)

    def next(self, now: int) -> int | None:
        """When the next leaf stops waiting for its victims (nanoseconds)."""
        return min((until for until in self._until.values() if until > now), default=None)

    def _add(self, leaf: str, pods: Iterable[str], now: int) -> None:
        if found := dict.fromkeys(pods, leaf):
            self.leaves |= found
            self._until[leaf] = now + PATIENCE

    def _waits(self, leaf: str, now: int) -> bool:
        return any(self._until.get(path, 0) > now for path in (leaf, _EVERY_LEAF))
