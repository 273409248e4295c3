"""The changes of pod templates when a job starts, and how they are reverted.

Source: Kueue v0.19, pkg/podset and pkg/controller/jobframework.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_pods import JOB_LABELS
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.dialects.reading import Manifest, listing, mapping, metadata, texts
from policies.dialects.taints import Toleration, read_toleration
from policies.model.errors import PolicyError
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, TOPOLOGY_GATE
from reconciler.jobs.elastic import chain_of
from scheduling.objects.workload import PodSetAdmission, Workload

LOCAL_QUEUE = f"{PREFIX}local-queue-name"
CLUSTER_QUEUE = f"{PREFIX}cluster-queue-name"
ANYWHERE = f"{PREFIX}podset-unconstrained-topology"
"""Pods with this annotation belong to a topology, so they are not counted as other Pods on their nodes."""
MANAGED_LABELS = JOB_LABELS
"""Labels that the job controller sets itself. They do not become part of a Workload."""
_PLACED = (POD_SET, LOCAL_QUEUE, CLUSTER_QUEUE, STARTED_FOR, SLICE_CHAIN)
_BY_TEMPLATE = "the pods have {}; remove it from the job's template"
_BY_OTHERS = "the flavor or another admission check sets {}; an administrator has to change one of them"
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch


class CannotStart(PolicyError):
    """The changes that were assigned to a job contradict its pod template. Another attempt would not help."""


@dataclass(frozen=True, slots=True)
class PodChanges:
    """The changes of one pod set.

    `name`: the name of the pod set.
    `count`: the number of its pods; None if the admission does not set it.
    `labels`, `annotations`, `node_selector`, `tolerations`: added to its template.
    `gates`: scheduling gates that are added to its template.
    """

    name: str
    count: int | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    node_selector: Mapping[str, str]
    tolerations: Sequence[Mapping[str, Any]]
    gates: tuple[str, ...] = ()


def changes(workload: Workload, flavors: Mapping[str, Flavor]) -> list[PodChanges] | None:
    """The changes for each admitted pod set; None while a flavor is not known. Raises CannotStart."""
    if workload.admission is None:
        return None
    assignments = workload.admission.assignments
    if any(flavor not in flavors for each in assignments for flavor in each.flavors.values()):
        return None
    return [_changes(workload, each, flavors) for each in assignments]


def _changes(workload: Workload, assignment: PodSetAdmission, flavors: Mapping[str, Flavor]) -> PodChanges:
    used = [flavors[name] for name in dict.fromkeys(assignment.flavors.values())]
    selector = {key: value for flavor in reversed(used) for key, value in flavor.labels.items()}
    tolerations: list[Mapping[str, Any]] = [
        _written(toleration) for flavor in used for toleration in flavor.tolerations
    ]
    labels, annotations = _labels(workload, assignment.name), _started_for(workload)
    gates = (TOPOLOGY_GATE,) if assignment.topology is not None else ()
    if gates and not _names_its_topology(workload, assignment.name):
        annotations[ANYWHERE] = "true"
    for update in _updates(workload, assignment.name):
        labels = joined(labels, texts(update.get("labels")), "label", _BY_OTHERS)
        annotations = joined(annotations, texts(update.get("annotations")), "annotation", _BY_OTHERS)
        selector = joined(selector, texts(update.get("nodeSelector")), "node selector", _BY_OTHERS)
        tolerations = _joined_lists(tolerations, map(mapping, listing(update.get("tolerations"))), _tolerated)
    return PodChanges(assignment.name, assignment.count, labels, annotations, selector, tolerations, gates)


def _started_for(workload: Workload) -> dict[str, str]:
    """The annotations that name the Workload of a Pod. They name the first slice, too, because Pods outlive slices."""
    return {STARTED_FOR: workload.name, **({SLICE_CHAIN: chain_of(workload)} if workload.elastic else {})}


def _names_its_topology(workload: Workload, name: str) -> bool:
    """Whether the pods request a topology with an annotation."""
    pod_set = workload.pod_set(name)
    request = pod_set.topology if pod_set is not None else None
    return any((request or {}).get(key) is not None for key in ("required", "preferred", "unconstrained"))


def _labels(workload: Workload, pod_set: str) -> dict[str, str]:
    queue = workload.admission.cluster_queue if workload.admission is not None else ""
    named = {LOCAL_QUEUE: workload.queue} if workload.queue else {}
    return {POD_SET: pod_set, **named, **({CLUSTER_QUEUE: queue} if _DNS_LABEL(queue) else {})}


def _updates(workload: Workload, pod_set: str) -> Iterator[Mapping[str, Any]]:
    """What the checks change in this pod set."""
    for check in workload.checks:
        found = (update for update in check.updates if update.get("name") == pod_set)
        yield from (update for update in [next(found, None)] if update is not None)


def started(template: Manifest, assigned: PodChanges) -> dict[str, Any]:
    """The pod template with the changes. Raises CannotStart."""
    meta, spec = metadata(template), mapping(template.get("spec"))
    labels = joined(_others(meta.get("labels")), assigned.labels, "label")
    annotations = joined(_others(meta.get("annotations")), assigned.annotations, "annotation")
    selector = joined(texts(spec.get("nodeSelector")), assigned.node_selector, "node selector")
    tolerations = _joined_lists(listing(spec.get("tolerations")), assigned.tolerations, _tolerated)
    gates = _joined_lists(listing(spec.get("schedulingGates")), ({"name": gate} for gate in assigned.gates))
    return {
        **template,
        "metadata": _with_fields(meta, labels=labels, annotations=annotations),
        "spec": _with_fields(spec, nodeSelector=selector, tolerations=tolerations, schedulingGates=gates),
    }


def all_placed(read: Workload, flavors: Mapping[str, Flavor], is_placed: Callable[[PodChanges], bool]) -> bool:
    """Whether all pod sets run with their assigned flavors. True if there is no admission or a flavor is unknown."""
    try:
        assigned = changes(read, flavors)
    except CannotStart:
        return False
    return assigned is None or all(map(is_placed, assigned))


def placed(template: Manifest, assigned: PodChanges) -> bool:
    """Whether the pods of a running template were started with their flavor.

    A start adds a label. A job that an older Kueue started has at least the node selectors. Their values are not
    compared, so that a changed flavor stops no job.
    """
    selector = texts(mapping(template.get("spec")).get("nodeSelector"))
    return POD_SET in texts(metadata(template).get("labels")) or assigned.node_selector.keys() <= selector.keys()


def restored(template: Manifest, original: Manifest, own_labels: Container[str] = ()) -> dict[str, Any]:
    """The pod template with the fields that a start changes reset to those of `original`.

    `original`: the template in the pod set of the Workload.
    `own_labels`: labels that the job's controller sets. They stay.
    """
    meta, spec, kept = metadata(template), mapping(template.get("spec")), mapping(original.get("spec"))
    labels = {key: value for key, value in texts(meta.get("labels")).items() if key in own_labels}
    return {
        **template,
        "metadata": _with_fields(
            meta,
            labels={**texts(metadata(original).get("labels")), **labels},
            annotations=texts(metadata(original).get("annotations")),
        ),
        "spec": _with_fields(
            spec,
            nodeSelector=texts(kept.get("nodeSelector")),
            tolerations=listing(kept.get("tolerations")),
            schedulingGates=_joined_lists(listing(kept.get("schedulingGates")), _slice_gates(spec)),
        ),
    }


def _slice_gates(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The gate of slices, if the template has it. It stays even if the Workload does not list it."""
    return [gate for gate in map(mapping, listing(spec.get("schedulingGates"))) if gate.get("name") == ELASTIC_GATE]


