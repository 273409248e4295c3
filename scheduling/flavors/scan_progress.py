"""The progress of the search for flavors for a pending workload, so that the next cycle can continue it.

Source: Kueue v0.19, pkg/scheduler: the state of the last assignment and when it is outdated.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from scheduling.flavors.assignment import ALL_TRIED, FlavorAssignment

_MOST_FLAVORS = 64
"""The most flavors of a resource group."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search for flavors ended.

    tried: by pod set and resource, the index of the last flavor that was tried; ALL_TRIED at the end of the group.
    generation, scheduling_hash: of the ClusterQueue and the workload at the time of the search.
    cycle: the number of the cycle.
    before: `tried` of the earlier searches with the same generation and hash.
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
        """The index of the first flavor to try."""
        places = self.tried[pod_set] if pod_set < len(self.tried) else {}
        return places.get(resource, ALL_TRIED) + 1

    def outdated(self, generation: int, cycle: int, scheduling_hash: Hashable) -> bool:
        """Whether the search has to start over.

        It has to if the workload changed, or if the ClusterQueue changed and the search is older than the last cycle.
        """
        if scheduling_hash != self.scheduling_hash:
            return True
        return self.cycle < cycle - 1 and generation > self.generation


def progress_of(
    assignment: FlavorAssignment, cycle: int = 0, scheduling_hash: Hashable = "", last: Progress | None = None
) -> Progress:
    """The progress of the search that found the assignment. `last`: the progress before it.

    With several pod sets, consecutive searches could repeat the same sequence indefinitely, since the start of one
    depends on the others. So the search is complete if it ends where an earlier one did, or after as many searches as a
    resource group can have flavors.
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
