"""What a batch Job says of itself.

Source: Kueue v0.19, pkg/controller/jobs/job; Kubernetes' Job controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from policies.dialects.job_shape import at
from policies.dialects.kueue_jobs import COMPLETIONS_FOLLOW, MIN_PARALLELISM, PREBUILT
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_templates import job_pods
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts

STOPPING = f"{PREFIX}stopping"
"""An annotation of a Job that was suspended, but does not have its own pod template back yet."""
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


class Ending(NamedTuple):
    """How a Job came to its end: Succeeded or Failed, with its own message."""

    reason: str
    message: str


def ending(job: Manifest) -> Ending | None:
    """None while it goes on."""
    for entry in map(mapping, listing(at(job, "status.conditions"))):
        if entry.get("status") == "True" and entry.get("type") in ("Complete", "Failed"):
            reason = "Succeeded" if entry["type"] == "Complete" else "Failed"
            return Ending(reason, text(entry.get("message")) or "")
    return None


def suspended(job: Manifest) -> bool:
    return at(job, "spec.suspend") is True


def stopping(job: Manifest) -> bool:
    return notes(job).get(STOPPING) == "true"


def stopped(job: Manifest) -> bool:
    """Suspended, and with its own pod template again."""
    return suspended(job) and not stopping(job)


def quiet(job: Manifest) -> bool:
    """Whether it has no pods left.

    While the Job's own condition still says that it is resumed, its controller has not seen the suspension yet: the
    number of active pods is then that of before.
    """
    conditions = map(mapping, listing(at(job, "status.conditions")))
    resumed = any(entry.get("type") == "Suspended" and entry.get("status") == "False" for entry in conditions)
    return not _number(job, "status.active") and not (resumed and suspended(job))


def pod_count(job: Manifest) -> int:
    """How many pods run at a time."""
    return sum(pods.count for pods in job_pods("Job", job))


def all_ready(job: Manifest) -> bool:
    return _number(job, "status.succeeded") + _number(job, "status.ready") >= pod_count(job)


def has_started(job: Manifest) -> bool:
    """Whether it has a start time, with which an API server before 1.36 keeps the pod template as it is."""
    return at(job, "status.startTime") is not None


def partial(job: Manifest) -> bool:
    """Whether fewer pods than it asks for will do."""
    least = notes(job).get(MIN_PARALLELISM, "")
    return least.isascii() and least.isdecimal()


def sized(job: Manifest, count: int) -> dict[str, Any]:
    """The fields of its spec that make it run so many pods at a time."""
    follow = notes(job).get(COMPLETIONS_FOLLOW) in _TRUE
    return {"parallelism": count, **({"completions": count} if follow else {})}


def template(job: Manifest) -> Mapping[str, Any]:
    return mapping(at(job, "spec.template"))


def labels(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("labels"))


def notes(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("annotations"))


def prebuilt(job: Manifest) -> str:
    """The Workload that was made for it beforehand; empty where it is to be made."""
    return labels(job).get(PREBUILT, "")


def _number(job: Manifest, path: str) -> int:
    value = at(job, path)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
