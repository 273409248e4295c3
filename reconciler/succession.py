"""Beginning to write after another: what that one has still on its way must not give the same quota again.

A process that was stopped, or whose connection hangs, may have sent a write that arrives long after its Lease has
ended. Each write is bound to the version that was read, so it changes no object that was written since; but it could
give a Workload quota that meanwhile went to another one. So before anything is decided, the Workloads are read anew,
and each of them that there may be room for is written once: whatever of the one before comes after that meets a
conflict. To one that there is no room for the one before cannot have given any either.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from cluster.actions import Action
from reconciler.feed import Key, Seen
from reconciler.patches import ADMISSION_MANAGER, patch
from scheduling.world.room import may_fit
from scheduling.world.world import World

MARK = "quotree.dev/taken-over-at"
"""The annotation that is written: the version of the Workload when another one took over."""


@dataclass
class Succession:
    """`read_anew` has all Workloads listed again; None where nobody else ever writes. `inherits`: whether whoever wrote
    before may still have writes on their way. `stored` gives a Workload as it is known to be stored.
    """

    world: World
    read_anew: Callable[[], None] | None
    inherits: Callable[[], bool]
    stored: Callable[[str], Seen | None]
    fly: Callable[[Key, Action], None]
    led: bool = False
    _late: Set[Key] | None = field(default=None)

    def __post_init__(self) -> None:
        if self.read_anew is None:
            self.led, self._late = True, set()

    def lead(self, leads: bool) -> None:
        """Whether this process may write; the watch may lag behind what the one before gave away."""
        if leads and not self.led and self.read_anew is not None:
            self._late = None
            self.read_anew()
        self.led = leads

    def over(self, flying: Set[Key]) -> bool:
        """Whether decisions may be made; asked when all is known. `flying`: what is being written."""
        if self._late is None:
            self._late = {*self._shut_out(flying)} if self.inherits() else set()
        self._late &= flying
        return not self._late

    def _shut_out(self, flying: Set[Key]) -> list[Key]:
        found = [each.key for each in may_fit(self.world) if ("Workload", each.key) not in flying]
        for name in found:
            seen = self.stored(name)
            if seen is not None:
                body = {"metadata": {"annotations": {MARK: seen.version}}}
                self.fly(("Workload", name), patch(seen.value, body, ADMISSION_MANAGER))
        return [("Workload", name) for name in found]
