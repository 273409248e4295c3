"""Adds the defaults of namespace and RuntimeClass to a workload's pods, and checks whether they could be created."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from policies.amounts.limit_ranges import Violation, violations
from policies.mutation.pod_defaults import Surroundings, completed, exceeded_limits
from scheduling.objects.copying import replace
from scheduling.objects.template import PodTemplate, template
from scheduling.objects.workload import Workload

_BARE = Surroundings()


def adjusted(workload: Workload, around: Surroundings) -> Workload:
    """The workload with completed templates, as it enters a queue.

    Results are cached by `around`, so callers reuse that object while a namespace does not change.
    """
    templates = [_completed(entry.template, around) for entry in workload.pod_sets]
    if templates == [entry.template for entry in workload.pod_sets]:
        return workload
    pairs = zip(workload.pod_sets, templates, strict=True)
    return replace(workload, pod_sets=tuple(replace(entry, template=complete) for entry, complete in pairs))


@lru_cache(maxsize=16384)
def _completed(bare: PodTemplate, around: Surroundings) -> PodTemplate:
    return template(completed(bare.spec, around))


def misfit(workload: Workload, around: Surroundings = _BARE) -> str:
    """Why no pod of the adjusted workload could be created, in Kueue's words; empty if they could."""
    templates = [(entry.template, f"spec.podSets[{at}].template.spec") for at, entry in enumerate(workload.pod_sets)]
    if over := [found for template, at in templates for found in _over(template, at)]:
        return f"resources validation failed: {_listed(over)}"
    if outside := [found for template, at in templates for found in _outside(template, at, around)]:
        return f"resources didn't satisfy LimitRange constraints: {_listed(outside)}"
    return ""


@lru_cache(maxsize=16384)
def _over(complete: PodTemplate, at: str) -> tuple[Violation, ...]:
    return tuple(exceeded_limits(complete.spec, at))


@lru_cache(maxsize=16384)
def _outside(complete: PodTemplate, at: str, around: Surroundings) -> tuple[Violation, ...]:
    return tuple(violations(around.limit_ranges, complete.spec, at))


def _listed(found: Iterable[Violation]) -> str:
    """The texts of the violations without duplicates; several are in brackets."""
    texts = list(dict.fromkeys(map(_text, found)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _text(violation: Violation) -> str:
    names = ",".join(f'"{resource}"' for resource in violation.resources)
    return f"{violation.field}: Invalid value: [{names}]: {violation.message}"
