"""The core's state: the stored objects and the scheduler's model of them. Controllers and observers read it."""

from __future__ import annotations

from dataclasses import dataclass, field

from reconciler.core.records import Records
from reconciler.objects.bypasses import Bypasses
from reconciler.shards.claims import DEFAULT
from reconciler.shards.partition import TreePartition
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state.

    `records`: the stored objects.
    `world`: the scheduler's model of them.
    `bypasses`: see `reconciler.objects.bypasses`.
    `part`: the part of the cluster that this process decides for.
    `partition`: the trees that belong to that part.
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
        """Whether all objects are known. Nothing may be decided before that."""
        return self.records.complete
