"""Over-admission by an arithmetic of its own: stored ClusterQueues, Cohorts and Workloads in, plain sums out.

One flavor and one resource, whole cpus. It shares no code with the scheduling engine, on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Manifest: TypeAlias = Mapping[str, Any]
_WITHOUT_LIMIT = 10**9


@dataclass(frozen=True)
class Node:
    """A ClusterQueue or a Cohort. `borrow`, `lend`: None is without limit."""

    name: str
    parent: str | None
    nominal: int
    borrow: int | None
    lend: int | None


@dataclass
class Tree:
    """Quota as it is stored. ClusterQueues and Cohorts must not share names."""

    nodes: dict[str, Node] = field(default_factory=dict)

    def children(self, name: str) -> Iterable[Node]:
        return [node for node in self.nodes.values() if node.parent == name]

    def quota(self, node: Node) -> int:
        """Its own and what the children lend."""
        lent = 0
        for child in self.children(node.name):
            whole = self.quota(child)
            lent += whole if child.lend is None else min(whole, child.lend)
        return node.nominal + lent

    def kept(self, node: Node) -> int:
        """What nobody else may use."""
        return 0 if node.lend is None else max(0, self.quota(node) - node.lend)

    def in_use(self, node: Node, used: Mapping[str, int]) -> int:
        """Of a Cohort: what its children need beyond what they keep for themselves."""
        below = sum(max(0, self.in_use(child, used) - self.kept(child)) for child in self.children(node.name))
        return used.get(node.name, 0) + below

    def overdrawn(self, before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
        """The nodes that came to use more from `before` to `after`, and are beyond their limits now."""
        found = []
        for node in self.nodes.values():
            now = self.in_use(node, after)
            if now > self.in_use(node, before) and now > self.most(node):
                found.append(f"{node.name}: {now} in use, {self.most(node)} allowed")
        return found

    def most(self, node: Node) -> int:
        if node.parent is None:
            return self.quota(node)
        return self.quota(node) + (_WITHOUT_LIMIT if node.borrow is None else node.borrow)


def node(manifest: Manifest) -> Node:
    spec = manifest["spec"]
    quotas = [
        quota
        for group in spec.get("resourceGroups", ())
        for flavor in group["flavors"]
        for quota in flavor["resources"]
    ]
    quota = quotas[0] if quotas else {"nominalQuota": "0"}
    parent = spec.get("cohortName") or spec.get("parentName") or None
    limits = [quota.get(limit) for limit in ("borrowingLimit", "lendingLimit")]
    borrow, lend = (None if limit is None else int(limit) for limit in limits)
    return Node(manifest["metadata"]["name"], parent, int(quota["nominalQuota"]), borrow, lend)


def holds(manifest: Manifest, kind: str) -> bool:
    conditions = manifest.get("status", {}).get("conditions", ())
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def holds_quota(manifest: Manifest) -> bool:
    """Whether what it was given is in use, as its status says."""
    active = manifest["spec"].get("active") is not False
    return active and holds(manifest, "QuotaReserved") and not holds(manifest, "Finished")


def given(manifest: Manifest) -> tuple[str, int]:
    """The ClusterQueue and the cpus of its admission."""
    admission = manifest["status"]["admission"]
    usages = (entry.get("resourceUsage", {}) for entry in admission["podSetAssignments"])
    return admission["clusterQueue"], sum(int(usage.get("cpu", "0")) for usage in usages)


def used(workloads: Iterable[Manifest]) -> dict[str, int]:
    """What is in use by ClusterQueue."""
    sums: dict[str, int] = {}
    for workload in filter(holds_quota, workloads):
        queue, cpus = given(workload)
        sums[queue] = sums.get(queue, 0) + cpus
    return sums


def asked(manifest: Manifest) -> int:
    """The cpus that a Workload wants."""
    return sum(
        pods["count"] * int(container["resources"]["requests"]["cpu"])
        for pods in manifest["spec"]["podSets"]
        for container in pods["template"]["spec"]["containers"]
    )
