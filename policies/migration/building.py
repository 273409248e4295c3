"""Makes Kueue's objects for a tree of queues, and lists what cannot be migrated."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policies.dialects.kueue_kinds import GROUP
from policies.dialects.labels import is_domain
from policies.migration.model import Migration, MigrationWish, NotKept, SourceQueue, Words
from policies.migration.quota import QuotaTerms, quota
from policies.migration.tree import SourceTree
from policies.model.pools import Terms
from policies.model.quantity import INT64_MAX, Quantity

VERSION: Final = "v1beta2"
DEFAULT: Final = "default"
"""The name of the LocalQueue for jobs that name none."""
_MOST_RESOURCES = 64
"""The most resources of a resource group. All quota has one flavor, and a flavor is in one group only, so this is the
limit of a ClusterQueue."""
_FIRST = ("cpu", "memory")
_LONGEST = 63
"""The most characters. Jobs name their LocalQueue in a label, which has this limit."""
_DIGITS = 8
"""The hexadecimal digits of the hash that is added to names that would otherwise be equal."""


@dataclass(frozen=True, slots=True)
class QueueMapping:
    """Work of `namespace` goes to this queue of the source. `default`: whether this is the work that names no queue."""

    namespace: str
    queue: str
    default: bool = False


def build(
    tree: SourceTree,
    entries: Iterable[QueueMapping],
    wish: MigrationWish,
    words: Words,
    *,
    reclaim: bool = True,
    lost: Iterable[NotKept] = (),
) -> Migration:
    """Make the objects.

    `entries`: the namespaces that use the queues.
    `words`: the terms of the source for messages.
    `reclaim`: whether queues reclaim their deserved amounts from queues that borrow.
    `lost`: what is already known to be lost.
    """
    return _Building(tree, wish, words, reclaim).migration(entries, lost)


class _Building:
    def __init__(self, tree: SourceTree, wish: MigrationWish, words: Words, reclaim: bool) -> None:
        self.tree, self.wish, self.words, self.reclaim = tree, wish, words, reclaim
        every = resources(tree.queues.values(), wish)
        self.resources, self.beyond = every[:_MOST_RESOURCES], every[_MOST_RESOURCES:]
        self.totals = _totals(tree, self.resources, wish)
        self.quota: QuotaTerms = quota(tree, self.resources, self.totals)
        self.names = kueue_names(tree.order)
        self.reclaimable = {leaf for leaf in tree.leaves() if not tree.queues[leaf].shielded}

    def migration(self, entries: Iterable[QueueMapping], lost: Iterable[NotKept]) -> Migration:
        ways = sorted(set(entries), key=lambda entry: (entry.namespace, not entry.default, entry.queue))
        objects = [manifest("ResourceFlavor", self.wish.flavor), *map(self._node, self.tree.order)]
        local = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in self._local_queues(ways)}
        found = [*lost, *self._about_amounts(), *self._about_ways(ways)]
        renamed = {name: new for name, new in self.names.items() if new != name}
        return Migration((*objects, *local.values()), tuple(dict.fromkeys(found)), renamed)

    # -- objects -----------------------------------------------------------------------------------------------------

    def _node(self, name: str) -> dict[str, Any]:
        queue = self.tree.queues[name]
        parent = None if name == self.tree.root else self.names[self.tree.parent(name)]
        shares = {} if queue.weight is None else {"fairSharing": {"weight": str(queue.weight)}}
        if not self.tree.is_leaf(name) or parent is None:
            above = {} if parent is None else {"parentName": parent}
            return manifest("Cohort", self.names[name], {**above, **self._groups(name, every=False), **shares})
        spec = {
            "cohortName": parent,
            "namespaceSelector": {},
            "queueingStrategy": "BestEffortFIFO",
            **self._groups(name, every=True),
            **self._preemption(name),
            **({"stopPolicy": "Hold"} if queue.stopped else {}),
            **shares,
        }
        return manifest("ClusterQueue", self.names[name], spec)

    def _groups(self, name: str, *, every: bool) -> dict[str, Any]:
        """The resource groups. A ClusterQueue lists all resources of the tree (`every`), since it can only borrow
        listed ones. A Cohort lists the resources of which it has quota."""
        terms = {r: each for r, each in self.quota.terms[name].items() if every or each != Terms()}
        if not terms:
            return {}
        flavor = {"name": self.wish.flavor, "resources": [_row(r, each) for r, each in terms.items()]}
        return {"resourceGroups": [{"coveredResources": list(terms), "flavors": [flavor]}]}

    def _preemption(self, name: str) -> dict[str, Any]:
        if not self.reclaim or self.reclaimable <= {name} or name not in self.quota.lenders:
            return {}
        return {"preemption": {"reclaimWithinCohort": "Any"}}

    def _local_queues(self, ways: Iterable[QueueMapping]) -> Iterator[dict[str, Any]]:
        taken = set()
        for way in ways:
            if not self._is_open(way.queue):
                continue
            name = DEFAULT if way.default else self.names[way.queue]
            if (way.namespace, name) in taken:
                continue
            taken.add((way.namespace, name))
            yield manifest("LocalQueue", name, {"clusterQueue": self.names[way.queue]}, namespace=way.namespace)

    # -- losses ------------------------------------------------------------------------------------------------------

    def _about_amounts(self) -> Iterator[NotKept]:
        yield from self._about_totals()
        for resource in self.beyond:
            why = f"one flavor has at most {_MOST_RESOURCES} resources"
            yield NotKept(self._called(self.tree.root), resource, why, "leave out resources that no work asks for")
        for cut in self.quota.cuts:
            why = (
                f"{resource_amount(cut.resource, cut.wanted)} is promised, but under its limits and beside its siblings"
                f" there is room for {resource_amount(cut.resource, cut.granted)}"
            )
            instead = "raise the limits above, or promise less here and to its siblings"
            yield NotKept(self._called(cut.name), f"{self.words.deserved}[{cut.resource}]", why, instead)
        for each in self.quota.unreachable:
            field = f"{self.words.most}[{each.resource}]"
            most, reach = (resource_amount(each.resource, amount) for amount in (each.most, each.reach))
            why = f"{most} is more than the {reach} that the tree could give"
            yield NotKept(self._called(each.name), field, why, "set borrowingLimit once the tree has more")

    def _about_totals(self) -> Iterator[NotKept]:
        if not self.resources:
            why = "no manifest gives the capacity of the nodes, and no queue names an amount: nothing is admitted"
            yield NotKept(self._called(self.tree.root), "", why, "name it: --total RESOURCE=AMOUNT")
        for resource in self.resources:
            if resource in self.totals:
                continue
            held = sum(terms[resource].nominal for terms in self.quota.terms.values())
            promised = resource_amount(resource, held)
            why = f"no manifest gives the capacity of the nodes; the tree has {promised}, the sum of its nominal quotas"
            if not held:
                why = "no manifest gives the capacity of the nodes, and no quota includes it: nothing is admitted"
            yield NotKept(self._called(self.tree.root), resource, why, f"name it: --total {resource}=AMOUNT")

    def _about_ways(self, ways: Iterable[QueueMapping]) -> Iterator[NotKept]:
        served = set()
        for way in ways:
            namespace = f"Namespace {way.namespace}"
            if way.queue not in self.names:
                yield NotKept(namespace, "", f"its work names {way.queue}, which does not exist", "name another queue")
            elif not self.tree.is_leaf(way.queue):
                yield NotKept(namespace, "", f"its work names {way.queue}, which has children", "name a leaf")
            elif self.tree.queues[way.queue].stopped:
                why = f"{way.queue} is closed, so it gets no LocalQueue"
                yield NotKept(namespace, "", why, "make the LocalQueue when the ClusterQueue starts again")
            else:
                served.add(way.queue)
        for leaf in self.tree.leaves():
            if leaf not in served and not self.tree.queues[leaf].stopped and leaf != self.tree.root:
                why = "no work in the input shows which namespaces use it"
                yield NotKept(self._called(leaf), "", why, "make a LocalQueue in each namespace that submits to it")

    def _is_open(self, name: str) -> bool:
        return name in self.names and self.tree.is_leaf(name) and not self.tree.queues[name].stopped

    def _called(self, name: str) -> str:
        return f"{self.words.queue} {name}"


def resources(queues: Iterable[SourceQueue], wish: MigrationWish) -> list[str]:
    """All resources that a queue or the totals name; cpu and memory first."""
    named = {r for queue in queues for amounts in (queue.guarantee, queue.deserved, queue.most) for r in amounts}
    return sorted(named | wish.totals.keys(), key=lambda r: (r not in _FIRST, r))


def _totals(tree: SourceTree, every: Iterable[str], wish: MigrationWish) -> dict[str, int]:
    """The quota of the root: the sum of the Nodes, but at most root's limit."""
    most = tree.queues[tree.root].most
    named = {r: [each[r] for each in (most, wish.totals) if r in each] for r in every}
    return {r: min(amounts) for r, amounts in named.items() if amounts}


