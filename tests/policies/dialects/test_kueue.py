from __future__ import annotations

from typing import Any

import pytest

from policies.dialects import read
from policies.dialects.kueue import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    ClusterQueue,
    Cohort,
    KueueNode,
    LocalQueue,
    flavor_resource,
)
from policies.dialects.kueue_flavor import ResourceFlavor
from policies.dialects.kueue_workload import WrittenWorkload
from policies.dialects.misnamed import Misnamed
from policies.model.objects import KubeObject, Ref, SubtreeShare
from policies.model.quantity import Quantity
from tests.builders import cluster_queue, cohort, flavor, group, holding, kueue, local_queue, quota, typed
from tests.policies.rules.kueue_quotas import spot
from tests.profiles import each_case


def in_version(version: str, kind: str, spec: dict[str, Any], namespace: str | None = None) -> KubeObject:
    return typed(kueue(kind, "x", spec, version=version, namespace=namespace))


def node(manifest: dict[str, Any]) -> KueueNode:
    obj = typed(manifest)
    assert isinstance(obj, KueueNode)
    return obj


def bad(obj: KubeObject) -> list[tuple[str, bool]]:
    return [(defect.field, defect.quantity) for defect in obj.defects]


# -- who is whose parent, in every version -----------------------------------------------------------------------------

PARENTS = [
    ("Cohort", "v1alpha1", "parent"),
    ("Cohort", "v1beta1", "parentName"),
    ("Cohort", "v1beta2", "parentName"),
    ("ClusterQueue", "v1beta1", "cohort"),
    ("ClusterQueue", "v1beta2", "cohortName"),
]


@pytest.mark.parametrize(("kind", "version", "key"), PARENTS)
def test_the_parent_is_a_cohort_read_from_the_field_of_the_version(kind: str, version: str, key: str) -> None:
    obj = in_version(version, kind, {key: "org"})

    assert isinstance(obj, Cohort if kind == "Cohort" else ClusterQueue)
    assert obj.ref == Ref("kueue.x-k8s.io", kind, "", "x")
    assert obj.api_version == f"kueue.x-k8s.io/{version}"
    assert obj.parent == COHORT.named("org")
    assert obj.parent_field == f"spec.{key}"


@pytest.mark.parametrize(("kind", "version", "key"), PARENTS)
def test_empty_or_missing_parent_is_none_with_its_field_name(kind: str, version: str, key: str) -> None:
    for spec in ({}, {key: ""}, {key: None}):
        obj = in_version(version, kind, spec)

        assert isinstance(obj, KueueNode)
        assert obj.parent is None
        assert obj.parent_field == f"spec.{key}"


def test_parent_field_of_another_version_is_ignored() -> None:
    old, new = in_version("v1beta1", "ClusterQueue", {"cohortName": "org"}), cluster_queue("x")
    new["spec"]["cohort"] = "org"

    assert isinstance(old, ClusterQueue)
    assert (old.parent, node(new).parent) == (None, None)


# -- quota -------------------------------------------------------------------------------------------------------------


def test_groups_are_read_in_order_and_each_quota_knows_its_path() -> None:
    queue = node(
        holding(
            cluster_queue("x", "org"),
            group("cpu memory", flavor("spot", cpu=quota("4", "1", "2"), memory="8Gi")),
            group("gpu", flavor("a100", gpu=8), flavor("h100", gpu="0")),
        )
    )

    assert [g.covered_resources for g in queue.groups] == [("cpu", "memory"), ("gpu",)]
    assert [(f.name, r.name, r.nominal) for f, r in queue.quotas()] == [
        ("spot", "cpu", Quantity.parse("4")),
        ("spot", "memory", Quantity.parse("8Gi")),
        ("a100", "gpu", Quantity.parse(8)),
        ("h100", "gpu", Quantity.ZERO),
    ]
    (_, cpu), (_, memory), *_, (h100, _) = queue.quotas()
    assert (cpu.borrowing_limit, cpu.lending_limit) == (Quantity.parse("1"), Quantity.parse("2"))
    assert (memory.borrowing_limit, memory.lending_limit) == (None, None)
    assert memory.field("nominalQuota") == "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota"
    assert h100.field("name") == "spec.resourceGroups[1].flavors[1].name"
    assert h100.pointer("resources", 0) == "/spec/resourceGroups/1/flavors/1/resources/0"
    assert queue.groups[1].covered_field(0) == "spec.resourceGroups[1].coveredResources[0]"
    assert queue.defects == ()


