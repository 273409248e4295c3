"""The typed objects that dialects read from manifests, and that rules use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.model.exemptions import Exemption
from policies.model.pools import Pool


@dataclass(frozen=True, slots=True)
class Defect:
    """One fault of a manifest.

    `field`: the path in the version of the manifest.
    `quantity`: whether the value should be a quantity, but is not.
    `warning`: whether the API server accepts the manifest, but drops the field.
    `unknown`: whether the version of the manifest does not have the field, so that kubectl refuses it.
    `newer`: whether a newer version may have the field.
    `write`, `rename`, `remove`: the certain fix: the right value, the right name, or the removal of the field.
    `meant`: the path of the most similar known field, for an unknown one.
    """

    field: str
    message: str
    quantity: bool = False
    warning: bool = False
    unknown: bool = False
    newer: bool = False
    write: str | int | None = None
    rename: str = ""
    remove: bool = False
    meant: str = ""


class GroupKind(NamedTuple):
    """An API group and a kind, without a version, since all versions are views of the same object."""

    group: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupKind:
        """The group is the part of apiVersion before the slash. Kinds of the core group have none."""
        return cls(api_version.rpartition("/")[0], kind)

    def named(self, name: str, namespace: str = "") -> Ref:
        return Ref(*self, namespace, name)


class Ref(NamedTuple):
    """The identity of an object in a cluster. `namespace`: empty for cluster-scoped kinds."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def is_generated(self) -> bool:
        """Whether the API server will choose the name because of generateName. Such a Ref has a `*` in its name."""
        return "*" in self.name

    @property
    def key(self) -> str:
        """The name with the namespace; see `joined`."""
        return joined(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


def joined(namespace: str, name: str) -> str:
    """`namespace/name`, or only the name of a cluster-scoped object. It is unique among the objects of a kind."""
    return f"{namespace}/{name}" if namespace else name


def parted(name: str) -> tuple[str, str]:
    """The namespace and the name in a result of `joined`."""
    namespace, _, bare = name.rpartition("/")
    return namespace, bare


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeObject:
    """One object as its dialect read it.

    `defects`: the faults of its manifest. Faulty fields count as absent.
    `exemptions`: the exemptions in its annotations.
    """

    ref: Ref
    api_version: str
    defects: tuple[Defect, ...] = ()
    exemptions: tuple[Exemption, ...] = ()

    @property
    def judged_as(self) -> GroupKind:
        """The kind by which its rules are selected."""
        return self.ref.group_kind

    @property
    def is_work(self) -> bool:
        """Whether it is work, which requests quota. Work is short-lived and usually not kept in files."""
        return False

    def uses(self) -> frozenset[Ref]:
        """The objects that it refers to, without its parent or queue. Rules report it if one of them is deleted."""
        return frozenset()

    def group_share(self) -> tuple[Ref, SubtreeShare] | None:
        """The name of a group of objects with a total, and its share of the total; None for most objects."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached(KubeObject):
    """An object that names a node of a tree: work submitted to a queue, or a LocalQueue.

    `queue`: the node; None if it names none.
    `queue_field`: the path of the name.
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
    """A node of a quota tree.

    `parent`: None for a root.
    `parent_field`: the path of the parent in the version of its manifest.
    """

    parent: Ref | None
    parent_field: str

    @property
    def name(self) -> str:
        return self.ref.name

    def share(self, below: SubtreeShare) -> SubtreeShare:
        """The share of this subtree for its parent. `below`: the total over the shares of its children."""
        return SubtreeShare(height=below.height + 1)
