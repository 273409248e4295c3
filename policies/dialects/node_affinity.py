"""Decides whether a pod may run on the nodes of a flavor, by the labels and taints of the flavor.

A flavor has only some labels of its nodes. A condition on another label may hold there, so it does not exclude the
flavor. Only a condition that contradicts the flavor's labels does (docs/adr/2026-11-21-labels-of-a-flavor.md).
Source: Kubernetes, core/v1 NodeAffinity and taints; Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.reading import integer, listing, mapping, texts
from policies.dialects.selectors import Requirement, read_requirement
from policies.dialects.taints import Taint, Toleration, read_toleration

SELECTOR, AFFINITY = "nodeSelector", "affinity"
_Term: TypeAlias = tuple[Requirement, ...]


class Clash(NamedTuple):
    """A requirement of pods that contradicts the labels of a flavor.

    `source`: the field of the pod's spec.
    `requirement`: the requirement; None if no node can meet the field.
    """

    source: str
    requirement: Requirement | None


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """The requirements of pods for nodes.

    `selector`: the labels of nodeSelector.
    `terms`: the terms of the required node affinity, of which one must hold; None if it is absent.
    `tolerations`: the tolerations of the pods.
    """

    selector: tuple[tuple[str, str], ...]
    terms: tuple[_Term, ...] | None
    tolerations: tuple[Toleration, ...]

    @property
    def size(self) -> int:
        """The number of conditions and tolerations, which is the work to compare the pods with one flavor."""
        return len(self.selector) + len(self.tolerations) + sum(map(len, self.terms or ()))

    def may_run_on(self, labels: Mapping[str, str]) -> bool:
        """Whether the pods may run on nodes with these labels and further unknown ones."""
        return self.clash(labels) is None

    def clash(self, labels: Mapping[str, str]) -> Clash | None:
        """The first requirement that excludes such nodes; if all terms are excluded, that of the first term."""
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
        return next((taint for taint in repelling if not taint.tolerated_by(tolerations)), None)


def node_affinity(spec: Mapping[str, Any]) -> NodeAffinity:
    """The required node affinity of pods with this spec."""
    return NodeAffinity(
        selector=tuple(sorted(texts(spec.get("nodeSelector")).items())),
        terms=_required(spec, _term),
        tolerations=tuple(map(read_toleration, listing(spec.get("tolerations")))),
    )


def required_terms(spec: Mapping[str, Any]) -> tuple[_Term, ...] | None:
    """The terms of the required node affinity, of which a Node must meet one. None if any Node will do.

    matchFields become requirements on metadata.name. Unlike `node_affinity`, this is for a Node whose labels are all
    known.
    """
    return _required(spec, _whole_term)


def _required(spec: Mapping[str, Any], read: Callable[[Mapping[str, object]], _Term]) -> tuple[_Term, ...] | None:
    required = mapping(_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [mapping(term) for term in listing(required.get("nodeSelectorTerms"))]
    return tuple(read(term) for term in terms if _says_something(term)) if terms else None


def preferred_terms(spec: Mapping[str, Any]) -> tuple[tuple[int, _Term], ...]:
    """The terms of the preferred node affinity with their weights. No Node meets an empty term."""
    entries = map(mapping, listing(_affinity(spec).get("preferredDuringSchedulingIgnoredDuringExecution")))
    weighed = [(integer(entry.get("weight")) or 0, mapping(entry.get("preference"))) for entry in entries]
    return tuple((weight, _whole_term(term)) for weight, term in weighed if _says_something(term))


def _affinity(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(spec.get("affinity")).get("nodeAffinity"))


def _whole_term(term: Mapping[str, object]) -> _Term:
    entries = [*listing(term.get("matchExpressions")), *listing(term.get("matchFields"))]
    return tuple(map(read_requirement, entries))


def _says_something(term: Mapping[str, object]) -> bool:
    """Whether the term is not empty. An empty term matches no node."""
    return bool(listing(term.get("matchExpressions")) or listing(term.get("matchFields")))


def _term(term: Mapping[str, object]) -> _Term:
    """The requirements of matchExpressions. matchFields are left out: a flavor has no fields, so they may hold."""
    return tuple(map(read_requirement, listing(term.get("matchExpressions"))))


def _unmet(term: Iterable[Requirement], labels: Mapping[str, str]) -> Requirement | None:
    """The first requirement that does not hold. A requirement on an unknown label may hold."""
    known = (requirement for requirement in term if requirement.key in labels)
    return next((requirement for requirement in known if not requirement.holds(labels)), None)
