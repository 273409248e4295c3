"""A managed Pod as decisions see it: small, and unlike another only where that makes a difference to its group.

Source: Kueue v0.19, pkg/controller/jobs/pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from cluster.stream import Manifest
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import (
    MANAGED,
    POD_GROUP_SIZE,
    PRIORITY_CLASS,
    RETRIABLE,
    SUSPENDED_BY,
    managed_owner,
)
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_workload import GATED_BY
from policies.dialects.reading import listing, mapping, metadata, text, texts
from policies.mutation.kueue_pod_defaults import GATE
from reconciler.objects.packed import Packed
from scheduling.objects.amounts import Requests
from scheduling.objects.naming import NAMING, Naming
from scheduling.objects.roles import RoleClaim, asked, claimed_role
from scheduling.objects.submission import FAST_ADMISSION, maximum_seconds, queue_of
from scheduling.objects.template import template

SERVING = f"{PREFIX}pod-group-serving"
TERMINATION_TARGET = "TerminationTarget"
"""The condition of a Pod that says who ended it and why; it is written before the Pod is deleted."""
_SUCCEEDED, _FAILED = "Succeeded", "Failed"
_USUAL_GRACE = 30
"""Seconds, as Kubernetes has it."""
_UNKNOWN_END = "9999"
"""Sorts behind any moment."""


@dataclass(frozen=True, slots=True)
class GroupPod:
    """One Pod of a group, or one by itself: then `group` is empty. `workload` is `namespace/name` of its Workload.

    `size` is that of the group, None where it is unknown. `claim` is the role that it says it is of, and what it asks
    for; see `scheduling.objects.roles` for what that is worth. `bound`: it has a node; `scheduled`: it says so.
    `gated_by`: its admission gates, as written. `marked`: it has the label of managed Pods, by which they are watched.
    `owned`: it says that a job is queued for it.
    `parental`: its template says that it is queued by itself. `grace`: seconds that it has, or would have, to end.
    `targeted`: we wrote that it is to end. `ended`: when it was last known to run, as written. `message`: what it says
    of its end.
    Members that differ in nothing but `version` and `packed` are equal.
    """

    namespace: str
    name: str
    uid: str
    created: str
    workload: str
    group: str
    size: int | None
    queue: str
    claim: RoleClaim
    node_selector: Mapping[str, str]
    priority_class: str
    gated_by: str | None
    max_seconds: int | None
    retriable: bool
    serving: bool
    fast: bool
    prebuilt: bool
    marked: bool
    owned: bool
    parental: bool
    grace: int
    gated: bool
    finalized: bool
    deleting: bool
    bound: bool
    targeted: bool
    scheduled: bool
    ready: bool
    phase: str
    ended: str
    message: str
    version: str = field(compare=False)
    packed: Packed = field(compare=False, repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def queued(self) -> bool:
        """Whether it is queued by itself, as it says. Whoever may write Pods may make it say otherwise later."""
        return self.marked and not self.owned

    @property
    def asks(self) -> Requests:
        return self.claim.asks

    @property
    def succeeded(self) -> bool:
        return self.phase == _SUCCEEDED

    @property
    def terminated(self) -> bool:
        return self.phase in (_SUCCEEDED, _FAILED)

    @property
    def counts(self) -> bool:
        """Whether it is one of those that its group is made of: done well, running, or still to run."""
        return self.succeeded or not (self.phase == _FAILED or self.deleting)

    @property
    def occupies(self) -> bool:
        """Whether it takes room, or is free to. One that is deleted before it has a node never gets one."""
        return not self.gated and not self.terminated and not (self.deleting and not self.bound)

    @property
    def may_run(self) -> bool:
        """Whether it runs, or might still start to, when somebody takes its gate off."""
        return not self.terminated and not (self.deleting and not self.bound)

    @property
    def away(self) -> bool:
        """Whether it shows one that takes room on another cluster: with its gate it has no node here."""
        return self.gated and not self.terminated and (self.scheduled or self.phase == "Running")


def read_member(pod: Manifest, naming: Naming = NAMING) -> GroupPod:
    meta, spec, status = metadata(pod), mapping(pod.get("spec")), mapping(pod.get("status"))
    labels, notes = texts(meta.get("labels")), texts(meta.get("annotations"))
    parental = SUSPENDED_BY in notes
    namespace, name, uid = (text(meta.get(key)) or "" for key in ("namespace", "name", "uid"))
    group, prebuilt, shape = naming.group(pod), naming.prebuilt(meta), template(spec)
    return GroupPod(
        namespace=intern(namespace),
        name=name,
        uid=uid,
        created=text(meta.get("creationTimestamp")) or "",
        workload=f"{namespace}/{prebuilt or group or naming.workload(POD, name, uid)}",
        group=intern(group),
        size=_number(notes.get(POD_GROUP_SIZE, "")),
        queue=intern(queue_of(pod)),
        claim=RoleClaim(intern(claimed_role(pod)) if group else "main", asked(shape)),
        node_selector=shape.node_selector,
        priority_class=intern(labels.get(PRIORITY_CLASS, "")),
        gated_by=notes.get(GATED_BY),
        max_seconds=maximum_seconds(labels),
        retriable=notes.get(RETRIABLE) != "false",
        serving=bool(group) and notes.get(SERVING) == "true",
        fast=notes.get(FAST_ADMISSION) == "true",
        prebuilt=bool(prebuilt),
        marked=labels.get(MANAGED) == "true",
        owned=bool(managed_owner(meta)) and not parental and not _held(meta, spec),
        parental=parental,
        grace=_grace(meta, spec),
        gated=_gated(spec),
        finalized=MANAGED in listing(meta.get("finalizers")),
        deleting=bool(meta.get("deletionTimestamp")),
        bound=bool(spec.get("nodeName")),
        targeted=_condition(status, TERMINATION_TARGET).get("status") == "True",
        scheduled=_condition(status, "PodScheduled").get("status") == "True",
        ready=_condition(status, "Ready").get("status") == "True",
        phase=intern(text(status.get("phase")) or ""),
        ended=_ended(meta, status),
        message=text(status.get("message")) or "",
        version=text(meta.get("resourceVersion")) or "",
        packed=Packed.of(pod),
    )


def _held(meta: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """Whether it was held back when it was created: no owner that it names by now changes that."""
    return MANAGED in listing(meta.get("finalizers")) or _gated(spec)


def _gated(spec: Mapping[str, Any]) -> bool:
    return any(mapping(gate).get("name") == GATE for gate in listing(spec.get("schedulingGates")))


def _grace(meta: Mapping[str, Any], spec: Mapping[str, Any]) -> int:
    given = meta.get("deletionGracePeriodSeconds"), spec.get("terminationGracePeriodSeconds")
    return next((seconds for seconds in given if isinstance(seconds, int)), _USUAL_GRACE)


def _ended(meta: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    ready = _condition(status, "ContainersReady")
    failed = ready.get("status") == "False" and ready.get("reason") == "PodFailed"
    moments = (text(ready.get("lastTransitionTime")) if failed else None, text(meta.get("deletionTimestamp")))
    return min(filter(None, moments), default=_UNKNOWN_END)


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    found = (entry for entry in map(mapping, listing(status.get("conditions"))) if entry.get("type") == kind)
    return next(found, {})


def _number(value: str) -> int | None:
    return int(value) or None if value.isascii() and value.isdecimal() and len(value) < 10 else None
