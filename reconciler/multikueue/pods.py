"""Pods and groups of Pods on other clusters: their copies there, and the status that is copied back.

The local Pods keep their gate. They stand for the remote Pods: users look at them, replace them and delete them.
Source: Kueue v0.19, the MultiKueue adapter in pkg/controller/jobs/pod.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from cluster.actions import Action, Create, Delete, Patch
from cluster.resource import PODS, Manifest
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_jobs import MANAGED
from policies.dialects.kueue_pods import ROLE_HASH
from policies.dialects.pod_reading import PodLife, pod_reading
from policies.dialects.reading import listing, mapping, metadata, text
from policies.model.objects import parted
from policies.mutation.kueue_pod_defaults import GATE
from policies.mutation.patching import merge_patch
from reconciler.jobs.pod_member import TERMINATION_TARGET, GroupPod
from reconciler.jobs.pod_roles import roles_of
from reconciler.jobs.pod_writes import KIND, POD_MANAGER, about
from reconciler.multikueue.copies import copied, made_for
from reconciler.multikueue.worker_cache import WorkerCache
from reconciler.objects.observed import Key
from reconciler.objects.packed import Packed
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import WatchedKind
from scheduling.objects.grouped import Grouped
from scheduling.objects.workload import ORIGIN, Workload
from scheduling.placement.decisions import CopyStatus, CreateJob, DeleteJob, Remote, ReportStopped, TrimJob
from scheduling.placement.group import ORIGIN_UID, OwnerJob, RemoteJob
from scheduling.placement.settings import PlacementSettings

_REPORTED = (
    "phase",
    "conditions",
    "message",
    "reason",
    "startTime",
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
)
"""The status fields that a local Pod copies from the remote one. IP addresses are not copied, because a local Service
would use them."""
_ONLY_HERE = ("nodeName", "priority", "preemptionPolicy", "ephemeralContainers")
"""Fields that are not copied, because the cluster sets them, or does not accept them in a new Pod."""
_NOTHING = "{}"
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
"""The condition that the API server sets in a gated Pod. Autoscalers ignore such Pods."""
_TIMES = ("lastProbeTime", "lastTransitionTime")
_WAITING = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Its worker does not run it any more",
}


@dataclass(frozen=True, slots=True)
class RemotePod(PodLife):
    """A Pod on a worker.

    `made_of`: the uid of the local Pod.
    `targeted`: whether a condition says that the Pod has to end.
    `status`: the status for the local Pod, as JSON.
    """

    made_of: str
    targeted: bool
    status: str
    packed: Packed

    def manifest(self) -> Manifest:
        return self.packed.manifest()

    @property
    def gated(self) -> bool:
        return self.waits_at(GATE)

    @property
    def left(self) -> bool:
        """Whether the Pod no longer uses quota, and is being deleted with its Workload."""
        return self.deleting and (self.gated or not self.may_run)

    @property
    def shows(self) -> bool:
        """Whether the local Pod copies the status. It does not while the remote Pod is gated, or has to end."""
        return not (self.gated or self.deleting or self.targeted) and self.status != _NOTHING

    def represents(self, member: GroupPod) -> bool:
        return self.made_of in ("", member.uid)


def read_remote_pod(manifest: Manifest) -> RemotePod:
    pod = pod_reading(manifest)
    return RemotePod(
        **pod.life,
        made_of=pod.annotations.get(ORIGIN_UID, ""),
        targeted=pod.says(TERMINATION_TARGET),
        status=_reported(_without_node(pod.status)),
        packed=Packed.of(manifest),
    )


REMOTE_PODS: WatchedKind[RemotePod] = WatchedKind(KIND, PODS, read_remote_pod)


class _Here(NamedTuple):
    """A local Pod. `status`: the fields of its status that are copied from the remote Pod, as JSON."""

    member: GroupPod
    status: str


class PodUnits:
    """The local Pods by the Workload (`namespace/name`) that they share."""

    def __init__(self) -> None:
        self._units: Grouped[str, str, _Here] = Grouped()

    def observe(self, name: str, pod: GroupPod | None) -> set[str]:
        """Process the Pod `namespace/name`; None if it is gone. Returns the Workloads that the change concerns."""
        member = pod if pod is not None and pod.queued else None
        before = self._units.group_of.get(name)
        self._units.pop(name)
        if member is not None:
            status = _reported(mapping(member.packed.manifest().get("status")))
            self._units.put(name, member.workload, _Here(member, status))
        return {each for each in (before, self._units.group_of.get(name)) if each is not None}

    def workload_of(self, key: Key) -> str | None:
        return self._units.group_of.get(key[1]) if key[0] == KIND else None

    def keys(self, workload: str) -> list[Key]:
        return [(KIND, name) for name in self._units.of(workload)]

    def owner(self, local: Workload) -> OwnerJob | None:
        """The unit, with what placement needs; None if it has no Pods.

        If no worker is chosen and Pods have no gate, they run on this cluster.
        """
        members = [each.member for each in self._units.of(local.key).values()]
        if not members:
            return None
        gated = bool(local.cluster) or all(member.gated for member in members if member.counts)
        quiet = not any(member.away for member in members)
        return OwnerJob("/v1, Kind=Pod", managed_by=MULTIKUEUE if gated else "", suspended=gated, quiet=quiet)

    # --- comparison with the Pods on a worker

    def remote(self, name: str, local: Workload | None, cache: WorkerCache) -> RemoteJob | None:
        """The Pods on a worker; None if none of them uses quota, or could start to use some."""
        there = _pods(cache, name)
        if all(pod.left for pod in there.values()):
            return None
        wanted = self._wanted(name, local)
        return RemoteJob(
            news=any(self._news(name, there)),
            unfinished=any(pod.may_run for pod in there.values()),
            idle=all(pod.gated or pod.ended or pod.left for pod in there.values()),
            deleting=all(pod.deleting for pod in there.values()),
            missing=any(key not in there or not there[key].represents(member) for key, member in wanted.items()),
            extra=any(self._extra(name, there)),
            broken=any(_taken_away(there.get(key), member) for key, member in wanted.items()),
        )

    def _wanted(self, name: str, local: Workload | None) -> dict[str, GroupPod]:
        """The Pods that should run: they own the Workload, it has room for them, and they are not being deleted."""
        owners = {owner.uid for owner in local.owners} if local is not None else set()
        members = ((key, each.member) for key, each in self._units.of(name).items())
        wanted = {
            key: member for key, member in members if member.uid in owners and not member.deleting and not member.ended
        }
        roles = _roles(wanted, local)
        return {key: member for key, member in wanted.items() if member.uid in roles}

    def _extra(self, name: str, there: Mapping[str, RemotePod]) -> Iterator[str]:
        """The remote Pods whose local Pod is gone or being deleted."""
        here = self._units.of(name)
        for key, pod in there.items():
            found = here.get(key)
            represented = found is not None and not found.member.deleting and pod.represents(found.member)
            if not represented and not pod.deleting:
                yield key

    def _news(self, name: str, there: Mapping[str, RemotePod]) -> Iterator[tuple[GroupPod, RemotePod]]:
        for key, here in self._units.of(name).items():
            pod = there.get(key)
            if pod is None or not pod.shows or not pod.represents(here.member):
                continue
            if here.member.gated and not here.member.ended and pod.status != here.status:
                yield here.member, pod

    # --- writes

    def writes(
        self, decision: Remote, local: Workload | None, name: str, cache: WorkerCache, placing: PlacementSettings
    ) -> dict[Key, Action]:
        """The writes of Pods on the worker for a decision."""
        there = _pods(cache, name)
        match decision:
            case CreateJob():
                wanted = self._wanted(name, local)
                roles = _roles(wanted, local)
                made = {key: each for key, each in wanted.items() if key not in there}
                copies = {key: pod_copy(each, roles[each.uid], placing) for key, each in made.items()}
                return {(KIND, key): Create(PODS, copy, MULTIKUEUE) for key, copy in copies.items()}
            case TrimJob():
                return {(KIND, key): _deleted(key, there[key]) for key in self._extra(name, there)}
            case DeleteJob(unchanged=unchanged):
                going = {key: pod for key, pod in there.items() if not pod.deleting and (pod.may_run or not unchanged)}
                return {(KIND, key): _deleted(key, pod, unchanged=unchanged) for key, pod in going.items()}
        return {}

    def status_writes(
        self, step: CopyStatus | ReportStopped, name: str, cache: WorkerCache | None
    ) -> Iterator[WantedWrite]:
        if isinstance(step, CopyStatus) and cache is not None:
            for member, pod in self._news(name, _pods(cache, name)):
                yield _status(member, json.loads(pod.status))
        if isinstance(step, ReportStopped):
            for here in self._units.of(name).values():
                if here.member.away:
                    yield _status(here.member, {"phase": "Pending", "conditions": [_WAITING]})


def pod_copy(member: GroupPod, role: str, placing: PlacementSettings) -> dict[str, Any]:
    """The Pod to create on a worker: gated, with the same role, and with a reference to the copy of its Workload."""
    pod = member.packed.manifest()
    meta = made_for(copied(pod, {ORIGIN: placing.origin, MANAGED: "true"}), parted(member.workload)[1], placing)
    if member.group:
        meta["annotations"] = {**meta.get("annotations", {}), ROLE_HASH: role}
    if member.finalized:
        meta["finalizers"] = [MANAGED]
    spec = {key: value for key, value in mapping(pod.get("spec")).items() if key not in _ONLY_HERE}
    gates = [gate for gate in listing(spec.get("schedulingGates")) if mapping(gate).get("name") != GATE]
    spec["schedulingGates"] = [{"name": GATE}, *gates]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _roles(members: Mapping[str, GroupPod], local: Workload | None) -> Mapping[str, str]:
    return roles_of([*members.values()], local, {}) if local is not None else {}


def _pods(cache: WorkerCache, workload: str) -> dict[str, RemotePod]:
    found = (cache.get(REMOTE_PODS, name) for kind, name in cache.jobs.of(workload) if kind == KIND)
    return {observed.key[1]: observed.value for observed in found if observed is not None}


def _taken_away(pod: RemotePod | None, member: GroupPod) -> bool:
    """Whether another client has deleted the remote Pod: it is being deleted, or is gone although it had a node."""
    return member.away if pod is None else pod.deleting and pod.represents(member)


def _deleted(key: str, pod: RemotePod, *, unchanged: bool = False) -> Delete:
    """Delete the Pod. `unchanged`: only at the version that was read."""
    namespace, name = parted(key)
    version = text(metadata(pod.manifest()).get("resourceVersion")) or "" if unchanged else ""
    return Delete(PODS, namespace, name, version, uid=pod.uid)


def _without_node(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status for the local Pod. While the remote Pod has no node, the condition says that the Pod is gated."""
    conditions = [
        _GATED if each.get("type") == _GATED["type"] and each.get("status") != "True" else each
        for each in map(mapping, listing(status.get("conditions")))
    ]
    return {**status, **({"conditions": conditions} if conditions else {})}


def _reported(status: Mapping[str, Any]) -> str:
    found = {key: status[key] for key in _REPORTED if key in status}
    conditions = [_compared(mapping(each)) for each in listing(status.get("conditions"))]
    return json.dumps({**found, **({"conditions": conditions} if conditions else {})}, sort_keys=True)


def _compared(condition: Mapping[str, Any]) -> dict[str, Any]:
    """The condition without the fields that each cluster sets itself."""
    ignored = ("observedGeneration", *(_TIMES if condition.get("reason") == _GATED["reason"] else ()))
    return {key: value for key, value in condition.items() if key not in ignored}


def _status(member: GroupPod, status: Mapping[str, Any]) -> WantedWrite:
    before = mapping(member.packed.manifest().get("status"))
    body = merge_patch({key: value for key, value in before.items() if key in _REPORTED}, status)
    action = Patch(PODS, member.namespace, member.name, {"status": body}, member.version, POD_MANAGER, "status")
    return WantedWrite((KIND, member.key), action, about(member))
