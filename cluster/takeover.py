"""Reads a cluster for a move from Kueue's manager to Quotree or back, and carries out the steps of a plan.

After each step the cluster is read again and a new plan is made, so that an interrupted move can be continued.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.errors import ApiError, ClusterError, Conflict, NotFound
from cluster.lease import LeaseClaim
from cluster.resource import (
    API_SERVICES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    LEASES,
    MUTATING_WEBHOOKS,
    PODS,
    VALIDATING_WEBHOOKS,
    Manifest,
    Resource,
)
from cluster.served import FOLLOWED, WORKLOADS
from policies.dialects.frameworks import SHAPES
from policies.dialects.kueue_kinds import MULTIKUEUE_CLUSTER
from policies.dialects.pod_reading import pod_reading
from policies.takeover.objects import (
    CONVERSION_BEFORE,
    KUEUES_API,
    OUR_API,
    FoundCluster,
    ObjectRef,
    PlannedWrite,
    PlanStep,
    ReleaseNames,
    TakeoverPlan,
    ref_of,
)

MANAGER = "quotree-take-over"
"""The field manager of all writes."""
_ADMISSION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
RESOURCES: Mapping[str, Resource] = {
    **{kind.kind: newest for kind, (newest, *_) in FOLLOWED.items()},
    "APIService": API_SERVICES,
    "ClusterRole": Resource(_RBAC, "v1", "clusterroles", namespaced=False),
    "ClusterRoleBinding": Resource(_RBAC, "v1", "clusterrolebindings", namespaced=False),
    "CustomResourceDefinition": CUSTOM_RESOURCE_DEFINITIONS,
    "Deployment": DEPLOYMENTS,
    "MutatingWebhookConfiguration": MUTATING_WEBHOOKS,
    "Role": Resource(_RBAC, "v1", "roles", namespaced=True),
    "RoleBinding": Resource(_RBAC, "v1", "rolebindings", namespaced=True),
    "ValidatingAdmissionPolicy": Resource(_ADMISSION, "v1", "validatingadmissionpolicies", namespaced=False),
    "ValidatingAdmissionPolicyBinding": Resource(
        _ADMISSION, "v1", "validatingadmissionpolicybindings", namespaced=False
    ),
    "ValidatingWebhookConfiguration": VALIDATING_WEBHOOKS,
    "Workload": WORKLOADS[0],
    **{
        shape.kind.kind: Resource(shape.kind.group, shape.version, shape.plural, namespaced=True)
        for shape in SHAPES.values()
    },
}
"""The resources by kind, with all that a plan may read or write."""
_SETTLE = 1.0
"""Seconds until every API server uses a webhook configuration that was written."""
_POLL_SECONDS = 0.5
"""Seconds between two reads of the cluster while a step waits."""


class StepTimedOut(ClusterError):
    """A step waited too long for its condition."""


class PlanReader:
    """Reads the state of a cluster that a plan needs.

    A Lease counts as held until it was unchanged for its duration, by the clock of this process.
    """

    def __init__(self, cluster: ClusterClient, names: ReleaseNames) -> None:
        self._cluster = cluster
        self._names = names
        self._leases: dict[ObjectRef, tuple[LeaseClaim, float]] = {}
        self._converted: list[str] | None = None

    def read(self) -> FoundCluster:
        """Read the state that a plan needs. Raises ClusterError if the cluster cannot be read."""
        objects = {ref_of(each): each for each in self._objects()}
        groups = self._cluster.get("/apis").get("groups") or ()
        deployments = (self._names.manager, self._names.reconciler)
        return FoundCluster(
            objects,
            pods={ref: self._pods(objects[ref]) for ref in deployments if ref in objects},
            lease_holders=dict(self.lease_holders()),
            groups=frozenset(str(group.get("name")) for group in groups),
            other_clusters=self.other_clusters(),
        )

    def _objects(self) -> Iterator[Manifest]:
        yield from self.by_name(self._names.read)
        yield from self._definitions()
        deployments = self._cluster.list(DEPLOYMENTS, namespace=self._names.namespace)
        every = ({**each, "kind": "Deployment"} for each in deployments)
        yield from (each for each in every if self._names.is_shard(ref_of(each)))
        for each in self._cluster.list(API_SERVICES):
            if each["spec"].get("group") in (KUEUES_API, OUR_API) and each["spec"].get("service"):
                yield each

    def by_name(self, refs: Iterable[ObjectRef]) -> Iterator[Manifest]:
        """The objects of these references that exist."""
        for ref in refs:
            try:
                found = self._cluster.get(_path(ref))
            except NotFound:
                continue
            yield {**found, "kind": ref.kind}

    def _definitions(self) -> Iterator[Manifest]:
        """The CustomResourceDefinitions of Kueue's group that have a conversion webhook, or had one before a take-over.

        Definitions are large. The first call lists all of them; later calls read only those that were found.
        """
        if self._converted is None:
            every = self._cluster.list(CUSTOM_RESOURCE_DEFINITIONS)
            found = [each for each in every if each["spec"].get("group") == "kueue.x-k8s.io" and _by_webhook(each)]
            self._converted = [str(each["metadata"]["name"]) for each in found]
            yield from found
        else:
            yield from self.by_name(ObjectRef("CustomResourceDefinition", name) for name in self._converted)

    def _pods(self, deployment: Manifest) -> int:
        labels = deployment["spec"]["selector"].get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        pods = self._cluster.list(PODS, namespace=deployment["metadata"]["namespace"], label_selector=selector)
        return sum(not pod_reading(each).ended for each in pods)

    def lease_holders(self) -> Iterator[tuple[ObjectRef, str]]:
        """The Leases of Kueue's manager and of the reconciler that are held, each with its holder."""
        for ref in (self._names.manager_lease, self._names.reconciler_lease):
            try:
                claim = LeaseClaim.of(self._cluster.get(LEASES.item(ref.name, ref.namespace)))
            except NotFound:
                continue
            now = time.monotonic()
            if ref not in self._leases or self._leases[ref][0] != claim:
                self._leases[ref] = claim, now
            if claim.holder and now - self._leases[ref][1] < claim.duration:
                yield ref, claim.holder

    def other_clusters(self) -> bool:
        """Whether MultiKueueClusters exist. False if they cannot be read, such as while no webhook converts them."""
        try:
            return next(iter(self._cluster.list(RESOURCES[MULTIKUEUE_CLUSTER.kind], 1)), None) is not None
        except ApiError:
            return False


