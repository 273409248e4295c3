"""The CEL rules of the schemas as Python functions, by the id that the schema names.

A check gets the value at the place of its rule. The structure of the value is valid. The check yields the path of each
wrong field, relative to the value; nothing if the value is valid. As everywhere in Kubernetes, null counts as absent.
The checks in TRANSITIONS compare the value with the one before the change, and get (after, before). A rule with
`judged-by` in the schema has no check: a rule of Quotree reports the same fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Steps: TypeAlias = tuple[str | int, ...]
Fields: TypeAlias = Mapping[str, Any]
StructureCheck: TypeAlias = Callable[[Any], Iterable[Steps]]
TransitionCheck: TypeAlias = Callable[[Any, Any], Iterable[Steps]]

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

RULES: dict[str, StructureCheck] = {}
TRANSITIONS: dict[str, TransitionCheck] = {}


def _check(id: str) -> Callable[[StructureCheck], StructureCheck]:
    def register(check: StructureCheck) -> StructureCheck:
        RULES[id] = check
        return check

    return register


def _transition(id: str) -> Callable[[TransitionCheck], TransitionCheck]:
    def register(check: TransitionCheck) -> TransitionCheck:
        TRANSITIONS[id] = check
        return check

    return register


def _spec(workload: Fields) -> Fields:
    return workload.get("spec") or {}


def _has(value: Fields, *names: str) -> bool:
    return all(value.get(name) is not None for name in names)


def _check_each(id: str, field: str, is_wrong: Callable[[Fields], bool]) -> None:
    """Register a check of each entry of a list.

    `field`: the field of an entry that is reported if the entry is wrong.
    """

    def check(entries: list[Fields]) -> Iterator[Steps]:
        return ((index, field) for index, entry in enumerate(entries) if is_wrong(entry))

    RULES[id] = check


_check_each("taint-effect", "effect", lambda taint: taint.get("effect") not in TAINT_EFFECTS)
_check_each("toleration-effect", "effect", lambda it: _has(it, "effect") and it["effect"] not in TAINT_EFFECTS)
_check_each(
    "toleration-operator", "operator", lambda it: _has(it, "operator") and it["operator"] not in ("Equal", "Exists")
)
_check_each(
    "toleration-without-key-exists", "operator", lambda it: not _has(it, "key") and it.get("operator") != "Exists"
)
_check_each("toleration-exists-without-value", "value", lambda it: _has(it, "value") and it.get("operator") == "Exists")
_check_each(
    "toleration-seconds-no-execute",
    "effect",
    lambda it: _has(it, "tolerationSeconds") and it.get("effect") != "NoExecute",
)


@_check("preference-needs-try-next-flavor")
def preference_needs_try_next_flavor(fungibility: Fields) -> Iterator[Steps]:
    borrow = fungibility.get("whenCanBorrow") or "MayStopSearch"  # the defaults of the schema
    preempt = fungibility.get("whenCanPreempt") or "TryNextFlavor"
    if _has(fungibility, "preference") and not borrow == preempt == "TryNextFlavor":
        yield ("preference",)


@_check("borrow-needs-reclaim")
def borrow_needs_reclaim(preemption: Fields) -> Iterator[Steps]:
    borrow = (preemption.get("borrowWithinCohort") or {}).get("policy") or "Never"
    if borrow != "Never" and (preemption.get("reclaimWithinCohort") or "Never") == "Never":
        yield ("borrowWithinCohort", "policy")


@_check("topology-needs-node-label")
def topology_needs_node_label(spec: Fields) -> Iterator[Steps]:
    labels = spec.get("nodeLabels") or {}
    if _has(spec, "topologyName") and not any(_has(labels, key) for key in labels):
        yield ("nodeLabels",)


@_check("min-count-within-count")
def min_count_within_count(pod_set: Fields) -> Iterator[Steps]:
    count = pod_set["count"] if _has(pod_set, "count") else 1
    if _has(pod_set, "minCount") and pod_set["minCount"] > count:
        yield ("minCount",)


@_check("pod-priority-class-kind")
def pod_priority_class_kind(reference: Fields) -> Iterator[Steps]:
    if reference["group"] == "scheduling.k8s.io" and reference["kind"] != "PriorityClass":
        yield ("kind",)


@_check("workload-priority-class-kind")
def workload_priority_class_kind(reference: Fields) -> Iterator[Steps]:
    if reference["group"] == "kueue.x-k8s.io" and reference["kind"] != "WorkloadPriorityClass":
        yield ("kind",)


@_check("priority-class-ref-needs-priority")
def priority_class_ref_needs_priority(spec: Fields) -> Iterator[Steps]:
    if _has(spec, "priorityClassRef") and not _has(spec, "priority"):
        yield ("priority",)


@_check("priority-class-name-needs-priority")
def priority_class_name_needs_priority(spec: Fields) -> Iterator[Steps]:
    if _has(spec, "priorityClassName") and not _has(spec, "priority"):
        yield ("priority",)


@_check("cluster-name-alone")
def cluster_name_alone(status: Fields) -> Iterator[Steps]:
    if _has(status, "clusterName") and status.get("nominatedClusterNames"):
        yield ("nominatedClusterNames",)


@_check("assignments-match-pod-sets")
def assignments_match_pod_sets(workload: Fields) -> Iterator[Steps]:
    admission = (workload.get("status") or {}).get("admission")
    if not _has_condition(workload, "QuotaReserved") or admission is None:
        return
    pod_sets = _spec(workload).get("podSets")
    assignments = admission.get("podSetAssignments")
    if pod_sets is None or assignments is None or len(pod_sets) != len(assignments):
        yield ("status", "admission", "podSetAssignments")


@_check("topology-values-per-level")
def topology_values_per_level(assignment: Fields) -> Iterator[Steps]:
    for index, part in enumerate(assignment["slices"]):
        if len(part["valuesPerLevel"]) != len(assignment["levels"]):
            yield ("slices", index, "valuesPerLevel")


@_check("topology-roots-per-domain")
def topology_roots_per_domain(part: Fields) -> Iterator[Steps]:
    for index, values in enumerate(part["valuesPerLevel"]):
        if _has(values, "individual") and len(values["individual"]["roots"]) != part["domainCount"]:
            yield ("valuesPerLevel", index, "individual", "roots")


@_check("topology-counts-per-domain")
def topology_counts_per_domain(part: Fields) -> Iterator[Steps]:
    if _has(part["podCounts"], "individual") and len(part["podCounts"]["individual"]) != part["domainCount"]:
        yield ("podCounts", "individual")


@_check("topology-values-one-form")
@_check("topology-counts-one-form")
def one_form(value: Fields) -> Iterator[Steps]:
    if _has(value, "universal") == _has(value, "individual"):
        yield ()


def _has_condition(workload: Fields, condition: str) -> bool:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any(entry["type"] == condition and entry["status"] == "True" for entry in conditions)


@_check("clusters-unique")
def clusters_unique(names: list[str]) -> Iterator[Steps]:
    return ((index,) for index, name in enumerate(names) if name in names[:index])


@_check("one-cluster-source")
def one_cluster_source(source: Fields) -> Iterator[Steps]:
    if _has(source, "kubeConfig") == _has(source, "clusterProfileRef"):
        yield ()


HOSTNAME = "kubernetes.io/hostname"


def _node_labels(levels: list[Fields]) -> list[str]:
    return [level["nodeLabel"] for level in levels]


@_check("levels-unique")
def levels_unique(levels: list[Fields]) -> Iterator[Steps]:
    names = _node_labels(levels)
    return ((index, "nodeLabel") for index, name in enumerate(names) if name in names[:index])


@_check("hostname-lowest")
def hostname_lowest(levels: list[Fields]) -> Iterator[Steps]:
    return ((index, "nodeLabel") for index, name in enumerate(_node_labels(levels)[:-1]) if name == HOSTNAME)


@_transition("levels-kept")
def levels_kept(after: list[Fields], before: list[Fields]) -> Iterator[Steps]:
    by_host = all(_node_labels(levels)[-1] == HOSTNAME for levels in (after, before))
    if _node_labels(after) != _node_labels(before) and not by_host:
        yield ()


@_transition("controller-name-kept")
@_transition("cluster-queue-kept")
def cluster_queue_kept(after: str, before: str) -> Iterator[Steps]:
    if after != before:
        yield ()


@_transition("topology-flavor-kept")
def topology_flavor_kept(after: Fields, before: Fields) -> Iterator[Steps]:
    if _has(before, "topologyName") and before["topologyName"] != after.get("topologyName"):
        yield ("topologyName",)


@_transition("cluster-name-kept")
def cluster_name_kept(after: Fields, before: Fields) -> Iterator[Steps]:
    if _has(before, "clusterName") and _has(after, "clusterName") and before["clusterName"] != after["clusterName"]:
        yield ("clusterName",)


@_transition("priority-class-ref-kept")
def priority_class_ref_kept(after: Fields, before: Fields) -> Iterator[Steps]:
    present = [_has(_spec(workload), "priorityClassRef") for workload in (after, before)]
    if _has_condition(before, "QuotaReserved") and present[0] != present[1]:
        yield ("spec", "priorityClassRef")


def _reference_kept(id: str, field: str, *, pod_class_only: bool = False) -> None:
    """Register a check that a field of priorityClassRef does not change while quota is reserved.

    `pod_class_only`: only references to a PriorityClass are checked.
    """

    def check(after: Fields, before: Fields) -> Iterator[Steps]:
        new, old = (_spec(workload).get("priorityClassRef") for workload in (after, before))
        if not (_has_condition(before, "QuotaReserved") and new and old) or new[field] == old[field]:
            return
        if not pod_class_only or (new["group"], new["kind"]) == ("scheduling.k8s.io", "PriorityClass"):
            yield ("spec", "priorityClassRef", field)

    TRANSITIONS[id] = check


_reference_kept("priority-class-group-kept", "group")
_reference_kept("priority-class-kind-kept", "kind")
_reference_kept("pod-priority-class-name-kept", "name", pod_class_only=True)


def _priority_class_source(workload: Fields) -> str:
    """The source of the priority, which only v1beta1 has; empty by default."""
    return _spec(workload).get("priorityClassSource") or ""


@_transition("priority-class-source-kept")
def priority_class_source_kept(after: Fields, before: Fields) -> Iterator[Steps]:
    if _has_condition(before, "QuotaReserved") and _priority_class_source(after) != _priority_class_source(before):
        yield ("spec", "priorityClassSource")


@_transition("priority-class-name-kept")
def priority_class_name_kept(after: Fields, before: Fields) -> Iterator[Steps]:
    if _priority_class_source(after) == "kueue.x-k8s.io/workloadpriorityclass" or not _has_condition(
        before, "QuotaReserved"
    ):
        return
    new, old = (_spec(workload).get("priorityClassName") for workload in (after, before))
    if new is not None and old is not None and new != old:
        yield ("spec", "priorityClassName")


@_transition("queue-name-kept")
def queue_name_kept(after: Fields, before: Fields) -> Iterator[Steps]:
    new, old = (_spec(workload).get("queueName") or "" for workload in (after, before))
    if _has_condition(before, "QuotaReserved") and _has_condition(after, "QuotaReserved") and new != old:
        yield ("spec", "queueName")


@_transition("execution-time-kept")
def execution_time_kept(after: Fields, before: Fields) -> Iterator[Steps]:
    new, old = (_spec(workload).get("maximumExecutionTimeSeconds") or 0 for workload in (after, before))
    if _has_condition(before, "Admitted") and _has_condition(after, "Admitted") and new != old:
        yield ("spec", "maximumExecutionTimeSeconds")
