"""The core's state of its cluster, for controllers and observers to read."""

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
    `part`: see `partition`; it tells which part of the cluster this process decides for.
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
        """Whether all objects are known. Nothing may be concluded before that."""
        return self.records.complete
