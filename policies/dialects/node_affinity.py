"""Whether a pod may run on a flavor's nodes, by the flavor's labels and taints.

A flavor has some labels of its nodes, not all. So a condition on another label may hold on its nodes and does not
exclude it; only a contradiction of the flavor's labels does (docs/adr/2026-11-21-labels-of-a-flavor.md).
Source: Kubernetes, core/v1 NodeAffinity and taints; Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.reading import integer, listing, mapping, texts
from policies.dialects.selectors import Requirement, read_requirement
from policies.dialects.taints import Taint, Toleration, read_toleration

SELECTOR, AFFINITY = "nodeSelector", "affinity"


class Clash(NamedTuple):
    """What pods require and a flavor's labels contradict.

    `source` is the field of the pod's spec. `requirement` is None where no node meets what it says.
    """

    source: str
    requirement: Requirement | None


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """What pods require of nodes. `terms`: one of them must hold; None: any node will do."""

    selector: tuple[tuple[str, str], ...]
    terms: tuple[tuple[Requirement, ...], ...] | None
    tolerations: tuple[Toleration, ...]

    @property
    def size(self) -> int:
        """How many conditions and tolerations there are: each flavor is compared with all of them."""
        return len(self.selector) + len(self.tolerations) + sum(map(len, self.terms or ()))

    def may_run_on(self, labels: Mapping[str, str]) -> bool:
        """Whether nodes with these labels, and unknown others, may be chosen."""
        return self.clash(labels) is None

    def clash(self, labels: Mapping[str, str]) -> Clash | None:
        """The first requirement that excludes such nodes; of several terms, the first of the first term."""
        for key, value in self.selector:
            if labels.get(key, value) != value:
                return Clash(SELECTOR, Requirement(key, "In", frozenset((value,))))
        if self.terms is None:
            return None
        first: Requirement | None = None
        for term in self.terms:
            unmet = _unmet(term, labels)
            if unmet is None:
                return None
            first = first or unmet
        return Clash(AFFINITY, first)

    def untolerated(self, flavor: Flavor) -> Taint | None:
        """The first taint that neither the pod nor the flavor's own tolerations tolerate."""
        repelling = (taint for taint in flavor.taints if taint.repels)
        tolerations = (*self.tolerations, *flavor.tolerations)
        return next((taint for taint in repelling if not _tolerated(taint, tolerations)), None)


def node_affinity(spec: Mapping[str, Any]) -> NodeAffinity:
    """The required node affinity of pods with this spec."""
    required = mapping(_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [mapping(term) for term in listing(required.get("nodeSelectorTerms"))]
    return NodeAffinity(
        selector=tuple(sorted(texts(spec.get("nodeSelector")).items())),
        terms=tuple(_term(term) for term in terms if _says_something(term)) if terms else None,
        tolerations=tuple(map(read_toleration, listing(spec.get("tolerations")))),
    )


def required_terms(spec: Mapping[str, Any]) -> tuple[tuple[Requirement, ...], ...] | None:
    """What one Node has to meet: one of the terms. Fields are requirements on metadata.name. None: any Node will do.

    Unlike `node_affinity`, this is for a Node whose labels are all known.
    """
    required = mapping(_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [mapping(term) for term in listing(required.get("nodeSelectorTerms"))]
    return tuple(_whole_term(term) for term in terms if _says_something(term)) if terms else None


def preferred_terms(spec: Mapping[str, Any]) -> tuple[tuple[int, tuple[Requirement, ...]], ...]:
    """The weights of the terms that a Node had better meet; an empty term is met by none."""
    entries = map(mapping, listing(_affinity(spec).get("preferredDuringSchedulingIgnoredDuringExecution")))
    weighed = [(integer(entry.get("weight")) or 0, mapping(entry.get("preference"))) for entry in entries]
    return tuple((weight, _whole_term(term)) for weight, term in weighed if _says_something(term))


def _affinity(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(spec.get("affinity")).get("nodeAffinity"))


def _whole_term(term: Mapping[str, object]) -> tuple[Requirement, ...]:
    entries = [*listing(term.get("matchExpressions")), *listing(term.get("matchFields"))]
    return tuple(map(read_requirement, entries))


def _says_something(term: Mapping[str, object]) -> bool:
    """An empty term matches no node."""
    return bool(listing(term.get("matchExpressions")) or listing(term.get("matchFields")))


def _term(term: Mapping[str, object]) -> tuple[Requirement, ...]:
    """A flavor has no fields of its nodes, so matchFields may always hold."""
    return tuple(map(read_requirement, listing(term.get("matchExpressions"))))


def _unmet(term: Iterable[Requirement], labels: Mapping[str, str]) -> Requirement | None:
    """A requirement on a label that is not known may hold."""
    known = (requirement for requirement in term if requirement.key in labels)
    return next((requirement for requirement in known if not requirement.holds(labels)), None)


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)
