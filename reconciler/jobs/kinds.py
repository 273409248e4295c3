"""The enabled kinds of jobs: those in Kueue's `integrations`, and those that Quotree's settings describe.

Source: Kueue v0.19, apis/config v1beta2, Integrations.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.configuration.kueue.values import Integrations
from policies.dialects.frameworks import FRAMEWORKS, SHAPES
from policies.dialects.job_shape import JobShape
from policies.dialects.naming import NAMING, Naming
from policies.model.errors import BadConfiguration
from policies.model.objects import GroupKind
from policies.model.suggestion import close
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.described import JobKind

_NAMED, _EXTERNAL = "integrations.frameworks", "integrations.externalFrameworks"
SHIPPED: Mapping[GroupKind, JobKind] = {
    **{kind: JobKind(shape) for kind, shape in SHAPES.items()},
    BATCH.shape.kind: BATCH,
}


def chosen(
    integrations: Integrations, described: Mapping[GroupKind, JobShape], naming: Naming = NAMING
) -> tuple[JobKind, ...]:
    """The enabled kinds. A described kind is always enabled. Raises BadConfiguration for an unknown kind."""
    found: dict[GroupKind, JobKind] = {kind: JobKind(shape) for kind, shape in described.items()}
    for index, name in enumerate(integrations.frameworks):
        framework = FRAMEWORKS[name]
        kind = framework.kind
        if framework.by_pods:
            continue
        if kind not in SHIPPED and kind not in found:
            cure = "remove it, or describe it in Quotree's settings under reconciler.jobs"
            raise BadConfiguration(f"{kind.kind} is not known here; {cure}", f"{_NAMED}[{index}]")
        found.setdefault(kind, SHIPPED.get(kind) or found[kind])
    for index, external in enumerate(integrations.external):
        _check_external(external, f"{_EXTERNAL}[{index}]", described)
    return tuple(kind.named(naming) for kind in found.values())


def _check_external(name: str, at: str, described: Mapping[GroupKind, JobShape]) -> None:
    kind, version, group = _split_name(name, at)
    shape = described.get(GroupKind(group, kind))
    if shape is None:
        near = close(name, map(_full_name, described.values()))
        hint = f"; did you mean {near!r}?" if near else ""
        raise BadConfiguration(
            f"{name!r} is not described; describe it in the settings under reconciler.jobs{hint}", at
        )
    if shape.version != version:
        raise BadConfiguration(f"{name!r} is described in version {shape.version}; write {_full_name(shape)!r}", at)


def _split_name(name: str, at: str) -> tuple[str, str, str]:
    kind, _, remainder = name.partition(".")
    version, _, group = remainder.partition(".")
    if not (kind and version and group):
        raise BadConfiguration(
            f"{name!r} is not a valid kind; write Kind.version.group, as in Train.v1.example.com", at
        )
    return kind, version, group


def _full_name(shape: JobShape) -> str:
    return f"{shape.kind.kind}.{shape.version}.{shape.kind.group}"


def frameworks_run_here() -> frozenset[str]:
    """The names of the kinds that are managed even if Quotree's settings do not describe them."""
    return frozenset(name for name, framework in FRAMEWORKS.items() if framework.kind in SHIPPED)
