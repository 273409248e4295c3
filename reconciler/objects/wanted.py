"""A write that a controller wants, and the object that its Event is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cluster.actions import Action
from policies.dialects.kueue_kinds import GROUP
from reconciler.objects.following import workload_trace
from reconciler.objects.observed import Key
from scheduling.objects.workload import Workload

KUEUE_VERSION = f"{GROUP}/v1beta2"


class ObjectReference(NamedTuple):
    """The object that an Event is about. `trace`: of the Workload that it concerns; empty where it concerns none."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    trace: str = ""


def reference(workload: Workload) -> ObjectReference:
    trace = workload_trace(workload)
    return ObjectReference(KUEUE_VERSION, "Workload", workload.namespace, workload.name, workload.uid, trace)


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
