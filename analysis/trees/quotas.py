"""The quota of a node in rows, one for each resource: as the user wrote it, and the sums over the children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from policies.dialects import kueue, volcano, yunikorn
from policies.dialects.core import Namespace
from policies.model.forest import Forest
from policies.model.objects import Node, Ref
from policies.model.quantity import Format, Quantity

Texts = Mapping[str, str]
Pair = tuple[str, str]
"""The flavor, which is empty if the dialect has none, and the resource."""


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """The quota of a resource, of one flavor if the dialect has flavors. An amount that is not set has no entry.

    own: the amounts of the node, by the name of the field in the manifest.
    below: the sums over the children, by the same names.
    """

    flavor: str
    resource: str
    own: Texts
    below: Texts


class Quotas:
    """The rows of every node of a forest.

    A sum has the format of the first node by name with an amount of the resource. In Kueue, a Cohort's own quota adds
    to that of its children. In Volcano, the amount of a queue covers its descendants.
    """

    def __init__(self, forest: Forest, downward: Sequence[Ref]):
        """Compute the sums. `downward`: every node, parents before their children."""
        self._forest = forest
        self._formats = _formats(forest.nodes())
        self._below = _kueue_sums(forest, downward)

    def rows(self, ref: Ref) -> list[QuotaRow]:
        """The rows of a node. Resources that only its children have are included."""
        node = self._forest.node(ref)
        own = _kueue(node) if isinstance(node, kueue.KueueNode) else _volcano(node)
        summed = self._sums(ref)
        keys = [*own, *(key for key in sorted(summed) if key not in own)]
        return [QuotaRow(*key, own.get(key, {}), summed.get(key, {})) for key in keys]

    def note(self, ref: Ref) -> str:  # noqa: ARG002, for subclasses that know more than the quota
        """The text in parentheses after the name of a node; empty if there is none."""
        return ""

    def counts(self, ref: Ref) -> Mapping[str, Mapping[str, int]]:  # noqa: ARG002
        """The number of workloads, PodGroups or applications in the subtree, by state; empty if unknown."""
        return {}

    def condition(self, ref: Ref) -> Mapping[str, str]:
        """Why a queue takes no work, by the names of the fields in `quotree tree -o json`; empty if it does."""
        node = self._forest.node(ref)
        if isinstance(node, kueue.ClusterQueue) and node.stop_policy != "None":
            return {"stopPolicy": node.stop_policy}
        return {"state": node.state} if isinstance(node, volcano.Queue) and not node.is_open else {}

    def _sums(self, ref: Ref) -> dict[Pair, dict[str, str]]:
        if ref.group == kueue.GROUP:
            return {pair: {"nominalQuota": self._text(pair, nano)} for pair, nano in self._below.get(ref, {}).items()}
        found: dict[Pair, dict[str, str]] = {}
        below = self._forest.below(ref)
        for word, amounts in {"guarantee": below.kept, "deserved": below.nominal}.items():
            for resource, nano in amounts.items():
                found.setdefault(("", resource), {})[word] = self._text(("", resource), nano)
        return found

    def _text(self, pair: Pair, nano: int) -> str:
        return Quantity.of_nano(nano, self._formats.get(pair[1], "DecimalSI")).text


def _namespace_rows(namespace: Namespace) -> list[QuotaRow]:
    """The YuniKorn annotations of a namespace, by the names that YuniKorn's queue configuration uses."""
    texts = {
        "max": yunikorn.quota_texts(namespace) or {},
        "guaranteed": yunikorn.guaranteed_texts(namespace) or {},
    }
    resources = dict.fromkeys(resource for amounts in texts.values() for resource in amounts)
    return [
        QuotaRow("", resource, {word: amounts[resource] for word, amounts in texts.items() if resource in amounts}, {})
        for resource in resources
    ]


def _formats(nodes: Iterable[Node]) -> dict[str, Format]:
    found: dict[str, Format] = {}
    for node in sorted(nodes, key=lambda node: node.ref):
        for resource, quantity in _written(node):
            if quantity.nano:
                found.setdefault(resource, quantity.format)
    return found


def _kueue_sums(forest: Forest, downward: Sequence[Ref]) -> dict[Ref, dict[Pair, int]]:
    """For each Cohort, the nominal quota of its descendants.

    Members of a cycle are left out, since the sums would not end.
    """
    below: dict[Ref, dict[Pair, int]] = {}
    for ref in reversed(downward):
        node = forest.node(ref)
        if not isinstance(node, kueue.KueueNode) or node.parent is None or forest.on_cycle(ref):
            continue
        total = below.setdefault(node.parent, {})
        for flavor, resource in node.quotas_in_force():
            if resource.nominal is not None:
                pair = (flavor.name, resource.name)
                total[pair] = total.get(pair, 0) + resource.nominal.nano
        for pair, nano in below.get(ref, {}).items():
            total[pair] = total.get(pair, 0) + nano
    return below


def _written(node: Node) -> Iterable[tuple[str, Quantity]]:
    if isinstance(node, volcano.Queue):
        for amounts in (node.guarantee, node.deserved, node.capability):
            yield from amounts.items()
    elif isinstance(node, kueue.KueueNode):
        yield from ((resource.name, resource.nominal) for _, resource in node.quotas_in_force() if resource.nominal)


def _volcano(node: Node | None) -> dict[Pair, dict[str, str]]:
    found: dict[Pair, dict[str, str]] = {}
    if isinstance(node, volcano.Queue):
        for word in ("guarantee", "deserved", "capability"):
            for resource, quantity in getattr(node, word).items():
                found.setdefault(("", resource), {})[word] = quantity.text
    return found


def _kueue(node: kueue.KueueNode) -> dict[Pair, dict[str, str]]:
    found: dict[Pair, dict[str, str]] = {}
    for flavor, resource in node.quotas_in_force():
        amounts = {
            "nominalQuota": resource.nominal,
            "borrowingLimit": resource.borrowing_limit,
            "lendingLimit": resource.lending_limit,
        }
        texts = {word: quantity.text for word, quantity in amounts.items() if quantity is not None}
        found.setdefault((flavor.name, resource.name), texts)
    return found


def with_quota(forest: Forest) -> list[tuple[Namespace, list[QuotaRow]]]:
    """The namespaces with a YuniKorn quota, by name."""
    namespaces = [each for each in forest.objects() if isinstance(each, Namespace)]
    quotas = [(namespace, _namespace_rows(namespace)) for namespace in namespaces]
    return sorted(((namespace, quota) for namespace, quota in quotas if quota), key=lambda pair: pair[0].ref)