@each_case("key", ["nominalQuota", "borrowingLimit", "lendingLimit"])
@each_case("amount", ["-1", "64MiB", "four", True])
def test_invalid_or_negative_amount_is_a_defect_and_counts_as_missing(key: str, amount: object) -> None:
    manifest = holding(cohort("x", "org"), group("cpu", flavor("spot", cpu=quota("9", "9", "9") | {key: amount})))

    ((_, cpu),) = node(manifest).quotas()

    amounts = {
        "nominalQuota": cpu.nominal,
        "borrowingLimit": cpu.borrowing_limit,
        "lendingLimit": cpu.lending_limit,
    }
    assert [name for name, value in amounts.items() if value is None] == [key]
    assert bad(node(manifest)) == [(cpu.field(key), True)]


@pytest.mark.parametrize("weight", ["0", "2n", "1u", "1", 3])
def test_a_weight_is_zero_or_more_than_one_nano(weight: object) -> None:
    manifest = cohort("x")
    manifest["spec"]["fairSharing"] = {"weight": weight}

    assert node(manifest).weight == Quantity.parse(weight)
    assert bad(node(manifest)) == []


@pytest.mark.parametrize("weight", ["-1", "1n", "heavy"])
def test_any_other_weight_is_a_defect(weight: str) -> None:
    manifest = cluster_queue("x")
    manifest["spec"]["fairSharing"] = {"weight": weight}

    assert node(manifest).weight is None
    assert bad(node(manifest)) == [("spec.fairSharing.weight", True)]


@pytest.mark.parametrize(
    "groups",
    [
        None,
        "cpu",
        {"coveredResources": ["cpu"]},
        ["cpu", None, 3],
        [{"coveredResources": "cpu", "flavors": "spot"}],
        [{"coveredResources": [None, 1], "flavors": [None, "spot", {"resources": "cpu"}]}],
        [{"coveredResources": ["cpu"], "flavors": [{"name": 1, "resources": [None, "cpu", {"name": []}]}]}],
    ],
)
def test_malformed_resource_groups_are_read_as_far_as_possible(groups: object) -> None:
    manifest = cluster_queue("x", "org")
    manifest["spec"]["resourceGroups"] = groups

    queue = node(manifest)

    assert queue.parent == COHORT.named("org")
    assert all(quota.nominal is None for _, quota in queue.quotas())


def test_a_position_is_kept_where_the_entry_before_cannot_be_read() -> None:
    manifest = cluster_queue("x")
    manifest["spec"]["resourceGroups"] = [None, group("cpu", flavor("spot", cpu="1"))]

    ((_, cpu),) = node(manifest).quotas()

    assert cpu.field("name") == "spec.resourceGroups[1].flavors[0].resources[0].name"


def covering(*names: object) -> dict[str, Any]:
    manifest = cluster_queue("x")
    flavors = [{"name": "spot", "resources": [{"name": name, "nominalQuota": "1"} for name in names]}]
    manifest["spec"]["resourceGroups"] = [{"coveredResources": list(names), "flavors": flavors}]
    return manifest


@pytest.mark.parametrize(
    "name", ["cpu", "nvidia.com/gpu", "Example_1.x", "a/b", "x" * 63, "d" * 253 + "/" + "x" * 63, "a-b.c-d/E"]
)
def test_a_resource_has_a_qualified_name(name: str) -> None:
    assert bad(node(covering(name))) == []


@each_case(
    "name",
    [
        "",
        "@cpu",
        "-cpu",
        "cpu.",
        "c p",
        "cpu\n",
        "x" * 64,
        "/cpu",
        "a/",
        "a/b/c",
        "A/b",
        "a..b/c",
        "d" * 254 + "/c",
        "ü",
    ],
)
def test_invalid_resource_name_is_a_structure_defect(name: str) -> None:
    assert bad(node(covering("cpu", name))) == [("spec.resourceGroups[0].coveredResources[1]", False)]


def grid(flavors: int, resources: int, prefix: str) -> dict[str, Any]:
    names = [f"{prefix}{i}" for i in range(resources)]
    return group(" ".join(names), *(flavor(f"{prefix}{i}", **dict.fromkeys(names, "1")) for i in range(flavors)))


@pytest.mark.parametrize(
    ("groups", "field"),
    [
        ([(64, 1)] * 4, None),
        ([(64, 1)] * 4 + [(1, 1)], "spec.resourceGroups"),
        ([(1, 64)] * 4, None),
        ([(1, 64)] * 4 + [(1, 1)], "spec.resourceGroups"),
        ([(1, 1), (64, 8)], None),
        ([(1, 1), (57, 9)], "spec.resourceGroups[1]"),
    ],
)
def test_a_cluster_queue_has_at_most_so_many_flavors_resources_and_pairs(
    groups: list[tuple[int, int]], field: str | None
) -> None:
    parts = [grid(flavors, resources, f"{chr(97 + i)}") for i, (flavors, resources) in enumerate(groups)]

    assert bad(node(holding(cluster_queue("x"), *parts))) == ([(field, False)] if field else [])
    assert bad(node(holding(cohort("x"), *parts))) == []


