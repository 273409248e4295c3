from __future__ import annotations

from typing import Any

import pytest

from policies.schema import declarations
from policies.schema.compiled import EACH, Compiled, compiled
from policies.schema.structure import defects, transition_defects
from policies.schema.structure_rules import RULES, TRANSITIONS
from tests.policies.schema.structure_cases import (
    NOW,
    TEMPLATE,
    Manifest,
    fields,
    flavor,
    local_queue,
    manifest,
    refused,
    workload,
)
from tests.profiles import each_case

VERSIONS: dict[tuple[str, str], Compiled] = {
    (f"{declaration['group']}/{version['name']}", declaration["names"]["kind"]): compiled(version)
    for declaration in map(declarations.load, declarations.FILES.values())
    for version in declaration["versions"]
}
RESERVED = {"type": "QuotaReserved", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": NOW}
ADMITTED = RESERVED | {"type": "Admitted"}
POD_CLASS = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}
OWN_CLASS = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}


def admission(*assignments: Manifest, **more: Any) -> Manifest:
    return {
        "admission": {"clusterQueue": "cq", "podSetAssignments": list(assignments)},
        "conditions": [RESERVED],
    } | more


def topology(**part: Any) -> Manifest:
    whole = {"domainCount": 2, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": "a"}]} | part
    return admission({"topologyAssignment": {"levels": ["rack"], "slices": [whole]}})


SLICE = "status.admission.podSetAssignments[0].topologyAssignment.slices[0]"


@each_case(
    ("status", "field"),
    [
        ({"clusterName": "a", "nominatedClusterNames": ["b"]}, "status.nominatedClusterNames"),
        (admission(), "status.admission.podSetAssignments"),
        (admission({"name": "A"}), "status.admission.podSetAssignments[0].name"),
        (admission({"resourceUsage": {"cpu": "x"}}), "status.admission.podSetAssignments[0].resourceUsage.cpu"),
        (topology(valuesPerLevel=[{"universal": "a"}, {"universal": "b"}]), f"{SLICE}.valuesPerLevel"),
        (topology(valuesPerLevel=[{"individual": {"roots": ["a"]}}]), f"{SLICE}.valuesPerLevel[0].individual.roots"),
        (topology(valuesPerLevel=[{}]), f"{SLICE}.valuesPerLevel[0]"),
        (topology(podCounts={"individual": [1, 2, 3]}), f"{SLICE}.podCounts.individual"),
        (topology(podCounts={"individual": [1, 2], "universal": 1}), f"{SLICE}.podCounts"),
        ({"conditions": [RESERVED | {"reason": "no reason"}]}, "status.conditions[0].reason"),
        ({"conditions": [RESERVED, ADMITTED, RESERVED]}, "status.conditions[2].type"),
        (
            {"schedulingStats": {"evictions": [{"reason": "A", "underlyingCause": "", "count": 1}] * 2}},
            "status.schedulingStats.evictions[1].underlyingCause",
        ),
    ],
)
def test_invalid_status_is_refused_only_on_the_status_subresource(status: Manifest, field: str) -> None:
    bad = workload({"template": TEMPLATE}) | {"status": status}
    assert [field] == refused(defects(bad, subresource="status"))
    assert [field] == fields(defects(bad))
    assert refused(defects(bad)) == []


def test_valid_status_has_no_defects() -> None:
    values = [{"individual": {"roots": ["1", "2"], "prefix": "rack-"}}]
    status = topology(podCounts={"individual": [1, 2]}, valuesPerLevel=values) | {"clusterName": "a"}
    assert defects(workload({"template": TEMPLATE}) | {"status": status}, subresource="status") == ()


def test_the_status_of_a_kind_without_that_subresource_is_refused() -> None:
    bad = manifest("scheduling.volcano.sh/v1beta1", "PodGroup", status={"phase": "Waiting"})
    assert refused(defects(bad)) == ["status.phase"]


@pytest.mark.parametrize("status", [[], "x", {"admission": 1, "conditions": [RESERVED]}, {"conditions": [{}]}])
def test_a_dropped_status_does_not_hide_the_rules_of_the_spec(status: Any) -> None:
    bad = workload({"minCount": 2, "template": TEMPLATE}) | {"status": status}
    assert refused(defects(bad)) == ["spec.podSets[0].minCount"]
    assert refused(defects(bad, subresource="status")) != ["spec.podSets[0].minCount"]
    assert transition_defects(bad, bad) == transition_defects(bad, bad, subresource="status") == ()


def held(spec: Manifest, *conditions: Manifest) -> Manifest:
    return workload({"template": TEMPLATE}, **spec) | {"status": {"conditions": list(conditions)}}


@each_case(
    ("before", "after", "changed"),
    [
        (local_queue(clusterQueue="a"), local_queue(clusterQueue="a"), []),
        (local_queue(clusterQueue="a"), local_queue(clusterQueue="b"), ["spec.clusterQueue"]),
        (local_queue(), local_queue(clusterQueue="b"), []),
        (local_queue(clusterQueue="a"), local_queue(clusterQueue=None), []),
        (flavor(nodeLabels={"a": "b"}), flavor(nodeLabels={"a": "c"}), []),
        (
            flavor(topologyName="t", nodeLabels={"a": "b"}),
            flavor(topologyName="t", nodeLabels={"a": "c"}, tolerations=[], nodeTaints=[]),
            [],
        ),
        (flavor(nodeLabels={"a": "b"}), flavor(topologyName="t", nodeLabels={"a": "b"}), []),
        (
            flavor(topologyName="t", nodeLabels={"a": "b"}),
            flavor(topologyName="u", nodeLabels={"a": "b"}),
            ["spec.topologyName"],
        ),
        (flavor(topologyName="t", nodeLabels={"a": "b"}), flavor(nodeLabels={"a": "b"}), ["spec.topologyName"]),
        (held({"queueName": "a"}), held({"queueName": "b"}), []),
        (held({"queueName": "a"}, RESERVED), held({"queueName": "b"}), ["spec.queueName"]),
        (held({"queueName": "a"}, RESERVED), held({"queueName": None}, RESERVED), ["spec.queueName"]),
        (held({"queueName": None}, RESERVED), held({"queueName": "a"}, RESERVED), ["spec.queueName"]),
        (held({"maximumExecutionTimeSeconds": 1}, RESERVED), held({}), []),
        (held({"maximumExecutionTimeSeconds": 1}, ADMITTED), held({}), ["spec.maximumExecutionTimeSeconds"]),
        (held({"priorityClassRef": OWN_CLASS}, RESERVED), held({}), ["spec.priorityClassRef"]),
        (held({"priorityClassRef": OWN_CLASS}), held({}), []),
        (
            held({"priorityClassRef": OWN_CLASS}, RESERVED),
            held({"priorityClassRef": OWN_CLASS | {"name": "low"}}),
            [],
        ),
        (
            held({"priorityClassRef": POD_CLASS}, RESERVED),
            held({"priorityClassRef": POD_CLASS | {"name": "low"}}),
            ["spec.priorityClassRef.name"],
        ),
        (
            held({"priorityClassRef": POD_CLASS}, RESERVED),
            held({"priorityClassRef": OWN_CLASS}),
            ["spec.priorityClassRef.group", "spec.priorityClassRef.kind"],
        ),
    ],
)
def test_changed_immutable_field_is_reported(before: Manifest, after: Manifest, changed: list[str]) -> None:
    assert changed == fields(transition_defects(before, after))


def test_the_cluster_name_may_be_cleared_but_not_changed() -> None:
    before, cleared, changed = (
        workload({"template": TEMPLATE}) | {"status": status}
        for status in ({"clusterName": "a"}, {}, {"clusterName": "b"})
    )
    assert transition_defects(before, cleared, subresource="status") == ()
    assert fields(transition_defects(before, changed, subresource="status")) == ["status.clusterName"]
    assert transition_defects(before, changed) == ()


def older(source: str, name: str) -> Manifest:
    spec = {"podSets": [{"template": TEMPLATE}], "priorityClassSource": source, "priorityClassName": name}
    return manifest("kueue.x-k8s.io/v1beta1", "Workload", spec, status={"conditions": [RESERVED]})


@pytest.mark.parametrize(
    ("source", "changed"),
    [("scheduling.k8s.io/priorityclass", ["spec.priorityClassName"]), ("kueue.x-k8s.io/workloadpriorityclass", [])],
)
def test_v1beta1_workload_cannot_change_its_pod_priority_class_name(source: str, changed: list[str]) -> None:
    assert fields(transition_defects(older(source, "high"), older(source, "low"))) == changed


def test_v1beta1_workload_cannot_change_its_priority_class_source() -> None:
    before = older("scheduling.k8s.io/priorityclass", "high")
    after = older("kueue.x-k8s.io/workloadpriorityclass", "high")
    assert fields(transition_defects(before, after)) == ["spec.priorityClassSource"]


def test_objects_of_two_versions_are_not_compared() -> None:
    before = manifest("kueue.x-k8s.io/v1beta1", "LocalQueue", {"clusterQueue": "a"})
    assert transition_defects(before, local_queue(clusterQueue="b")) == ()


def test_every_rule_of_the_schemas_has_a_check_and_every_check_a_rule() -> None:
    assert {rule.id for version in VERSIONS.values() for rule in version.rules} == set(RULES)
    assert {rule.id for version in VERSIONS.values() for rule in version.transitions} == set(TRANSITIONS)


def test_every_schema_rule_names_its_offline_check() -> None:
    def rules(node: Any) -> list[Manifest]:
        if isinstance(node, list):
            return [rule for item in node for rule in rules(item)]
        if not isinstance(node, dict):
            return []
        return [*node.get("x-kubernetes-validations", ()), *(rule for item in node.values() for rule in rules(item))]

    for file in declarations.FILES.values():
        for rule in rules(declarations.load(file)):
            assert len({"id", "judged-by"} & rule.keys()) == 1, rule


def test_transition_rules_are_not_inside_list_entries() -> None:
    placed = [rule for version in VERSIONS.values() for rule in version.transitions]
    assert [rule for rule in placed if EACH in rule.steps] == []


def test_schema_fields_do_not_use_the_each_placeholder_name() -> None:
    def names(node: Any) -> set[str]:
        if isinstance(node, list):
            return {name for item in node for name in names(item)}
        return set(node.get("properties", ())) | names(list(node.values())) if isinstance(node, dict) else set()

    assert [version for version, content in VERSIONS.items() if EACH in names(content.document)] == []
