"""Kueue's trees and their parts (shards): the part that the root names, and the parts that hold the ClusterQueues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from policies.dialects.kueue import read_cluster_queue, read_cohort
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from reconciler.shards.claims import CONDITION, DEFAULT, LABEL, UNCLAIMED, TreeClaim, read_claim


@dataclass(frozen=True, slots=True)
class PartNode:
    """A Cohort or ClusterQueue.

    `parent`: the name of its Cohort; empty for a root.
    `label`: the part that its label names.
    `claim`: the part that holds the ClusterQueue.
    `requested`: the time since which another part requests the ClusterQueue.
    `flavors`: the flavors of a ClusterQueue.
    """

    kind: str
    name: str
    parent: str = ""
    label: str = ""
    claim: TreeClaim = UNCLAIMED
    requested: datetime | None = None
    flavors: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class PartTree:
    """A tree.

    `root`: None if the root has no object or the tree is a cycle.
    `wanted`: the part that should decide for the tree; None for a cycle.
    `placed`: a ClusterQueue that has a flavor with a topology; empty if there is none. If there is one, the default
    part decides, whatever part the root names.
    """

    name: str
    root: PartNode | None
    wanted: str | None
    queues: tuple[PartNode, ...]
    placed: str = ""

    @property
    def holders(self) -> set[str]:
        return {each.claim.part for each in self.queues}


def read_node(manifest: Manifest) -> PartNode:
    kind, meta = str(manifest.get("kind")), metadata(manifest)
    read = read_cohort if kind == "Cohort" else read_cluster_queue
    above = read(manifest, checked=False).parent
    status = mapping(manifest.get("status"))
    claim = read_claim(status) if kind == "ClusterQueue" else UNCLAIMED
    label = texts(meta.get("labels")).get(LABEL, "")
    groups = map(mapping, listing(mapping(manifest.get("spec")).get("resourceGroups")))
    flavors = frozenset(str(mapping(each).get("name")) for group in groups for each in listing(group.get("flavors")))
    parent = above.name if above else ""
    return PartNode(kind, str(meta.get("name")), parent, label, claim, _requested(status), flavors)


def topology_flavor_name(flavor: Manifest) -> str:
    """The name of a ResourceFlavor if it names a Topology; otherwise empty."""
    named = mapping(flavor.get("spec")).get("topologyName")
    return str(metadata(flavor).get("name")) if named else ""


def trees(nodes: Iterable[PartNode], with_topology: Iterable[str] = ()) -> Iterator[PartTree]:
    """The trees with a ClusterQueue, and those whose root names a part; sorted by name.

    `with_topology`: the flavors that name a Topology.
    """
    topologies = {*with_topology}
    every = list(nodes)
    cohorts = {each.name: each for each in every if each.kind == "Cohort"}
    queues: dict[str, list[PartNode]] = {}
    roots: dict[str, tuple[PartNode | None, str | None]] = {}
    for each in every:
        top, root, wanted = _root(each, cohorts)
        if each.kind == "ClusterQueue" or (each is root and each.label):
            roots[top] = root, wanted
            queues.setdefault(top, []).extend([each] if each.kind == "ClusterQueue" else [])
    for top, (root, wanted) in sorted(roots.items()):
        placed = next((each.name for each in queues[top] if topologies & each.flavors), "")
        yield PartTree(top, root, DEFAULT if placed and wanted else wanted, tuple(queues[top]), placed)


def _root(node: PartNode, cohorts: Mapping[str, PartNode]) -> tuple[str, PartNode | None, str | None]:
    """The tree of a node: its name, the object of its root, and the part that should decide for it."""
    here, passed = node, {node.name} if node.kind == "Cohort" else set()
    while here.parent:
        if here.parent in passed:
            return f"the cycle of Cohort {min(_cycle(here, cohorts))}", None, None
        passed.add(here.parent)
        above = cohorts.get(here.parent)
        if above is None:
            return f"Cohort {here.parent}", None, DEFAULT
        here = above
    return str(here), here, here.label or DEFAULT


def _cycle(node: PartNode, cohorts: Mapping[str, PartNode]) -> set[str]:
    names: set[str] = set()
    while node.name not in names:
        names.add(node.name)
        node = cohorts[node.parent]
    return names


def _requested(status: Mapping[str, object]) -> datetime | None:
    """The time since which a part requests the ClusterQueue; see `reconciler.shards.claims`."""
    for each in map(mapping, listing(status.get("conditions"))):
        since = text(each.get("lastTransitionTime"))
        if (text(each.get("type")) or "").startswith(CONDITION) and each.get("status") == "Unknown" and since:
            return datetime.fromisoformat(since)
    return None
