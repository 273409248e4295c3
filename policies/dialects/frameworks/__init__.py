"""The kinds of jobs that Kueue knows, with one module for each project. All modules here are imported automatically.

A module has a tuple FRAMEWORKS of descriptions. The reconciler runs jobs of a `JobShape`. Jobs of a plain `Framework`
are only judged, or only their Pods are queued. `make generate` writes webhook rules, RBAC and the table in
docs/kinds-of-jobs.md from the descriptions.
Source: Kueue v0.19, pkg/controller/jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from policies.dialects.job_shape import Framework, JobShape
from policies.model.objects import GroupKind


def by_name(frameworks: Iterable[Framework]) -> dict[str, Framework]:
    """The frameworks by name, sorted. Raises ValueError if two have the same name or kind."""
    found: dict[str, Framework] = {}
    for each in sorted(frameworks, key=lambda each: each.name):
        if each.name in found or each.kind in {other.kind for other in found.values()}:
            raise ValueError(f"{each.name} is described twice")
        found[each.name] = each
    return found


def _described() -> Iterator[Framework]:
    for module in iter_modules(__path__, f"{__name__}."):
        yield from import_module(module.name).FRAMEWORKS


FRAMEWORKS: Mapping[str, Framework] = by_name(_described())
"""All kinds by their names in `integrations.frameworks`."""
SHAPES: Mapping[GroupKind, JobShape] = {each.kind: each for each in FRAMEWORKS.values() if isinstance(each, JobShape)}
"""The kinds that the reconciler runs."""
