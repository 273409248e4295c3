"""A write that a controller wants, and the object that its Event refers to."""

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
    """The object that an Event refers to. `refer` makes one from an observed object.

    `uid`: `kubectl describe` finds Events by it. An empty uid raises ValueError.
    `version`: the resource version, if it is known. It is not part of the identity.
    `trace`: the trace id of the Workload that the object belongs to; empty for none.
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
    """Refer to the object with the name of a Key. None if the uid is unknown, because then there can be no Event."""
    namespace, bare = parted(name)
    return ObjectReference(api_version, kind, namespace, bare, uid, version, trace) if uid else None


def refer_to(api_version: str, kind: str, name: str, stored: Stored | None) -> ObjectReference | None:
    """Refer to a stored object. None if the object does not exist."""
    return refer(api_version, kind, name, stored.uid, version=stored.version) if stored is not None else None


def reference(workload: Workload) -> ObjectReference | None:
    version, trace = workload.resource_version, workload_trace(workload)
    return refer(KUEUE_VERSION, "Workload", workload.key, workload.uid, version=version, trace=trace)


@dataclass(frozen=True, slots=True)
class WantedWrite:
    """A write to the object `key`, and the Event that reports the write after it was executed.

    `action`: None if nothing can be written; then the Event says why.
    `about`, `reason`: the object and the reason of the Event. Without one of them there is no Event.
    `refusal`: the reason of the Event if the API server refuses the write; empty for the usual reason.
    `workload`: `namespace/name` of the Workload that the written job or Pod belongs to.
    `first_report`: see `JobStep`.
    `gives_quota`: whether the object gets quota with this write, so that a copy of it must not arrive late.
    """

    key: Key
    action: Action | None
    about: ObjectReference | None = None
    reason: str = ""
    message: str = ""
    warning: bool = False
    refusal: str = ""
    workload: str = ""
    first_report: bool = False
    gives_quota: bool = False
