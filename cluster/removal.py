"""Reads the state of a cluster for the plan that removes Quotree. `cluster.takeover` carries out the plan."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.client import ClusterClient
from cluster.errors import NotFound
from cluster.resource import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, PODS, Manifest
from cluster.takeover import RESOURCES, PlanReader
from policies.dialects.frameworks import SHAPES
from policies.dialects.kueue_jobs import MANAGED, POD_SET, QUEUE_NAME
from policies.dialects.kueue_kinds import LABEL
from policies.dialects.pod_reading import pod_reading
from policies.dialects.quota_gates import QUOTA_KEY
from policies.takeover.objects import FoundCluster, ObjectRef, ReleaseNames, ref_of
from policies.takeover.removal import KINDS_WITH_ADDITIONS, has_additions, read_by_name

_MARKED_PODS = (MANAGED, QUOTA_KEY, POD_SET)
"""The labels of Pods that Quotree changed. Each such Pod has at least one of them."""
_AT_A_GATE = "status.phase=Pending"
"""A field selector that matches every Pod with a scheduling gate, even one whose label was removed."""
_PROGRAM = "app.kubernetes.io/component"
"""The label of the Pods that run Quotree."""


class RemovalReader:
    """Reads the objects of an installation, and the objects of other projects that Quotree changed.

    The first `read` tries each name that an object of Quotree can have; later ones read those that it found. Objects of
    other projects are listed at the first `read`, and again after Quotree's programs have ended.
    """

    def __init__(self, cluster: ClusterClient, names: ReleaseNames) -> None:
        self._cluster = cluster
        self._names = names
        self._reader = PlanReader(cluster, names)
        self._of_take_over = (names.manager, *names.kueue_webhooks, names.configuration)
        self._refs = tuple(read_by_name(names))
        self._work: dict[ObjectRef, Manifest] | None = None

    def read(self) -> FoundCluster:
        """Read what is left of the installation. Raises ClusterError if the cluster cannot be read."""
        objects = {ref_of(each): each for each in self._ours()}
        pods = self._pods()
        space = objects.get(ObjectRef("Namespace", self._names.namespace))
        stays = space is None or not space["metadata"].get("deletionTimestamp")
        ended = not pods and not any(ref.kind == "Deployment" for ref in objects)
        if self._work is None or (ended and stays):
            self._work = {ref_of(each): each for each in self._marked()}
        return FoundCluster(
            {**self._work, **objects},
            pods={ObjectRef("Namespace", self._names.namespace): pods},
            lease_holders=dict(self._reader.lease_holders()),
            other_clusters=self._reader.other_clusters(),
        )

    def _ours(self) -> Iterator[Manifest]:
        yield from self._reader.by_name(self._of_take_over)
        ours = [*self._reader.by_name(self._refs)]
        if self._work is None:
            self._refs = tuple(map(ref_of, ours))
        yield from ours
        for each in self._cluster.list(DEPLOYMENTS, namespace=self._names.namespace):
            yield {**each, "kind": "Deployment"}
        for each in self._cluster.list(CUSTOM_RESOURCE_DEFINITIONS, label_selector=LABEL):
            yield {**each, "kind": "CustomResourceDefinition"}

    def _pods(self) -> int:
        found = self._cluster.list(PODS, namespace=self._names.namespace, label_selector=_PROGRAM)
        return sum(not pod_reading(each).ended for each in found)

    def _marked(self) -> Iterator[Manifest]:
        """The objects of other projects to which Quotree added something, and the jobs in queues."""
        for kind in KINDS_WITH_ADDITIONS:
            selectors = _MARKED_PODS if kind == "Pod" else (None,)
            for selector in selectors:
                yield from filter(has_additions, self._listed(kind, selector))
        yield from filter(has_additions, self._listed("Pod", fields=_AT_A_GATE))
        for shape in SHAPES.values():
            yield from self._listed(shape.kind.kind, QUEUE_NAME)

    def _listed(self, kind: str, selector: str | None = None, *, fields: str | None = None) -> Iterator[Manifest]:
        """The objects of a kind; none if it is not installed."""
        try:
            for each in self._cluster.list(RESOURCES[kind], label_selector=selector, field_selector=fields):
                yield {**each, "kind": kind}
        except NotFound:
            return
