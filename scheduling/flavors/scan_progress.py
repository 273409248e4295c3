"""How far the search for flavors got for a pending workload, so that the next cycle can continue it.

Source: Kueue v0.19, pkg/scheduler: the state of the last assignment and when it is outdated.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from scheduling.flavors.assignment import ALL_TRIED, FlavorAssignment

_MOST_FLAVORS = 64
"""A resource group has at most so many."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`tried`: by pod set and resource, the index of the last flavor tried; ALL_TRIED at the end of the group.

    `generation` is that of the ClusterQueue and `scheduling_hash` that of the workload at the time of the search.
    `before`: where the searches before this one ended, since one of these changed.
    """

    tried: tuple[Mapping[str, int], ...] = ()
    generation: int = 0
    cycle: int = 0
    scheduling_hash: Hashable = ""
    before: tuple[tuple[Mapping[str, int], ...], ...] = ()

    @property
    def pending(self) -> bool:
        """Whether some flavors were not tried."""
        return any(place != ALL_TRIED for places in self.tried for place in places.values())

    def start(self, pod_set: int, resource: str) -> int:
        """The index of the flavor to begin with."""
        places = self.tried[pod_set] if pod_set < len(self.tried) else {}
        return places.get(resource, ALL_TRIED) + 1

    def outdated(self, generation: int, cycle: int, scheduling_hash: Hashable, *, preserve: bool = True) -> bool:
        """Whether the search must start over: the workload changed, or the ClusterQueue did since the cycle before.

        `preserve` is Kueue's gate FlavorFungibilityPreserveScanProgress. If it is off, any change of the ClusterQueue
        counts.
        """
        if not preserve:
            return generation > self.generation
        if scheduling_hash != self.scheduling_hash:
            return True
        return self.cycle < cycle - 1 and generation > self.generation


def progress_of(
    assignment: FlavorAssignment, cycle: int = 0, scheduling_hash: Hashable = "", last: Progress | None = None
) -> Progress:
    """Where the search ended that found the assignment. `last`: where the one before ended.

    Searches for several pod sets would take turns without end: where that for one begins depends on the others. So the
    search is over when it ends where an earlier one did, or after the most flavors that one pod set can have.
    """
    tried = tuple(
        {resource: choice.tried for resource, choice in pod_set.choices.items()} for pod_set in assignment.pod_sets
    )
    made = Progress(tried, assignment.generation, cycle, scheduling_hash)
    if last is None or (last.generation, last.scheduling_hash) != (made.generation, scheduling_hash):
        return made
    before = (*last.before, last.tried)
    over = tried in before or len(before) >= _MOST_FLAVORS
    return replace(made, tried=()) if over else replace(made, before=before)