def carry_out(
    cluster: ClusterClient,
    read: Callable[[], FoundCluster],
    planned: Callable[[FoundCluster], TakeoverPlan],
    begun: Callable[[PlanStep], object],
    *,
    longest: float,
    rest: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> TakeoverPlan:
    """Carry out the steps of the plan until none is left or the plan has refusals. Returns the last plan.

    `read`: reads the cluster. `planned`: makes a plan from that state. `begun`: called when a step begins.
    Raises StepTimedOut if a step takes more than `longest` seconds in total, and other ClusterErrors. A step begins
    again if others undo its writes. Finished writes remain, and another call continues.
    """
    title, since, spent = "", clock(), defaultdict[str, float](float)
    while (step := (plan := planned(read())).next) is not None and not plan.refusals:
        now, again = clock(), step.title == title
        spent[title] += now - since
        title, since = step.title, now
        if not again:
            begun(step)
        if spent[title] > longest:
            raise StepTimedOut(
                f"{step.title}: waited {longest:g} s for {step.waits or 'a write that others do not undo'}"
            )
        try:
            for write in step.writes:
                perform(cluster, write)
        except Conflict:
            rest(_POLL_SECONDS)  # changed since it was read
            continue
        if step.settles and step.writes:
            rest(_SETTLE)
        elif again or not step.writes:
            rest(_POLL_SECONDS)
    return plan


def perform(cluster: ClusterClient, write: PlannedWrite) -> None:
    """Perform one write; does nothing if the object is gone. Raises Conflict if it has changed since it was read."""
    ref, path = write.ref, _path(write.ref)
    if write.body is not None and not write.version:
        resource = RESOURCES[ref.kind]
        cluster.create(resource.collection(ref.namespace or None), dict(write.body), field_manager=MANAGER)
        return
    with suppress(NotFound):
        if write.body is None:
            cluster.delete(path, resource_version=write.version)
            return
        meta: dict[str, Any] = {**write.body.get("metadata", {}), "resourceVersion": write.version}
        cluster.patch(
            f"{path}/{write.subresource}".rstrip("/"),
            {**write.body, "metadata": meta},
            MERGE_PATCH,
            field_manager=MANAGER,
        )


def _by_webhook(definition: Manifest) -> bool:
    noted = CONVERSION_BEFORE in (definition["metadata"].get("annotations") or {})
    return noted or (definition["spec"].get("conversion") or {}).get("strategy") == "Webhook"


def _path(ref: ObjectRef) -> str:
    return RESOURCES[ref.kind].item(ref.name, ref.namespace or None)
