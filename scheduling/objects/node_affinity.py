"""Which nodes a pod may run on, asked of a flavor's labels and taints instead of a node's.

A flavor names some labels of its nodes, not all. So a condition on a label that the flavor does not define may hold on
its nodes and does not exclude it; only what contradicts the flavor does (docs/adr/2026-11-21-labels-of-a-flavor.md).
Source: Kubernetes, core/v1 NodeAffinity and taints; Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from policies.dialects.reading import listing, mapping, text
from scheduling.objects.resource_flavor import Flavor, Taint, Toleration, read_toleration
from scheduling.objects.selectors import Requirement
from scheduling.objects.template import PodTemplate

_REPELLING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Placement:
    """What a pod template asks of nodes. `terms`: one of them must hold; None where any node will do."""

    selector: tuple[tuple[str, str], ...]
    terms: tuple[tuple[Requirement, ...], ...] | None
    tolerations: tuple[Toleration, ...]

    def may_run_on(self, labels: Mapping[str, str]) -> bool:
        """Whether nodes with these labels, and others that are not told, may be chosen."""
        if any(labels.get(key, value) != value for key, value in self.selector):
            return False
        return self.terms is None or any(_may_hold(term, labels) for term in self.terms)

    def untolerated(self, flavor: Flavor) -> Taint | None:
        """The first taint that keeps the pod away; the flavor's own tolerations are added to the pod's."""
        repelling = (taint for taint in flavor.taints if taint.effect in _REPELLING)
        tolerations = (*self.tolerations, *flavor.tolerations)
        return next((taint for taint in repelling if not _tolerated(taint, tolerations)), None)


@lru_cache(maxsize=4096)
def placement(template: PodTemplate) -> Placement:
    required = mapping(template.affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [mapping(term) for term in listing(required.get("nodeSelectorTerms"))]
    return Placement(
        selector=tuple(sorted(template.node_selector.items())),
        terms=tuple(_term(term) for term in terms if _says_something(term)) if terms else None,
        tolerations=tuple(map(read_toleration, template.tolerations)),
    )


def _says_something(term: Mapping[str, object]) -> bool:
    """An empty term holds for no node at all."""
    return bool(listing(term.get("matchExpressions")) or listing(term.get("matchFields")))


def _term(term: Mapping[str, object]) -> tuple[Requirement, ...]:
    """A flavor has no fields of a node, so matchFields may always hold."""
    return tuple(_requirement(mapping(entry)) for entry in listing(term.get("matchExpressions")))


def _requirement(entry: Mapping[str, object]) -> Requirement:
    values = frozenset(str(value) for value in listing(entry.get("values")))
    return Requirement(text(entry.get("key")) or "", text(entry.get("operator")) or "", values)


def _may_hold(term: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    return all(_holds(requirement, labels) for requirement in term if requirement.key in labels)


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    if requirement.operator not in ("Gt", "Lt"):
        return requirement.holds(labels)
    label, bounds = _whole(labels[requirement.key]), [_whole(value) for value in requirement.values]
    if label is None or len(bounds) != 1 or bounds[0] is None:
        return False
    return label > bounds[0] if requirement.operator == "Gt" else label < bounds[0]


def _whole(value: str) -> int | None:
    """Kubernetes takes a sign and ASCII digits; longer than 64 bits is no number there."""
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        return None
    return int(value) if -(2**63) <= int(value) < 2**63 else None


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)