def without_labels(template: Manifest, own_labels: Container[str]) -> dict[str, Any]:
    meta = metadata(template)
    labels = {key: value for key, value in texts(meta.get("labels")).items() if key not in own_labels}
    return {**template, "metadata": _with_fields(meta, labels=labels)}


def with_annotations(template: Manifest, more: Mapping[str, str]) -> dict[str, Any]:
    meta = metadata(template)
    return {**template, "metadata": _with_fields(meta, annotations={**texts(meta.get("annotations")), **more})}


def joined(
    first: Mapping[str, str], second: Mapping[str, str], what: str, conflict: str = _BY_TEMPLATE
) -> dict[str, str]:
    """Both mappings merged. Raises CannotStart if they have different values for a key.

    `conflict`: where the value of `first` comes from, and what to do.
    """
    for key, value in second.items():
        if first.get(key, value) != value:
            raise CannotStart(f"{what} {key} is to be {value}, but {conflict.format(first[key])}")
    return {**first, **second}


def _others(values: object) -> dict[str, str]:
    """Labels or annotations without those of an earlier start."""
    return {key: value for key, value in texts(values).items() if key not in _PLACED}


def _joined_lists(
    first: Iterable[Mapping[str, Any]],
    more: Iterable[Mapping[str, Any]],
    key: Callable[[Mapping[str, Any]], object] = lambda each: each,
) -> list[Mapping[str, Any]]:
    """Both lists, without entries of the second one whose key occurs before."""
    found = list(first)
    keys = list(map(key, found))
    for each in more:
        if key(each) not in keys:
            found.append(each)
            keys.append(key(each))
    return found


def _tolerated(toleration: Mapping[str, Any]) -> Toleration:
    """The toleration as Kueue compares it: without an operator it is Equal, and its seconds do not count."""
    return replace(read_toleration(toleration), seconds=None)


def _with_fields(holder: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    """The mapping with these fields. Empty fields are removed, unless they were present and empty before."""
    kept = {key: value for key, value in holder.items() if key not in values or not value}
    return {**kept, **{key: value for key, value in values.items() if value}}


def _written(toleration: Toleration) -> dict[str, Any]:
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
        "tolerationSeconds": toleration.seconds,
    }
    return {key: value for key, value in fields.items() if value not in ("", None)}
