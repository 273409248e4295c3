"""Label selectors: which namespaces a ClusterQueue serves. Source: Kubernetes, metav1.LabelSelector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from policies.dialects.reading import listing, mapping, text

NAME_OF_NAMESPACE = "kubernetes.io/metadata.name"
"""The label that the API server gives every Namespace."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label; the operator is In, NotIn, Exists or DoesNotExist. `exact`: of `matchLabels`."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()
    exact: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """The requirement as kubectl writes selectors; a set of one value is written as that value."""
        values = sorted(self.values)
        if self.operator in ("Gt", "Lt"):
            return f"{self.key}{'>' if self.operator == 'Gt' else '<'}{','.join(values)}"
        if self.operator in ("In", "NotIn"):
            negated = self.operator == "NotIn"
            if len(values) == 1:
                return f"{self.key}{'!=' if negated else '='}{values[0]}"
            return f"{self.key} {'notin' if negated else 'in'} ({','.join(values)})"
        return {"Exists": self.key, "DoesNotExist": f"!{self.key}"}.get(self.operator, f"{self.key} {self.operator}")

    def holds(self, labels: Mapping[str, str]) -> bool:
        if self.operator == "Exists":
            return self.key in labels
        if self.operator == "DoesNotExist":
            return self.key not in labels
        if self.operator == "NotIn":
            return labels.get(self.key) not in self.values
        return self.operator == "In" and labels.get(self.key) in self.values


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Selects what meets all requirements; without any it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds(labels) for requirement in self.requirements)


def read_label_selector(value: object) -> LabelSelector | None:
    """None if there is no selector; that selects nothing."""
    if value is None:
        return None
    selector = mapping(value)
    exact = (
        Requirement(key, "In", frozenset([str(one)]), exact=True)
        for key, one in mapping(selector.get("matchLabels")).items()
    )
    return LabelSelector((*exact, *(_requirement(entry) for entry in listing(selector.get("matchExpressions")))))


def _requirement(value: object) -> Requirement:
    entry = mapping(value)
    values = frozenset(str(item) for item in listing(entry.get("values")))
    return Requirement(text(entry.get("key")) or "", text(entry.get("operator")) or "", values)
