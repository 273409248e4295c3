"""How far the search for flavors has come for a waiting workload, so that the next cycle does not begin anew.

Source: Kueue v0.19, pkg/scheduler: the state of the last assignment and when it is outdated.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from scheduling.flavors.assignment import Assignment

ALL_SEEN = -1


@dataclass(frozen=True, slots=True)
class Progress:
    """`tried`: by pod set and resource the place in the resource group where the search ended, ALL_SEEN at its end.

    `generation` is the ClusterQueue's when the search was made, `cycle` counts cycles, `shape` says what was asked for.
    """

    tried: tuple[Mapping[str, int], ...] = ()
    generation: int = 0
    cycle: int = 0
    shape: Hashable = ""

    @property
    def pending(self) -> bool:
        """Whether there are flavors left that were not looked at."""
        return any(place != ALL_SEEN for places in self.tried for place in places.values())

    def start(self, pod_set: int, resource: str) -> int:
        """The place to begin at."""
        places = self.tried[pod_set] if pod_set < len(self.tried) else {}
        return places.get(resource, ALL_SEEN) + 1

    def outdated(self, generation: int, cycle: int, shape: Hashable, *, preserve: bool = True) -> bool:
        """Whether it must not be used: another shape asks, or the ClusterQueue changed since the cycle before.

        `preserve` is Kueue's gate FlavorFungibilityPreserveScanProgress: off, any change of the ClusterQueue voids it.
        """
        if not preserve:
            return generation > self.generation
        if shape != self.shape:
            return True
        return self.cycle < cycle - 1 and generation > self.generation


def progress_of(assignment: Assignment, cycle: int = 0, shape: Hashable = "") -> Progress:
    """Where the search ended that the assignment came of."""
    tried = tuple(
        {resource: choice.tried for resource, choice in pod_set.choices.items()} for pod_set in assignment.pod_sets
    )
    return Progress(tried, assignment.generation, cycle, shape)
