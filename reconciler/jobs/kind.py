"""What all kinds of jobs share: their writes, their metadata, and how a job ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cluster.actions import Patch
from cluster.resource import Resource
from policies.dialects.job_shape import JobShape
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.naming import NAMING, Naming
from policies.dialects.reading import Manifest, metadata, texts
from reconciler.objects.patches import JOB_MANAGER

STOPPING = f"{PREFIX}stopping"
"""The annotation of a job that is suspended, but whose original pod templates have not been restored yet."""
STOP_NOTED: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: "true"}}}
STOP_FORGOTTEN: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: None}}}


class Ending(NamedTuple):
    """The end of a job.

    `reason`: Succeeded or Failed.
    `message`: the job's own message.
    """

    reason: str
    message: str


class Writing(NamedTuple):
    """A write of a job. `reported`: whether an Event reports it; preparations are not reported."""

    patch: Patch
    reported: bool = True


class DescribedKind:
    """A kind of job by its description alone. `reconciler.jobs.described.JobKind` adds its reports and writes."""

    def __init__(self, shape: JobShape, naming: Naming = NAMING) -> None:
        self.shape = shape
        self.naming = naming
        self.resource = Resource(shape.kind.group, shape.version, shape.plural, namespaced=True)

    @property
    def name(self) -> str:
        """The name of the kind in keys."""
        return f"{self.shape.kind.kind}.{self.shape.kind.group}"


def labels(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("labels"))


def notes(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("annotations"))


def prebuilt(kind: DescribedKind, job: Manifest) -> str:
    return kind.naming.prebuilt(metadata(job)) if kind.shape.prebuilt else ""


def job_patch(
    resource: Resource,
    job: Manifest,
    body: Mapping[str, Any],
    subresource: str | None = None,
    manager: str = JOB_MANAGER,
) -> Patch:
    """A merge patch of the job, bound to the version that was read."""
    names = texts(metadata(job))
    namespace, version = names.get("namespace", "default"), names.get("resourceVersion", "")
    return Patch(resource, namespace, names.get("name", ""), body, version, manager, subresource)