def manifest(kind: str, name: str, spec: Mapping[str, Any] | None = None, *, namespace: str = "") -> dict[str, Any]:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    body = {} if spec is None else {"spec": dict(spec)}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": meta, **body}


def _row(resource: str, terms: Terms) -> dict[str, str]:
    row = {"name": resource, "nominalQuota": amount_text(resource, terms.nominal)}
    if terms.borrowing is not None:
        row["borrowingLimit"] = amount_text(resource, terms.borrowing)
    if terms.lending is not None:
        row["lendingLimit"] = amount_text(resource, terms.lending)
    return row


def amount_text(resource: str, amount: int) -> str:
    """The amount with a decimal or a binary suffix, whichever is shorter."""
    nano = min(amount, INT64_MAX) * (10**6 if resource == "cpu" else 10**9)
    return min((str(Quantity.of_nano(nano, like)) for like in ("DecimalSI", "BinarySI")), key=len)


def resource_amount(resource: str, amount: int) -> str:
    return f"{resource}={amount_text(resource, amount)}"


def kueue_names(names: Iterable[str]) -> dict[str, str]:
    """The name in Kueue for each name; the same if possible. It depends on other names only if two would be equal."""
    every = set(names)
    kept = {name for name in every if is_domain(name) and len(name) <= _LONGEST}
    plain = {name: _plain(name) for name in every - kept}
    common = Counter(plain.values())
    found = {name: name for name in kept}
    taken = set(kept)
    for name in sorted(plain):
        short = plain[name]
        unique = short and len(short) <= _LONGEST and common[short] == 1 and short not in kept
        found[name] = short if unique else _marked(name, short, taken)
        taken.add(found[name])
    return found


def _plain(name: str) -> str:
    """The name in lower case, with `-` for characters that are not allowed, and without empty parts."""
    parts = (part.strip("-") for part in re.sub(r"[^a-z0-9.-]+", "-", name.lower()).split("."))
    return ".".join(filter(None, parts))


def _marked(name: str, short: str, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    for digits in range(_DIGITS, len(digest)):
        stem = short[: _LONGEST - digits - 1].rstrip("-.") or "queue"
        marked = f"{stem}-{digest[:digits]}"[:_LONGEST]
        if marked not in taken:
            break
    return marked
