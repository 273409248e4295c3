"""Pods that are deleted so that others get what their queue is guaranteed.

What they use counts until they have ended; who gets the room is decided then. Until then the leaf for which they leave
asks for nobody else, so that no more Pods go than have to.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from scheduling.objects.times import SECOND
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod
from scheduling.yunikorn.preemptors import ANYWHERE
from scheduling.yunikorn.scheduler import Scheduler

PATIENCE = 600 * SECOND
"""How long a leaf waits for its victims at most, in nanoseconds: a lost node must not block it indefinitely."""
_EVERY_LEAF = ""


class Evictions:
    """`leaves`: by Pod the path of the leaf that it leaves for."""

    def __init__(self) -> None:
        self.leaves: dict[str, str] = {}
        self._until: dict[str, int] = {}
        self._begun = False

    def decide(
        self, scheduler: Scheduler, pods: Mapping[str, YuniKornGatedPod], granted: Container[str], now: int
    ) -> None:
        """Choose who leaves. Nobody is chosen while Pods that may go have only been `granted` their room."""
        if not self._begun:  # those that a process before this one has deleted may be on their way out
            self._begun = True
            self._add(_EVERY_LEAF, (key for key, pod in pods.items() if pod.deleting and not pod.ended), now)
        while (found := scheduler.preemption(now, lambda leaf: self._waits(leaf.path, now))) is not None:
            leaf, keys = found.application.leaf, [victim.ask.key for victim in found.victims]
            if any(key in granted for key in keys):
                return
            if all(key in pods for key in keys):
                self._add(leaf.path, keys, now)
            else:  # places that a gang reserves must not be deleted
                scheduler.preemptors.in_vain(leaf, {ANYWHERE}, None)

    def gone(self, pod: str) -> None:
        """Forget a Pod that has ended, or was not deleted after all."""
        leaf = self.leaves.pop(pod, None)
        if leaf is not None and leaf not in self.leaves.values():
            self._until.pop(leaf, None)

    @property
    def next(self) -> int | None:
        """When the first leaf stops to wait (nanoseconds)."""
        return min(self._until.values(), default=None)

    def _add(self, leaf: str, pods: Iterable[str], now: int) -> None:
        if found := dict.fromkeys(pods, leaf):
            self.leaves |= found
            self._until[leaf] = now + PATIENCE

    def _waits(self, leaf: str, now: int) -> bool:
        return any(self._until.get(path, 0) > now for path in (leaf, _EVERY_LEAF))
