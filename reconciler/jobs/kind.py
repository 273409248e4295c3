"""The interface of a kind of job: everything that its life under quota needs and that differs between kinds."""

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
"""The annotation of a job that was suspended, but does not have its original pod templates back yet."""
STOP_NOTED: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: "true"}}}
STOP_FORGOTTEN: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: None}}}


class Ending(NamedTuple):
    """The end of a job: Succeeded or Failed, with the job's own message."""

    reason: str
    message: str


class Writing(NamedTuple):
    """A write of a job. `reported`: an Event reports it; a preparation is not reported."""

    patch: Patch
    reported: bool = True


class JobKind(Protocol):
    """The interface of a kind of job. An implementation may rely on nothing but its arguments.

    `name`: the loop's name of the kind.
    `own_labels`: labels that the job's controller adds to pod templates.
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
        """How the job ended; None while it has not ended."""

    def suspended(self, job: Manifest) -> bool: ...

    def halfway(self, job: Manifest) -> bool:
        """Whether the job was suspended, but does not have its original pod templates back."""

    def on_hold(self, job: Manifest) -> bool:
        """Whether it cannot run as it is, so it needs no quota until it is changed."""

    def quiet(self, job: Manifest) -> bool:
        """Whether it has no pods left."""

    def terminating(self, job: Manifest) -> bool:
        """Whether it reports pods that are being deleted and have not ended. Most kinds do not report that."""

    def ready(self, job: Manifest) -> bool:
        """Whether all its pods are ready or done."""

    def reclaimable(self, job: Manifest) -> dict[str, int]:
        """The number of pods of each pod set that are done and need no replacement."""

    def starting(self, job: Manifest, read: Workload, inputs: JobInputs) -> Writing | None:
        """The write that starts the job in its flavors; None while a flavor is not known. Raises CannotStart."""

    def adjusting(self, job: Manifest, inputs: JobInputs) -> Patch | None:
        """The write that a job needs while it runs, to replace no Pod that still uses quota."""

    def stopping(self, job: Manifest, workload: Manifest | None, reserved: bool) -> Writing | None:
        """The next write until the job is suspended with the templates that its Workload has kept.

        None if that is the case, or while its pods terminate. Without a Workload the job is suspended with its
        templates as they are.
        """

    def unmarked(self, job: Manifest) -> Patch | None:
        """The write that ends a stop that cannot be completed, because the Workload is gone."""

    def runs_as_admitted(self, job: Manifest, read: Workload, inputs: JobInputs) -> bool:
        """Whether the job was started with its assigned flavors, not by a user who was faster."""


def labels(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("labels"))


def notes(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("annotations"))


def prebuilt(kind: JobKind, job: Manifest) -> str:
    """The Workload that was made beforehand for the job; empty if it is to be created."""
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
