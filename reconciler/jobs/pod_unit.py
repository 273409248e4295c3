"""Units: the Pods that share one Workload, and how that Workload is composed.

Source: Kueue v0.19, pkg/controller/jobs/pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from policies.dialects.kueue_jobs import STATEFUL_SET
from policies.dialects.kueue_kinds import IN_USE
from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import Manifest, metadata, texts
from policies.model.errors import PolicyError
from reconciler.jobs.pod_member import GroupPod
from reconciler.jobs.step import JobInputs
from scheduling.objects.amounts import Requests
from scheduling.objects.roles import pod_requests, role_names
from scheduling.objects.submission import IncompleteGroup, TooFewPods, workload_of_group, workload_of_pod
from scheduling.objects.workload import Workload

PodSets: TypeAlias = Mapping[str, tuple[int, Requests]]
"""The number of Pods and the requests of each role, by its name."""
MOST_ROLES = 18
"""The most pod sets that a Workload may have."""


class CannotCompose(PolicyError):
    """The Pods contradict each other, so that no Workload can represent them."""


@dataclass(frozen=True, slots=True)
class PodUnit:
    """All Pods of a group, or a single Pod; the oldest first. `key`: `namespace/name` of their Workload."""

    key: str
    members: tuple[GroupPod, ...]

    @classmethod
    def of(cls, key: str, members: Sequence[GroupPod]) -> PodUnit:
        return cls(key, tuple(sorted(members, key=lambda each: (each.created, each.name))))

    @property
    def first(self) -> GroupPod:
        return self.members[0]

    @property
    def speaker(self) -> GroupPod:
        """The Pod whose labels the Workload gets: the oldest member that counts, or the oldest of all if none does."""
        return next((member for member in self.members if member.counts), self.first)

    @property
    def is_group(self) -> bool:
        return bool(self.first.group)

    @property
    def size(self) -> int | None:
        """The required number of Pods; None if the group does not say."""
        return self.speaker.size if self.is_group else 1

    @property
    def counting(self) -> tuple[GroupPod, ...]:
        return tuple(member for member in self.members if member.counts)

    @property
    def occupied(self) -> bool:
        """Whether any Pod uses quota, or could start to use some at any time."""
        return any(member.occupies for member in self.members)

    @property
    def away(self) -> bool:
        """Whether any Pod shows that its copy uses quota on a worker."""
        return any(member.away for member in self.members)

    @property
    def running(self) -> list[GroupPod]:
        """The Pods that use quota and are not being deleted."""
        return [member for member in self.members if member.occupies and not member.deleting]

    @property
    def roles(self) -> PodSets | None:
        """The roles of a Workload that would be composed now; None while Pods are missing. See `pod_sets`."""
        claims = [member.claim for member in self.counting]
        if len(claims) != self.size:
            return None
        names = role_names(claims) if self.is_group else [claim.role for claim in claims]
        asks = {name: claim.asks for name, claim in zip(names, claims, strict=True)}
        return {name: (count, asks[name]) for name, count in Counter(names).items()}


def pod_sets(read: Workload) -> PodSets:
    """The pod sets of the Workload, in the same form as `PodUnit.roles`."""
    return {each.name: (each.count, pod_requests(each.template)) for each in read.pod_sets}


def composed(members: Sequence[GroupPod], inputs: JobInputs) -> dict[str, Any]:
    """The Workload to create. Raises IncompleteGroup, CannotCompose, UnknownPriorityClass."""
    _agreed(members)
    _composable(members)
    pods = [member.packed.manifest() for member in members]  # takes long for many Pods
    asked = inputs.classes, inputs.naming, inputs.topologies
    made = workload_of_group(pods, *asked) if members[0].group else workload_of_pod(pods[0], *asked)
    if made is None:
        raise CannotCompose("a managed Pod names no queue; add the label kueue.x-k8s.io/queue-name")
    sets = made["spec"]["podSets"]
    meta = {key: value for key, value in made["metadata"].items() if key != "creationTimestamp"}
    labels = {**_copied(pods, "labels", inputs.copied_labels), **meta["labels"]}
    notes = {**_copied(pods, "annotations", inputs.copied_annotations), **meta["annotations"]}
    specs = [{**each, "template": {"spec": each["template"]["spec"]}} for each in sets]
    meta["ownerReferences"] += _set_of(members[0], pods[0])
    return {
        **made,
        "metadata": {**meta, "labels": labels, "annotations": notes, "finalizers": [IN_USE]},
        "spec": {**made["spec"], "podSets": specs},
    }


def _set_of(first: GroupPod, pod: Manifest) -> list[dict[str, Any]]:
    """The reference to the StatefulSet of the Pod. It keeps the Workload while all Pods are replaced.

    The oldest Pod of a group of a LeaderWorkerSet is the leader. Its StatefulSet stays when the workers' one goes.
    """
    above = controller_of(metadata(pod)) if first.of_set else None
    if above is None or above.kind != STATEFUL_SET:
        return []
    return [{"apiVersion": "apps/v1", "kind": above.kind.kind, "name": above.name, "uid": above.uid}]


def _agreed(members: Sequence[GroupPod]) -> None:
    """Check that all Pods agree. Raises CannotCompose if Pods of one group name different queues or sizes."""
    if not members:
        raise IncompleteGroup("a group without Pods has no Workload; create its Pods")
    first = members[0]
    for other in members:
        if other.queue != first.queue:
            names = f"{first.name} names queue {first.queue or 'none'}, {other.name} {other.queue or 'none'}"
            raise CannotCompose(f"Pods of group {first.group} name different queues: {names}")
        if other.size != first.size:
            sizes = f"{first.name} says {first.size}, {other.name} {other.size}"
            raise CannotCompose(f"Pods of group {first.group} name different total counts: {sizes}")


def _composable(members: Sequence[GroupPod]) -> None:
    """Check the numbers of Pods and roles of a group, because that needs no manifests."""
    first = members[0]
    if not first.group:
        return
    roles = len(set(role_names([member.claim for member in members])))
    if len(members) < (first.size or 0) and (roles > 1 or not first.fast):
        raise TooFewPods(first.group, len(members), first.size or 0)
    if roles > MOST_ROLES:
        raise CannotCompose(f"Pod group {first.group} has {roles} roles; the maximum is {MOST_ROLES}")


def _copied(pods: Sequence[Manifest], field: str, keys: Sequence[str]) -> dict[str, str]:
    """The labels or annotations of Pods that the Workload gets, too.

    Raises CannotCompose if Pods have different values for a key.
    """
    found: dict[str, str] = {}
    for pod in pods:
        for key, value in texts(metadata(pod).get(field)).items():
            if key in keys and found.setdefault(key, value) != value:
                raise CannotCompose(f"Pods of one group have different {field} {key}: {found[key]} and {value}")
    return found
