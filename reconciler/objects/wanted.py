"""A write that a controller wants, and the object that its Event is about."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster.actions import Action
from policies.dialects.kueue_kinds import GROUP
from policies.model.objects import parted
from reconciler.objects.following import workload_trace
from reconciler.objects.observed import Key
from reconciler.objects.stored import Stored
from scheduling.objects.workload import Workload

KUEUE_VERSION = f"{GROUP}/v1beta2"


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an Event is about. `refer` makes one of an object that was observed.

    `kubectl describe` finds Events by the uid of their object, so there is none without: ValueError. `version`: the
    resource version, where it is known; it does not tell objects apart. `trace`: of the Workload that it concerns;
    empty where it concerns none.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    version: str = field(default="", compare=False)
    trace: str = ""

    def __post_init__(self) -> None:
        if not self.uid:
            raise ValueError(f"an Event about {self.kind} {self.name} needs the uid of that object")


def refer(
    api_version: str, kind: str, name: str, uid: str, *, version: str = "", trace: str = ""
) -> ObjectReference | None:
    """To `name`, as in a Key. None where no uid is known, so there can be no Event about the object."""
    namespace, bare = parted(name)
    return ObjectReference(api_version, kind, namespace, bare, uid, version, trace) if uid else None


def refer_to(api_version: str, kind: str, name: str, stored: Stored | None) -> ObjectReference | None:
    """To an object of which this is stored. None where there is no such object."""
    return refer(api_version, kind, name, stored.uid, version=stored.version) if stored is not None else None


def reference(workload: Workload) -> ObjectReference | None:
    version, trace = workload.resource_version, workload_trace(workload)
    return refer(KUEUE_VERSION, "Workload", workload.key, workload.uid, version=version, trace=trace)


@dataclass(frozen=True, slots=True)
class WantedWrite:
    """One write to the object `key`, and the Event that tells of it once it is carried out.

    `action` None: nothing can be written, and the Event says why. No `reason` or no `about`: no Event. `refusal`: the
    reason of the Event where the API server refuses it; empty: the usual one. `workload` (`namespace/name`): whose job
    or Pod it is about.
    """

    key: Key
    action: Action | None
    about: ObjectReference | None = None
    reason: str = ""
    message: str = ""
    warning: bool = False
    refusal: str = ""
    workload: str = ""
