"""A ResourceFlavor as decisions need it: the labels and taints of the nodes that its quota stands for.

Source: Kueue v0.19, apis/kueue/v1beta2; Kubernetes, core/v1 Taint and Toleration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects.reading import Manifest, listing, mapping, text


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """An empty `key` with operator Exists tolerates everything; an empty `effect` means every effect.

    `seconds` limits how long, None: no limit. It matters only to running pods.
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


@dataclass(frozen=True, slots=True)
class Flavor:
    """`topology` is spec.topologyName."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None


def read_flavor(manifest: Manifest) -> Flavor:
    spec = mapping(manifest.get("spec"))
    return Flavor(
        name=text(mapping(manifest.get("metadata")).get("name")) or "",
        labels={key: str(value) for key, value in mapping(spec.get("nodeLabels")).items()},
        taints=tuple(read_taint(taint) for taint in listing(spec.get("nodeTaints"))),
        tolerations=tuple(read_toleration(toleration) for toleration in listing(spec.get("tolerations"))),
        topology=text(spec.get("topologyName")),
    )


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