# -- what a node shows upward ------------------------------------------------------------------------------------------


def test_share_of_a_cohort_overrides_the_amounts_below() -> None:
    below = SubtreeShare(nominal={"spot/cpu": 7, "spot/memory": 8, "a100/gpu": 9}, height=2)
    manifest = holding(cohort("x"), group("cpu memory", flavor("spot", cpu="0", memory="1n")))

    share = node(manifest).share(below)

    assert share.nominal == {"spot/cpu": 0, "spot/memory": 1, "a100/gpu": 9}
    assert share.height == 3


def test_invalid_amount_does_not_override_the_share_below() -> None:
    assert node(spot(cohort("x"), "-4")).share(SubtreeShare(nominal={"spot/cpu": 7})).nominal == {"spot/cpu": 7}


def test_a_resource_with_a_slash_keeps_its_name() -> None:
    manifest = cluster_queue("x")
    resource = {"name": "nvidia.com/gpu", "nominalQuota": "2"}
    flavors = [{"name": "a100", "resources": [resource]}]
    manifest["spec"]["resourceGroups"] = [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]

    assert node(manifest).share(SubtreeShare()).nominal == {"a100/nvidia.com/gpu": 2 * 10**9}


# -- the other kinds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_local_queue_references_its_cluster_queue(version: str) -> None:
    obj = in_version(version, "LocalQueue", {"clusterQueue": "research"}, namespace="team")

    assert isinstance(obj, LocalQueue)
    assert obj.ref == LOCAL_QUEUE.named("x", "team")
    assert (obj.queue, obj.queue_field) == (CLUSTER_QUEUE.named("research"), "spec.clusterQueue")


def test_a_local_queue_may_name_nothing() -> None:
    obj = typed(local_queue("x", ""))

    assert isinstance(obj, LocalQueue)
    assert obj.queue is None


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_workload_references_the_local_queue_of_its_namespace(version: str) -> None:
    obj = in_version(version, "Workload", {"queueName": "main"}, namespace="team")

    assert isinstance(obj, WrittenWorkload)
    assert (obj.queue, obj.queue_field) == (LOCAL_QUEUE.named("main", "team"), "spec.queueName")


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_resource_flavor_is_cluster_scoped(version: str) -> None:
    obj = in_version(version, "ResourceFlavor", {"nodeLabels": {"type": "spot"}}, namespace="ignored")

    assert isinstance(obj, ResourceFlavor)
    assert obj.ref == Ref("kueue.x-k8s.io", "ResourceFlavor", "", "x")
    assert obj.defects == ()


def test_unknown_kueue_kind_is_misnamed() -> None:
    found = read({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "CohortTree", "metadata": {"name": "x"}})

    assert isinstance(found, Misnamed)


# -- quotas that an orchestrator writes --------------------------------------------------------------------------------


def orchestrated(manifest: dict[str, Any], *groups: dict[str, Any]) -> dict[str, Any]:
    reference = {"apiGroup": "kueue.x-k8s.io", "kind": "DynamicQuotaOrchestrator", "name": "main"}
    return {**manifest, "status": {"effectiveQuotas": {"orchestratorRef": reference, "resourceGroups": list(groups)}}}


@pytest.mark.parametrize("made", [cluster_queue("ml"), cohort("org")])
def test_effective_quotas_apply_in_place_of_spec_where_the_gate_is_on(made: dict[str, Any]) -> None:
    held = holding(made, group("cpu", flavor("spot", cpu="9")))
    manifest = orchestrated(held, group("cpu", flavor("spot", cpu="4")))
    on, off = read(manifest, orchestrated=True), read(manifest)
    assert isinstance(on, KueueNode)
    assert isinstance(off, KueueNode)

    assert [each.terms_of(flavor_resource("spot", "cpu")).nominal for each in (on, off)] == [4000, 9000]
    assert [quota.nominal.text for each in (on, off) for _, quota in each.quotas() if quota.nominal] == ["9", "9"]


def test_empty_effective_quotas_mean_no_quota() -> None:
    held = holding(cluster_queue("ml"), group("cpu", flavor("spot", cpu="9")))

    on = read(orchestrated(held), orchestrated=True)

    assert isinstance(on, KueueNode)
    assert (on.terms(), on.in_force) == ({}, ())


def test_spec_quotas_apply_without_effective_quotas() -> None:
    held = holding(cluster_queue("ml"), group("cpu", flavor("spot", cpu="9")))

    assert read(held, orchestrated=True) == read(held)
