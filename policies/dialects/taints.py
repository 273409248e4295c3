"""Taints of nodes, and the tolerations of pods. Source: Kubernetes, core/v1 Taint and Toleration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policies.dialects.reading import mapping, text


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str

    @property
    def repels(self) -> bool:
        """Whether it keeps pods without a toleration off the node. PreferNoSchedule does not."""
        return self.effect in ("NoSchedule", "NoExecute")

    def tolerated_by(self, tolerations: Iterable[Toleration]) -> bool:
        return any(toleration.tolerates(self) for toleration in tolerations)

    def __str__(self) -> str:
        """The taint as kubectl writes it: `spot=true:NoSchedule`."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration.

    `key`: empty with the operator Exists, it tolerates every taint.
    `effect`: empty means every effect.
    `seconds`: for how long a running pod tolerates the taint; None means without limit.
    """

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or (bool(self.key) and self.value == taint.value)


def read_taint(value: object) -> Taint:
    taint = mapping(value)
    return Taint(text(taint.get("key")) or "", text(taint.get("value")) or "", text(taint.get("effect")) or "")


def read_toleration(value: object) -> Toleration:
    entry = mapping(value)
    seconds = entry.get("tolerationSeconds")
    return Toleration(
        text(entry.get("key")) or "",
        text(entry.get("operator")) or "Equal",
        text(entry.get("value")) or "",
        text(entry.get("effect")) or "",
        seconds if isinstance(seconds, int) else None,
    )
