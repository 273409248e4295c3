"""Kueue's Workload: pod sets that are admitted together, and the state of their admission.

Source: Kueue v0.19, apis/kueue v1beta2 and v1beta1. v1beta1 has priorityClassName and priorityClassSource instead of
priorityClassRef.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from policies.dialects.kueue_kinds import IN_USE, LOCAL_QUEUE, PREFIX, WORKLOAD
from policies.dialects.kueue_owners import ControllerReference, controller_of
from policies.dialects.labels import annotation_faults, label_faults, toleration_faults
from policies.dialects.reading import (
    Manifest,
    ManifestReader,
    identity,
    integer,
    listing,
    mapping,
    metadata,
    text,
    texts,
)
from policies.model import fields
from policies.model.objects import Attached, Defect
from policies.model.quantity import Quantity

ELASTIC = f"{PREFIX}elastic-job"
REPLACES = f"{PREFIX}workload-slice-replacement-for"
SLICE_CHAIN = f"{PREFIX}workload-slice-name"
"""The annotation of slices and their Pods with the name of the first slice. Pods of a job are found by it."""
PRIORITY_BOOST = f"{PREFIX}priority-boost"
GATED_BY = f"{PREFIX}admission-gated-by"

_MAIN = "main"


class PriorityClassReference(NamedTuple):
    group: str
    kind: str
    name: str


class PodAmount(NamedTuple):
    """A request or limit of a container or pod for one resource. It may be negative."""

    field: str
    resource: str
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class TopologySlices:
    """The slices of a topologyRequest.

    `topology`: the level whose domains each have whole slices; None if the field is absent. Kueue counts an empty one.
    `size`: the number of pods of a slice.
    `layers`: the level and size of further slices; a missing size is 0.
    """

    topology: str | None
    size: int | None
    layers: tuple[tuple[str, int], ...]
    field: str


@dataclass(frozen=True, slots=True)
class WrittenPodSet:
    """A pod set.

    `min_count`: minCount; None without partial admission.
    `amounts`: the requests and limits in its template.
    `metadata_faults`: the faults in labels and annotations of the template.
    `slices`, `sub_groups`: the slices and the number of sub-groups in its topologyRequest.
    `content`: its manifest, for comparisons.
    `at`: its index.
    """

    name: str
    count: int
    min_count: int | None
    amounts: tuple[PodAmount, ...]
    metadata_faults: tuple[Defect, ...]
    slices: TopologySlices
    sub_groups: int
    content: Mapping[str, Any]
    at: int

    @property
    def field(self) -> str:
        return fields.join("spec", "podSets", self.at)

    @property
    def template(self) -> Mapping[str, Any]:
        return mapping(self.content.get("template"))


@dataclass(frozen=True, slots=True)
class WrittenAssignment:
    """The podSetAssignment of one pod set. `count`: None if it is absent."""

    name: str
    count: int | None
    usage: tuple[PodAmount, ...]
    at: int

    @property
    def field(self) -> str:
        return fields.join("status", "admission", "podSetAssignments", self.at)


@dataclass(frozen=True, slots=True)
class WrittenAdmission:
    """status.admission. `content`: its manifest. `fixed`: the manifest without topology assignments."""

    assignments: tuple[WrittenAssignment, ...]
    fixed: Mapping[str, Any]
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WrittenCheckState:
    """One of status.admissionChecks.

    `updated`: the names in its podSetUpdates.
    `faults`: the faults in podSetUpdates.
    `content`: its podSetUpdates, for comparisons.
    """

    name: str
    state: str
    updated: tuple[str, ...]
    faults: tuple[Defect, ...]
    content: object
    at: int

    @property
    def field(self) -> str:
        return fields.join("status", "admissionChecks", self.at, "podSetUpdates")


class ReclaimablePods(NamedTuple):
    """The number of finished pods of a pod set, whose quota others can use."""

    name: str
    pods: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenWorkload(Attached):
    """A Workload.

    `queue`: the LocalQueue, in the same namespace.
    `annotations`: those of Kueue, as written.
    `reserved`: whether quota is reserved for it.
    `checks`, `reclaimable`: status.admissionChecks and status.reclaimablePods.
    `cluster`, `nominated`: the worker that runs it, and the nominated workers, with MultiKueue.
    `controller`: the controller reference to its job.
    `kept`: whether it has the finalizer that keeps it while its pods run.
    """

    annotations: Mapping[str, str] = field(default_factory=dict)
    pod_sets: tuple[WrittenPodSet, ...] = ()
    reserved: bool = False
    admission: WrittenAdmission | None = None
    checks: tuple[WrittenCheckState, ...] = ()
    reclaimable: tuple[ReclaimablePods, ...] = ()
    cluster: str | None = None
    nominated: tuple[str, ...] = ()
    controller: ControllerReference | None = None
    kept: bool = False

    @property
    def elastic(self) -> bool:
        return self.annotations.get(ELASTIC) == "true"


def read_workload(manifest: Manifest) -> WrittenWorkload:
    ref, meta = identity(manifest, WORKLOAD, namespaced=True), metadata(manifest)
    spec, status = mapping(manifest.get("spec")), mapping(manifest.get("status"))
    queue, admission = text(spec.get("queueName")), status.get("admission")
    return WrittenWorkload(
        ref=ref,
        api_version=str(manifest.get("apiVersion")),
        queue=LOCAL_QUEUE.named(queue, ref.namespace) if queue else None,
        queue_field="spec.queueName",
        annotations=of_kueue(meta.get("annotations")),
        controller=controller_of(meta),
        kept=IN_USE in listing(meta.get("finalizers")),
        pod_sets=tuple(_pod_set(mapping(entry), at) for at, entry in enumerate(listing(spec.get("podSets")))),
        reserved=_holds(status, "QuotaReserved"),
        admission=_admission(mapping(admission)) if admission is not None else None,
        checks=tuple(_check(mapping(entry), at) for at, entry in enumerate(listing(status.get("admissionChecks")))),
        reclaimable=tuple(
            ReclaimablePods(name_or_main(entry), integer(mapping(entry).get("count")) or 0, at)
            for at, entry in enumerate(listing(status.get("reclaimablePods")))
        ),
        cluster=text(status.get("clusterName")),
        nominated=tuple(name for name in listing(status.get("nominatedClusterNames")) if isinstance(name, str)),
        defects=ManifestReader(manifest).defects(),
    )


# --- shared with `scheduling.objects.reading`


def priority_class(spec: Mapping[str, object]) -> PriorityClassReference | None:
    reference = mapping(spec.get("priorityClassRef"))
    name = text(reference.get("name"))
    if not name:
        return None
    return PriorityClassReference(text(reference.get("group")) or "", text(reference.get("kind")) or "", name)


def of_kueue(values: object) -> dict[str, str]:
    return {key: value for key, value in texts(values).items() if key.startswith(PREFIX)}


def name_or_main(entry: object) -> str:
    """The name of a pod set. Kueue calls a pod set without a name `main`."""
    return text(mapping(entry).get("name")) or _MAIN


# --- the parts of a manifest


def _holds(status: Mapping[str, Any], condition: str) -> bool:
    entries = map(mapping, listing(status.get("conditions")))
    return any(entry.get("type") == condition and entry.get("status") == "True" for entry in entries)


def _pod_set(entry: Mapping[str, Any], at: int) -> WrittenPodSet:
    template, field = mapping(entry.get("template")), fields.join("spec", "podSets", at)
    topology, count = mapping(entry.get("topologyRequest")), integer(entry.get("count"))
    meta, under = mapping(template.get("metadata")), f"{field}.template.metadata"
    return WrittenPodSet(
        name=name_or_main(entry),
        count=1 if count is None else count,
        min_count=integer(entry.get("minCount")),
        amounts=tuple(_pod_amounts(mapping(template.get("spec")), f"{field}.template.spec")),
        metadata_faults=(
            *label_faults(meta.get("labels"), f"{under}.labels"),
            *annotation_faults(meta.get("annotations"), f"{under}.annotations"),
        ),
        slices=_slices(topology, f"{field}.topologyRequest"),
        sub_groups=integer(topology.get("subGroupCount")) or 0,
        content={"name": _MAIN, "count": 1, **entry},
        at=at,
    )


def _slices(request: Mapping[str, Any], field: str) -> TopologySlices:
    layers = map(mapping, listing(request.get("podsetSliceRequiredTopologyConstraints")))
    topology = request.get("podSetSliceRequiredTopology")
    return TopologySlices(
        topology=topology if isinstance(topology, str) else None,
        size=integer(request.get("podSetSliceSize")),
        layers=tuple((text(layer.get("topology")) or "", integer(layer.get("size")) or 0) for layer in layers),
        field=field,
    )


def _pod_amounts(spec: Mapping[str, Any], field: str) -> Iterator[PodAmount]:
    """The amounts of the init containers, the containers and the pod as a whole, in this order."""
    for key in ("initContainers", "containers"):
        for index, container in enumerate(listing(spec.get(key))):
            at = fields.join(field, key, index, "resources")
            yield from _resource_amounts(mapping(mapping(container).get("resources")), at)
    yield from _resource_amounts(mapping(spec.get("resources")), f"{field}.resources")


def _resource_amounts(resources: Mapping[str, Any], field: str) -> Iterator[PodAmount]:
    for key in ("requests", "limits"):
        yield from _amounts(resources.get(key), f"{field}.{key}")


def _amounts(values: object, field: str) -> Iterator[PodAmount]:
    for resource, value in mapping(values).items():
        if quantity := Quantity.read(value):  # the schema reports the others
            yield PodAmount(fields.join(field, resource), resource, quantity)


def _admission(content: Mapping[str, Any]) -> WrittenAdmission:
    entries = [mapping(entry) for entry in listing(content.get("podSetAssignments"))]
    moving = ("topologyAssignment", "delayedTopologyRequest")
    kept = [{key: value for key, value in entry.items() if key not in moving} for entry in entries]
    return WrittenAdmission(
        assignments=tuple(_assignment(entry, at) for at, entry in enumerate(entries)),
        fixed={**content, "podSetAssignments": kept},
        content=content,
    )


def _assignment(entry: Mapping[str, Any], at: int) -> WrittenAssignment:
    field = fields.join("status", "admission", "podSetAssignments", at, "resourceUsage")
    return WrittenAssignment(
        name=name_or_main(entry),
        count=integer(entry.get("count")),
        usage=tuple(_amounts(entry.get("resourceUsage"), field)),
        at=at,
    )


def _check(entry: Mapping[str, Any], at: int) -> WrittenCheckState:
    updates = listing(entry.get("podSetUpdates"))
    field = fields.join("status", "admissionChecks", at, "podSetUpdates")
    faults = [fault for i, update in enumerate(updates) for fault in _faults(mapping(update), fields.join(field, i))]
    return WrittenCheckState(
        name=text(entry.get("name")) or "",
        state=text(entry.get("state")) or "",
        updated=tuple(text(mapping(update).get("name")) or "" for update in updates),
        faults=tuple(faults),
        content=updates,
        at=at,
    )


def _faults(update: Mapping[str, Any], at: str) -> Iterator[Defect]:
    yield from toleration_faults(update.get("tolerations"), f"{at}.tolerations")
    yield from annotation_faults(update.get("annotations"), f"{at}.annotations")
    yield from label_faults(update.get("nodeSelector"), f"{at}.nodeSelector")
    yield from label_faults(update.get("labels"), f"{at}.labels")
