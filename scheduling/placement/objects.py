"""MultiKueueConfig, MultiKueueCluster, and the AdmissionCheck that refers to them, as placement sees them.

Source: Kueue v0.19, apis/kueue/v1beta2 and pkg/util/admissioncheck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import GROUP, MULTIKUEUE_CONFIG
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from policies.objects import GroupKind
from scheduling.objects.workload import CheckState


@dataclass(frozen=True, slots=True)
class MultiKueueConfig:
    """`clusters` in the order in which they are tried. `automated`: quota follows the workers (quotaManagement)."""

    name: str
    clusters: tuple[str, ...] = ()
    automated: bool = False


@dataclass(frozen=True, slots=True)
class MultiKueueCluster:
    """A worker cluster; `labels` are for selectors."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckReference:
    """An AdmissionCheck by who runs it and what its parameters refer to; `parameters` empty where they lead nowhere."""

    name: str
    controller: str = ""
    kind: GroupKind | None = None
    parameters: str = ""

    @property
    def config(self) -> str:
        """The name of its MultiKueueConfig; empty where it is no check of MultiKueue."""
        return self.parameters if self.controller == MULTIKUEUE and self.kind == MULTIKUEUE_CONFIG else ""


def read_config(manifest: Manifest) -> MultiKueueConfig:
    spec = mapping(manifest.get("spec"))
    clusters = tuple(filter(None, map(text, listing(spec.get("clusters")))))
    name = text(metadata(manifest).get("name")) or ""
    return MultiKueueConfig(name, clusters, spec.get("quotaManagement") == "Automated")


def read_cluster(manifest: Manifest) -> MultiKueueCluster:
    meta = metadata(manifest)
    return MultiKueueCluster(text(meta.get("name")) or "", texts(meta.get("labels")))


def read_check(manifest: Manifest) -> CheckReference:
    spec = mapping(manifest.get("spec"))
    name, controller = text(metadata(manifest).get("name")) or "", text(spec.get("controllerName")) or ""
    parameters = mapping(spec.get("parameters"))
    kind = GroupKind(text(parameters.get("apiGroup")) or "", text(parameters.get("kind")) or "")
    return CheckReference(name, controller, kind, text(parameters.get("name")) or "")


def refers_to(check: CheckReference, kind: str) -> str:
    """The name of the object of this kind of Kueue's that its parameters name; empty where they name no such one."""
    return check.parameters if check.kind == GroupKind(GROUP, kind) else ""


def states_of(
    states: Iterable[CheckState], checks: Mapping[str, CheckReference], controller: str = MULTIKUEUE
) -> list[CheckState]:
    """Of a workload's check states those that this controller looks after."""
    return [state for state in states if state.name in checks and checks[state.name].controller == controller]


def multikueue_state(states: Iterable[CheckState], checks: Mapping[str, CheckReference]) -> CheckState | None:
    """The state of its check of MultiKueue, None where it has none; of several the first."""
    return next(iter(states_of(states, checks)), None)
