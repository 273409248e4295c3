"""The writes of a managed Pod: its start, its end, and the removal of its finalizer."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from cluster.actions import Delete, Patch
from cluster.resource import PODS
from policies.dialects.kueue_jobs import MANAGED
from policies.dialects.reading import Manifest, listing, mapping, metadata, texts
from policies.mutation.kueue_pod_defaults import GATE, TOPOLOGY_GATE
from policies.mutation.patching import merge_patch
from reconciler.jobs.pod_changes import PodChanges, joined, started
from reconciler.jobs.pod_member import TERMINATION_TARGET, GroupPod
from reconciler.objects.stored import condition_to_write
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer

KIND = "Pod"
POD_MANAGER = "kueue-pod-controller"
CUT_OFF = "Stopped"
EXCESS = "ExcessPodDeleted"
LABEL_RESTORED = "ManagedLabelRestored"
FINALIZER_RESTORED = "ManagedFinalizerRestored"
_NOWHERE: Mapping[str, str] = MappingProxyType({})
LONGEST_GRACE = 30
"""The longest grace period in seconds of a Pod without quota, which is the default of Kubernetes."""


def about(member: GroupPod) -> ObjectReference | None:
    return refer("v1", KIND, member.key, member.uid)


def start(
    member: GroupPod, assigned: PodChanges, message: str, *, placed: bool, place: Mapping[str, str] = _NOWHERE
) -> WantedWrite:
    """Remove the gate and apply the changes of the pod set. Raises CannotStart.

    `placed`: whether another controller assigns the Pod's place, and removes the gate for topologies.
    `place`: the node selector for the place of a Pod without that gate, which can be added only when a Pod is created.
    """
    pod, selector = member.packed.manifest(), joined(assigned.node_selector, place, "node selector")
    wanted = started(pod, replace(assigned, node_selector=selector, gates=()))
    gates = (GATE,) if placed else (GATE, TOPOLOGY_GATE)
    body = merge_patch(_startable(pod), _startable(wanted, gates))
    return WantedWrite(
        (KIND, member.key), _patch(member, body), about(member), "Started", message, workload=member.workload
    )


def stop(member: GroupPod, reason: str, message: str, now: int) -> WantedWrite:
    """First set a condition that says why the Pod ends, then delete it. A Pod cannot be suspended."""
    if member.targeted:
        return WantedWrite(
            (KIND, member.key), _delete(member), about(member), "Stopped", message, workload=member.workload
        )
    conditions = mapping(member.packed.manifest().get("status")).get("conditions")
    condition = condition_to_write({}, TERMINATION_TARGET, "True", reason, message, now)
    others = [entry for entry in listing(conditions) if mapping(entry).get("type") != TERMINATION_TARGET]
    body = {"status": {"conditions": [*others, condition]}}
    return WantedWrite((KIND, member.key), _patch_anyhow(member, body, "status"))


def cut_off(members: Iterable[GroupPod], message: str) -> list[WantedWrite]:
    """Delete Pods that run without quota, with a short grace period."""
    return [
        WantedWrite((KIND, each.key), _delete(each, LONGEST_GRACE), about(each), CUT_OFF, message, warning=True)
        for each in members
        if each.occupies and not (each.deleting and each.grace <= LONGEST_GRACE)
    ]


def excess(member: GroupPod) -> WantedWrite:
    return WantedWrite((KIND, member.key), _delete(member), about(member), EXCESS, "Excess pod deleted")


def marked(member: GroupPod) -> WantedWrite:
    """Restore the label that the watch selects."""
    body = {"metadata": {"labels": {MANAGED: "true"}}}
    message = f"The label {MANAGED} was removed from a queued Pod; Quotree restores it"
    return WantedWrite((KIND, member.key), _patch_anyhow(member, body), about(member), LABEL_RESTORED, message, True)


def finalized(member: GroupPod) -> WantedWrite:
    finalizers = listing(metadata(member.packed.manifest()).get("finalizers"))
    body = {"metadata": {"finalizers": [*finalizers, MANAGED]}}
    message = f"The finalizer {MANAGED} was removed from a queued Pod; Quotree restores it"
    return WantedWrite((KIND, member.key), _patch(member, body), about(member), FINALIZER_RESTORED, message, True)


def released(members: Iterable[GroupPod]) -> list[WantedWrite]:
    """Remove the finalizer of these Pods, because their end is recorded, or does not matter."""
    return [_released(member) for member in members if member.finalized]


def _released(member: GroupPod) -> WantedWrite:
    finalizers = listing(metadata(member.packed.manifest()).get("finalizers"))
    kept = [name for name in finalizers if name != MANAGED]
    return WantedWrite((KIND, member.key), _patch(member, {"metadata": {"finalizers": kept or None}}))


def _startable(pod: Manifest, gates: Container[object] = ()) -> dict[str, Any]:
    """The fields that a start may change, without these scheduling gates."""
    meta, spec = metadata(pod), mapping(pod.get("spec"))
    left = [gate for gate in listing(spec.get("schedulingGates")) if mapping(gate).get("name") not in gates]
    fields = {"nodeSelector": texts(spec.get("nodeSelector")), "tolerations": listing(spec.get("tolerations"))}
    named = {"labels": texts(meta.get("labels")), "annotations": texts(meta.get("annotations"))}
    return {"metadata": named, "spec": {**fields, "schedulingGates": left}}


def _patch(member: GroupPod, body: Mapping[str, Any], subresource: str | None = None) -> Patch:
    return Patch(PODS, member.namespace, member.name, body, member.version, POD_MANAGER, subresource)


def _patch_anyhow(member: GroupPod, body: Mapping[str, Any], subresource: str | None = None) -> Patch:
    """A patch that is not bound to a version, so that a client that keeps patching the Pod cannot prevent it."""
    return Patch(PODS, member.namespace, member.name, body, "", POD_MANAGER, subresource, member.uid)


def _delete(member: GroupPod, longest: int | None = None) -> Delete:
    """Delete the Pod at any version. `longest`: the longest grace period in seconds."""
    shorter = longest if longest is not None and member.grace > longest else None
    return Delete(PODS, member.namespace, member.name, uid=member.uid, grace_seconds=shorter)
