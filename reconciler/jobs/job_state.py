"""What the status and spec of a batch Job say about its state.

Source: Kueue v0.19, pkg/controller/jobs/job; Kubernetes' Job controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.dialects.go_values import TRUE
from policies.dialects.job_shape import at
from policies.dialects.kueue_jobs import COMPLETIONS_FOLLOW, MIN_PARALLELISM
from policies.dialects.reading import Manifest, mapping
from reconciler.jobs.kind import notes


def has_started(job: Manifest) -> bool:
    """Whether the Job has a start time. If so, API servers before 1.36 allow no change of its pod template."""
    return at(job, "status.startTime") is not None


def partial(job: Manifest) -> bool:
    least = notes(job).get(MIN_PARALLELISM, "")
    return least.isascii() and least.isdecimal()


def sized(job: Manifest, count: int) -> dict[str, Any]:
    """The fields of the spec that set the number of pods."""
    follow = notes(job).get(COMPLETIONS_FOLLOW) in TRUE
    return {"parallelism": count, **({"completions": count} if follow else {})}


def template(job: Manifest) -> Mapping[str, Any]:
    return mapping(at(job, "spec.template"))
