"""Label selectors: which namespaces a ClusterQueue serves. Source: Kubernetes, metav1.LabelSelector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from policies.dialects.go_values import read_integer
from policies.dialects.reading import listing, mapping, text

NAME_OF_NAMESPACE = "kubernetes.io/metadata.name"
"""The label with its name that the API server adds to every Namespace."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label.

    `operator`: In, NotIn, Exists or DoesNotExist; for nodes also Gt or Lt.
    `exact`: whether it comes from `matchLabels`.
    """

    key: str
    operator: str
    values: frozenset[str] = frozenset()
    exact: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """The requirement as kubectl writes it. A set with one value is written as `key=value`."""
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
        if self.operator in ("Gt", "Lt"):
            return self._compares(labels.get(self.key, ""))
        return self.operator == "In" and labels.get(self.key) in self.values

    def _compares(self, label: str) -> bool:
        value, bounds = read_integer(label, 64), [read_integer(each, 64) for each in self.values]
        if value is None or len(bounds) != 1 or bounds[0] is None:
            return False
        return value > bounds[0] if self.operator == "Gt" else value < bounds[0]


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Selects the labels that meet all requirements. Without requirements it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds(labels) for requirement in self.requirements)


def read_label_selector(value: object) -> LabelSelector | None:
    """Read a label selector. None if it is absent, which selects nothing."""
    if value is None:
        return None
    selector = mapping(value)
    exact = (
        Requirement(key, "In", frozenset([str(one)]), exact=True)
        for key, one in mapping(selector.get("matchLabels")).items()
    )
    return LabelSelector((*exact, *map(read_requirement, listing(selector.get("matchExpressions")))))


def read_requirement(value: object) -> Requirement:
    """One entry of matchExpressions or matchFields."""
    entry = mapping(value)
    values = frozenset(str(item) for item in listing(entry.get("values")))
    return Requirement(text(entry.get("key")) or "", text(entry.get("operator")) or "", values)
