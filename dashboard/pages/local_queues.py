"""Reads the status of LocalQueues: their state, their counts, and their usage of their ClusterQueue's quota."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dashboard.pages.formatting import UsageBar, amount, bar_of
from dashboard.pages.parts import part
from dashboard.pages.trees import read_tree
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader
from dashboard.reading.self_access import SelfAccess
from dashboard.trees.contention import ContendedTree
from dashboard.trees.tree import FlavorPair, NodeKey, PairUsage, nano_of
from dashboard.what_if.manifests import as_yaml

STATES = ("inactive", "stopped", "pending", "admitted", "idle")
"""The states of a LocalQueue, or of all LocalQueues in a namespace, worst first."""
_GONE = "ClusterQueueDoesNotExist"
_SAID = {_GONE: "does not exist", "ClusterQueueIsInactive": "admits nothing"}


class LocalQueueRow(NamedTuple):
    """A LocalQueue.

    `why`: why it admits nothing; empty if it admits workloads.
    `faulty`: whether it names a ClusterQueue that does not exist.
    `pending`, `reserving`, `admitted`: the numbers of its workloads.
    `held`: the quota that its workloads use, in nano.
    """

    namespace: str
    name: str
    cluster_queue: str
    why: str
    faulty: bool
    pending: int
    reserving: int
    admitted: int
    held: Mapping[FlavorPair, int]

    @property
    def state(self) -> str:
        if self.faulty:
            return "inactive"
        return "stopped" if self.why else "pending" if self.pending else "admitted" if self.reserving else "idle"


class QuotaHeld(NamedTuple):
    """The usage of the flavor and resource with the largest share of its quota.

    `share` is empty and `bar` is None if the user may not see the quota.
    """

    text: str
    share: str = ""
    bar: UsageBar | None = None


def local_queue(manifest: Manifest) -> LocalQueueRow:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    meta = manifest["metadata"]
    inactive: Manifest = next((each for each in status.get("conditions") or () if _is_inactive(each)), {})
    stopped = str(spec.get("stopPolicy") or "None") != "None"
    return LocalQueueRow(
        str(meta["namespace"]),
        str(meta["name"]),
        str(spec.get("clusterQueue") or ""),
        "it is stopped" if stopped else _why(spec, inactive),
        not stopped and str(inactive.get("reason")) == _GONE,
        int(status.get("pendingWorkloads") or 0),
        int(status.get("reservingWorkloads") or 0),
        int(status.get("admittedWorkloads") or 0),
        {
            FlavorPair(str(flavor.get("name")), str(each.get("name"))): nano_of(str(each.get("total") or "0"))
            for flavor in status.get("flavorsReservation") or ()
            for each in flavor.get("resources") or ()
        },
    )


def _is_inactive(condition: Manifest) -> bool:
    return condition.get("type") == "Active" and condition.get("status") == "False"


def _why(spec: Manifest, inactive: Manifest) -> str:
    """Why the LocalQueue is inactive, in the dashboard's words for known reasons."""
    said = _SAID.get(str(inactive.get("reason")))
    return f"ClusterQueue {spec.get('clusterQueue')} {said}" if said else str(inactive.get("message") or "")


def seen_tree(reader: CachedReader, may: SelfAccess) -> ContendedTree | None:
    """Kueue's tree; None for users who may not see it."""
    return part(lambda: read_tree(reader, "Kueue")).value if may.opens("ClusterQueue") else None


def held_by(queues: Sequence[LocalQueueRow], tree: ContendedTree | None) -> QuotaHeld | None:
    """The usage of all these LocalQueues together, compared with the quota of their ClusterQueues.

    None if they use nothing and no quota is known.
    """
    held: Counter[FlavorPair] = Counter()
    for queue in queues:
        held.update(queue.held)
    quotas = _quotas({queue.cluster_queue for queue in queues}, tree)
    found = {
        pair: PairUsage(quotas.get(pair), held[pair], max(0, held[pair] - quotas.get(pair, held[pair])), {}, {})
        for pair in {*quotas, *held}
    }
    pair = max(sorted(found), key=lambda each: found[each].share, default=None)
    if pair is None or not (found[pair].used or found[pair].quota):
        return None
    used = found[pair]
    if not used.quota:
        return QuotaHeld(f"{amount(pair, used.used)} {pair}")
    return QuotaHeld(
        f"{amount(pair, used.used)} of {amount(pair, used.quota)} {pair}", f"{used.share:.0%}", bar_of(used)
    )


def _quotas(names: Iterable[str], tree: ContendedTree | None) -> Mapping[FlavorPair, int]:
    found: Counter[FlavorPair] = Counter()
    nodes = [tree.nodes.get(NodeKey("ClusterQueue", name)) for name in names] if tree else []
    for node in filter(None, nodes):
        for pair in node.pairs:
            found[pair] += node.amounts(pair).quota or 0
    return found


def example(namespace: str = "NAMESPACE") -> str:
    """A LocalQueue as YAML, for users without one."""
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
    return as_yaml([{**head, "metadata": {"name": "main", "namespace": namespace}, "spec": {"clusterQueue": "NAME"}}])
