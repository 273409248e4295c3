"""What a dialect makes of a manifest: typed values that rules read, never raw dicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.model.defect import Defect
from policies.model.exemptions import Exemption
from policies.model.pools import Pool


class GroupKind(NamedTuple):
    """An API group and a kind in it; the version is left out since all versions hold the same object."""

    group: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupKind:
        """The group is the part of apiVersion before the slash; core kinds have none."""
        return cls(api_version.rpartition("/")[0], kind)


class Ref(NamedTuple):
    """The identity of an object in a cluster; `namespace` is empty for cluster-scoped kinds."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def is_generated(self) -> bool:
        """Whether the API server will choose the name (generateName), as no name has a `*`."""
        return "*" in self.name

    @property
    def key(self) -> str:
        """Its name among the objects of its kind; see `joined`."""
        return joined(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


def joined(namespace: str, name: str) -> str:
    """The name of an object among those of its kind: `namespace/name`, or the bare name of what is in no namespace."""
    return f"{namespace}/{name}" if namespace else name


def parted(name: str) -> tuple[str, str]:
    """The namespace, empty for none, and the bare name of what `joined` names."""
    namespace, _, bare = name.rpartition("/")
    return namespace, bare


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeObject:
    """One object as its dialect read it.

    `defects` are what its manifest has that cannot be read; the fields concerned count as absent. `exemptions` are the
    rules that it asks to be excused from.
    """

    ref: Ref
    api_version: str
    defects: tuple[Defect, ...] = ()
    exemptions: tuple[Exemption, ...] = ()

    @property
    def judged_as(self) -> GroupKind:
        """The kind that selects the rules for it."""
        return self.ref.group_kind

    @property
    def is_work(self) -> bool:
        """Whether it asks for quota: it comes and goes, and no one keeps it in files."""
        return False

    def uses(self) -> frozenset[Ref]:
        """Objects that it names beside a parent or a queue, and that are missed when they go."""
        return frozenset()

    def group_share(self) -> tuple[Ref, SubtreeShare] | None:
        """The name that it shares with others, and what it adds to their total; None for most objects."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached(KubeObject):
    """An object that names a node of a tree: work submitted to a queue, or a LocalQueue.

    `queue` is None where it names none. `queue_field` is the path under which the user wrote it.
    """

    queue: Ref | None
    queue_field: str

    @property
    def is_work(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class SubtreeShare:
    """The amounts of a subtree that its parent needs, or their totals over siblings.

    Amounts are in nano units (1e-9 of the resource's unit), by resource (Volcano) or by "flavor/resource" (Kueue).
    Amounts of YuniKorn's namespaces are in its own units, by its own names.

    `nominal`, `kept`: sums.
    `limit`: the highest of the limits that are set nearest to the parent, one in each branch.
    `height`: the number of levels.
    `pools`: the amounts by Kueue's own arithmetic, in the units of `policies.model.pools`.
    """

    nominal: Mapping[str, int] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)
    limit: Mapping[str, int] = field(default_factory=dict)
    height: int = 0
    pools: Mapping[str, Pool] = field(default_factory=dict)


NOTHING = SubtreeShare()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(KubeObject):
    """A node of a quota tree. A dialect's subclass says in `share` what the node shows upward.

    `parent_field` is the path under which the user wrote the parent, or would.
    """

    parent: Ref | None
    parent_field: str

    def share(self, below: SubtreeShare) -> SubtreeShare:
        """This subtree's share, given the total over the children's."""
        return SubtreeShare(height=below.height + 1)
