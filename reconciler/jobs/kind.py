"""The interface of a kind of job: everything in the life of a queued job that depends on its kind."""

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
"""The annotation of a job that is suspended, but whose original pod templates have not been restored yet."""
STOP_NOTED: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: "true"}}}
STOP_FORGOTTEN: Mapping[str, Any] = {"metadata": {"annotations": {STOPPING: None}}}


class Ending(NamedTuple):
    """The end of a job.

    `reason`: Succeeded or Failed.
    """

    reason: str
    message: str


class Writing(NamedTuple):
    """A write of a job. `reported`: whether an Event reports it; preparations are not reported."""

    patch: Patch
    reported: bool = True


class JobKind(Protocol):
    """The interface of a kind of job. Results depend on the arguments alone.

    `name`: the name of the kind in keys.
    `shape`: its description.
    `naming`: the names of Workloads.
    `own_labels`: the labels that the job's own controller adds to pod templates.
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
        """How the job has ended; None if it has not."""

    def suspended(self, job: Manifest) -> bool: ...

    def halfway(self, job: Manifest) -> bool:
        """Whether the job is suspended, but its original pod templates have not been restored yet."""

    def on_hold(self, job: Manifest) -> bool:
        """Whether the job cannot run as it is. It needs no quota until it is changed."""

    def quiet(self, job: Manifest) -> bool:
        """Whether the job has no pods left."""

    def terminating(self, job: Manifest) -> bool:
        """Whether the job reports pods that are being deleted and have not ended. Most kinds do not report that."""

    def ready(self, job: Manifest) -> bool:
        """Whether all pods of the job are ready or done."""

    def reclaimable(self, job: Manifest) -> dict[str, int]:
        """The number of pods that are done and need no replacement, by pod set."""

    def starting(self, job: Manifest, read: Workload, inputs: JobInputs) -> Writing | None:
        """The write that starts the job with its flavors; None while a flavor is not known. Raises CannotStart."""

    def adjusting(self, job: Manifest, inputs: JobInputs) -> Patch | None:
        """The write to a running job that keeps it from replacing Pods that still use quota; None if not needed."""

    def stopping(self, job: Manifest, workload: Manifest | None, reserved: bool) -> Writing | None:
        """The next write until the job is suspended with the pod templates from its Workload.

        None if that is reached, or while pods terminate. Without a Workload, the templates stay as they are.
        """

    def unmarked(self, job: Manifest) -> Patch | None:
        """The write that ends a stop whose templates cannot be restored because the Workload is gone."""

    def runs_as_admitted(self, job: Manifest, read: Workload, inputs: JobInputs) -> bool:
        """Whether the job was started with its assigned flavors, and not by a user before that."""


def labels(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("labels"))


def notes(job: Manifest) -> dict[str, str]:
    return texts(metadata(job).get("annotations"))


def prebuilt(kind: JobKind, job: Manifest) -> str:
    """The name of the prebuilt Workload that the job names; empty for none."""
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
