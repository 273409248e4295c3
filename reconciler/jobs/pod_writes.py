"""What is written of a managed Pod: its start, its end and its release, each bound to the version that was read."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from cluster.actions import Delete, Patch
from cluster.resource import PODS
from policies.dialects.kueue_jobs import MANAGED
from policies.dialects.reading import Manifest, listing, mapping, metadata, texts
from policies.mutation.kueue_pod_defaults import GATE, TOPOLOGY_GATE
from reconciler.events import About
from reconciler.jobs.pod_changes import PodChanges, started
from reconciler.jobs.pod_member import TERMINATION_TARGET, Member
from reconciler.patches import differences
from reconciler.side import Turn
from scheduling.objects.times import written

KIND = "Pod"
POD_MANAGER = "kueue-pod-controller"


def about(member: Member) -> About:
    return About("v1", KIND, member.namespace, member.name, member.uid)


def start(member: Member, given: PodChanges, message: str, *, placed: bool) -> Turn:
    """Without the gate, and with what its pod set was given; `placed`: someone else finds its place in the topology.

    Raises CannotStart.
    """
    pod = member.packed.manifest()
    wanted, gates = started(pod, given), (GATE,) if placed else (GATE, TOPOLOGY_GATE)
    body = differences(_startable(pod), _startable(wanted, gates))
    return Turn((KIND, member.key), _patch(member, body), about(member), "Started", message)


def stop(member: Member, reason: str, message: str, now: int) -> Turn:
    """It is told why it ends, and deleted then: a Pod cannot be suspended."""
    if member.targeted:
        return Turn((KIND, member.key), _delete(member), about(member), "Stopped", message)
    conditions = mapping(member.packed.manifest().get("status")).get("conditions")
    told = {
        "type": TERMINATION_TARGET,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": written(now),
    }
    others = [entry for entry in listing(conditions) if mapping(entry).get("type") != TERMINATION_TARGET]
    body = {"status": {"conditions": [*others, told]}}
    return Turn((KIND, member.key), _patch(member, body, "status"))


def excess(member: Member) -> Turn:
    return Turn((KIND, member.key), _delete(member), about(member), "ExcessPodDeleted", "Excess pod deleted")


def released(members: Iterable[Member]) -> list[Turn]:
    """Nobody waits for them any more: they may go when they are deleted."""
    return [_released(member) for member in members if member.finalized]


def _released(member: Member) -> Turn:
    finalizers = listing(metadata(member.packed.manifest()).get("finalizers"))
    kept = [name for name in finalizers if name != MANAGED]
    return Turn((KIND, member.key), _patch(member, {"metadata": {"finalizers": kept or None}}))


def _startable(pod: Manifest, gates: Container[object] = ()) -> dict[str, Any]:
    """The fields that a start changes; without these gates."""
    meta, spec = metadata(pod), mapping(pod.get("spec"))
    left = [gate for gate in listing(spec.get("schedulingGates")) if mapping(gate).get("name") not in gates]
    fields = {"nodeSelector": texts(spec.get("nodeSelector")), "tolerations": listing(spec.get("tolerations"))}
    named = {"labels": texts(meta.get("labels")), "annotations": texts(meta.get("annotations"))}
    return {"metadata": named, "spec": {**fields, "schedulingGates": left}}


def _patch(member: Member, body: Mapping[str, Any], subresource: str | None = None) -> Patch:
    return Patch(PODS, member.namespace, member.name, body, member.version, POD_MANAGER, subresource)


def _delete(member: Member) -> Delete:
    return Delete(PODS, member.namespace, member.name, member.version)
