"""What the core knows of its cluster, for controllers and observers to read."""

from __future__ import annotations

from dataclasses import dataclass, field

from reconciler.core.records import Records
from reconciler.objects.bypasses import Bypasses
from reconciler.parts.claims import DEFAULT
from reconciler.parts.partition import TreePartition
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class ClusterState:
    """`records` are the objects, `world` is what the scheduler makes of them. `bypasses`: see there.

    `part`: see `partition`, which says what of the cluster this process decides for.
    """

    world: World = field(default_factory=World)
    records: Records = field(default_factory=Records)
    bypasses: Bypasses = field(default_factory=Bypasses)
    part: str = DEFAULT
    partition: TreePartition = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", TreePartition(self.world, self.part))

    @property
    def complete(self) -> bool:
        """Whether all objects are known: before that nothing may be concluded."""
        return self.records.complete
