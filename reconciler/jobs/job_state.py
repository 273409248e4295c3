"""What a batch Job says of itself.

Source: Kueue v0.19, pkg/controller/jobs/job; Kubernetes' Job controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.dialects.go_booleans import TRUE
from policies.dialects.job_shape import at
from policies.dialects.kueue_jobs import COMPLETIONS_FOLLOW, MIN_PARALLELISM
from policies.dialects.reading import Manifest, mapping
from reconciler.jobs.kind import notes


def has_started(job: Manifest) -> bool:
    """Whether it has a start time, with which an API server before 1.36 keeps the pod template as it is."""
    return at(job, "status.startTime") is not None


def partial(job: Manifest) -> bool:
    """Whether fewer pods than it asks for will do."""
    least = notes(job).get(MIN_PARALLELISM, "")
    return least.isascii() and least.isdecimal()


def sized(job: Manifest, count: int) -> dict[str, Any]:
    """The fields of its spec that make it run so many pods at a time."""
    follow = notes(job).get(COMPLETIONS_FOLLOW) in TRUE
    return {"parallelism": count, **({"completions": count} if follow else {})}


def template(job: Manifest) -> Mapping[str, Any]:
    return mapping(at(job, "spec.template"))
