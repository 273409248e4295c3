"""What differs between kinds of jobs, as their life under quota needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from cluster.actions import Patch
from cluster.resource import Resource
from policies.dialects.job_shape import JobShape
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.reading import Manifest, metadata, texts
from reconciler.jobs.step import JobInputs
from reconciler.objects.patches import JOB_MANAGER
from scheduling.objects.naming import Naming
from scheduling.objects.workload import Workload

STOPPING = f"{PREFIX}stopping"
"""An annotation of a job that was suspended, but does not have its own pod templates back yet."""
MARKED: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: "true"}}}
UNMARKED: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: None}}}


class Ending(NamedTuple):
    """How a job came to its end: Succeeded or Failed, with its own message."""

    reason: str
    message: str


class Writing(NamedTuple):
    """A write of a job. `reported`: an Event says so; a preparation is not reported."""

    patch: Patch
    reported: bool = True


class JobKind(Protocol):
    """`name` is what the loop calls the kind. `own_labels`: what its controller adds to the labels of pod templates.

    Whoever implements it may rely on nothing but the objects given.
    """

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> JobShape: ...

    @property
    def resource(self) -> Resource: ...

    @property
    def naming(self) -> Naming: ...

    @property
    def own_labels(self) -> tuple[str, ...]: ...

    def ending(self, job: Manifest) -> Ending | None:
        """None while it goes on."""

    def suspended(self, job: Manifest) -> bool: ...

    def halfway(self, job: Manifest) -> bool:
        """It was suspended, but does not have the pod templates back that it was submitted with."""

    def quiet(self, job: Manifest) -> bool:
        """It has no pods left."""

    def ready(self, job: Manifest) -> bool:
        """All its pods are ready, or done."""

    def reclaimable(self, job: Manifest) -> dict[str, int]:
        """Of each pod set the pods that are done and need no other in their place."""

    def starting(self, job: Manifest, read: Workload, inputs: JobInputs) -> Writing | None:
        """What sets it going where its quota is; None while a flavor is not known. Raises CannotStart."""

    def stopping(self, job: Manifest, workload: Manifest | None, reserved: bool) -> Writing | None:
        """The next write until it is suspended with the templates that its Workload has kept; None where it is so, or
        waits for its pods to go. Without a Workload it is suspended as it is."""

    def unmarked(self, job: Manifest) -> Patch | None:
        """What ends a stop that cannot be completed, since the Workload is gone."""

    def runs_as_admitted(self, job: Manifest, read: Workload, inputs: JobInputs) -> bool:
        """Whether it was started with what it was assigned, not by a user who was faster."""


def labels(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("labels"))


def notes(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("annotations"))


def prebuilt(kind: JobKind, job: Manifest) -> str:
    """The Workload that was made for it beforehand; empty where it is to be made."""
    return kind.naming.prebuilt(metadata(job)) if kind.shape.prebuilt else ""


def job_patch(
    resource: Resource,
    job: Manifest,
    body: Mapping[str, Any],
    subresource: str | None = None,
    manager: str = JOB_MANAGER,
) -> Patch:
    """A merge patch of the job as it was read."""
    names = texts(metadata(job))
    namespace, version = names.get("namespace", "default"), names.get("resourceVersion", "")
    return Patch(resource, namespace, names.get("name", ""), body, version, manager, subresource)
