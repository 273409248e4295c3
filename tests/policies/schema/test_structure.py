from __future__ import annotations

import json

import pytest

from policies.schema.structure import defects, transition_defects
from tests.policies.schema.structure_cases import (
    ACCEPTED,
    REFUSED,
    TEMPLATE,
    Manifest,
    cluster_queue,
    cohort,
    fields,
    flavor,
    group,
    local_queue,
    manifest,
    queue,
    refused,
    workload,
)
from tests.profiles import each_case


def message(manifest: Manifest) -> str:
    (defect,) = defects(manifest)
    return defect.message


@each_case("case", ACCEPTED)
def test_valid_manifests_have_no_defects(case: tuple[str, Manifest]) -> None:
    assert defects(case[1]) == ()


@each_case("case", REFUSED)
def test_each_defect_has_the_field_path_of_the_error(case: tuple[str, Manifest, list[str]]) -> None:
    assert case[2] == refused(defects(case[1]))


@each_case("case", REFUSED)
def test_looking_at_a_manifest_does_not_change_it(case: tuple[str, Manifest, list[str]]) -> None:
    before = json.dumps(case[1])
    defects(case[1])
    assert before == json.dumps(case[1])


def test_defects_are_sorted_independently_of_the_manifest_order() -> None:
    one = queue(weight=0, parent="A", capability={"b": "x", "a": "x"})
    other = queue(capability={"a": "x", "b": "x"}, parent="A", weight=0)
    assert defects(one) == defects(other)
    assert fields(defects(one)) == ["spec.capability.a", "spec.capability.b", "spec.parent", "spec.weight"]


def test_entries_are_ordered_by_number() -> None:
    names = [f"f{number}" for number in range(12)]
    bad = cohort(resourceGroups=[group(*names, nominalQuota="x")])
    assert [f"spec.resourceGroups[0].flavors[{number}].resources[0].nominalQuota" for number in range(12)] == fields(
        defects(bad)
    )


@each_case(
    ("bad", "words"),
    [
        (queue(weight=0), "0 is too small; it must be 1 or more"),
        (queue(weight="1"), '"1" is a string; it must be a whole number'),
        (queue(parent=["a"]), '["a"] is a list; it must be a string'),
        (queue(reclaimable=1.5), "1.5 is a decimal number; it must be true or false"),
        (queue(dequeueStrategy="lifo"), '"lifo" is not allowed; it must be "fifo" or "traverse"'),
        (queue(type="a" * 254), f'"{"a" * 55} ... has 254 characters; it must have at most 253'),
        (workload(), "has 0 entries; it must have at least 1"),
        (flavor(nodeLabels={str(number): "" for number in range(9)}), "has 9 keys; it must have at most 8"),
        (cohort(resourceGroups=[{"coveredResources": ["cpu"]}]), "is required; add it"),
        (workload({"template": None}), "is null; write a value"),
        (
            queue(parent="A"),
            (
                "\"A\" is not allowed; it must be a DNS subdomain: lower-case letters, digits, '-' and '.', "
                "each part beginning and ending with a letter or digit"
            ),
        ),
        (
            cohort(resourceGroups=[group("a", "a")]),
            "name 'a' is already in entry 0 of this list; every entry needs its own",
        ),
        (
            cluster_queue(
                admissionChecksStrategy={"admissionChecks": [{"name": "a", "onFlavors": ["b", "c", "b"]}]},
            ),
            "'b' is already in entry 0 of this list; every entry needs its own",
        ),
        (queue(capability={"cpu": 2**63}), "9223372036854775808 has more than 64 bits"),
    ],
)
def test_message_names_the_value_and_the_allowed_values(bad: Manifest, words: str) -> None:
    assert message(bad).startswith(words)


def test_empty_string_is_reported_as_empty() -> None:
    assert message(queue(parent="")).startswith("is empty; leave it out, or it must be a DNS subdomain")


@pytest.mark.parametrize("value", ["x", "1 Gi", "", True, 1.5, [], {}, 2**63, "1e", "١"])
def test_invalid_quantity_is_flagged_as_a_quantity_defect(value: object) -> None:
    (defect,) = defects(queue(capability={"cpu": value}))
    assert (defect.field, defect.quantity) == ("spec.capability.cpu", True)


def test_other_defects_are_not_flagged_as_quantities() -> None:
    assert [defect.quantity for defect in defects(queue(capability=[], weight="1"))] == [False, False]


# Unknown fields


def test_an_unknown_field_is_a_warning_that_names_the_nearest_known_one() -> None:
    (defect,) = defects(cluster_queue(cohort="org"))
    assert defect.field == "spec.cohort"
    assert (defect.warning, defect.unknown) == (True, True)
    assert defect.message == "is unknown in this version, so kubectl refuses it; did you mean 'cohortName'?"


def test_unknown_field_without_a_similar_one_lists_all_known_fields() -> None:
    assert (
        message(local_queue(zzz=1))
        == "is unknown in this version, so kubectl refuses it; known here: clusterQueue, fairSharing, stopPolicy"
    )


@pytest.mark.parametrize(
    ("bad", "there"),
    [
        (cohort() | {"metadata": {"name": "org", "parentName": "top"}}, "spec.parentName"),
        (cohort() | {"labels": {"team": "a"}}, "metadata.labels"),
        (queue() | {"metadata": {"name": "q", "spec": {}}}, "spec"),
        (queue(guarantee={"parent": "top"}), "spec.parent"),
        (queue(resource={"cpu": 1}), "spec.guarantee.resource"),
        (queue(guarantee={"cpu": 1}), "spec.guarantee.resource.cpu"),
    ],
)
def test_field_in_the_wrong_place_gets_a_fix_with_the_right_path(bad: Manifest, there: str) -> None:
    (defect,) = [each for each in defects(bad) if each.unknown]
    assert defect.message.endswith(f"; write {there} if that is meant, else remove it")
    assert (defect.meant, defect.rename) == (there, "")


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (queue() | {"extra": 1}, "extra"),
        (queue() | {"metadata": {"name": "q", "lables": {}}}, "metadata.lables"),
        (cohort(resourceGroups=[group("a", nominal="1")]), "spec.resourceGroups[0].flavors[0].resources[0].nominal"),
        (queue(**{"a b": 1}), "spec[a b]"),
    ],
)
def test_unknown_fields_are_found_at_every_level(bad: Manifest, field: str) -> None:
    assert [(found.field, found.warning) for found in defects(bad)] == [(field, True)]


def test_pod_template_accepts_any_field() -> None:
    pod = {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "args": []}], "dnsPolicy": ""},
    }
    assert defects(workload({"template": pod})) == ()


def test_rules_are_judged_although_a_field_is_unknown() -> None:
    assert fields(defects(flavor(topologyName="racks", surplus=1))) == ["spec.nodeLabels", "spec.surplus"]


# Versions and kinds


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"kind": "Queue"},
        {"apiVersion": "scheduling.volcano.sh/v1beta1"},
        {"apiVersion": 1, "kind": "Queue"},
        {"apiVersion": "v1", "kind": "Pod", "spec": 1},
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": ["Queue"]},
        {"apiVersion": "example.com/v1", "kind": "Queue"},
        {"apiVersion": "../kueue.x-k8s.io/v1beta2", "kind": "Cohort"},
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Quota"},
    ],
)
def test_kinds_without_a_schema_have_no_defects(other: Manifest) -> None:
    assert defects(other) == ()
    assert transition_defects(other, other) == ()


@pytest.mark.parametrize("version", ["v1", "", "v1beta3"])
def test_an_unknown_version_is_one_defect_that_names_the_known_ones(version: str) -> None:
    (defect,) = defects(manifest(f"kueue.x-k8s.io/{version}", "Cohort", {"parentName": 1}))
    assert defect.field == "apiVersion"
    assert (
        f"Cohort has no version {version!r} in kueue.x-k8s.io; known are v1beta2, v1beta1, v1alpha1" == defect.message
    )


@pytest.mark.parametrize(
    ("kind", "cure"),
    [
        ("Topology", "known are v1beta2, v1beta1, and quotree migrate --from kueue converts it"),
        ("MultiKueueConfig", "known are v1beta2, v1beta1, and quotree migrate --from kueue converts it"),
        ("MultiKueueCluster", "known are v1beta2, v1beta1, and quotree migrate --from kueue converts it"),
        ("ClusterQueue", "known are v1beta2, v1beta1"),
    ],
)
def test_an_old_version_names_the_command_that_converts_it(kind: str, cure: str) -> None:
    (defect,) = defects(manifest("kueue.x-k8s.io/v1alpha1", kind, {}))

    assert defect.message == f"{kind} has no version 'v1alpha1' in kueue.x-k8s.io; {cure}"


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("v1alpha1", "Cohort", {"parent": "org", "resourceGroups": [group("a")]}),
        ("v1beta1", "Cohort", {"parentName": "org", "resourceGroups": [group("a")]}),
        ("v1beta1", "ClusterQueue", {"cohort": "org", "admissionChecks": ["a"], "resourceGroups": [group("a")]}),
        ("v1beta1", "ClusterQueue", {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}}),
        ("v1beta1", "LocalQueue", {"clusterQueue": "team"}),
        ("v1beta1", "ResourceFlavor", {"nodeLabels": {"a": "b"}}),
        ("v1beta1", "Workload", {"podSets": [{"template": TEMPLATE}], "priorityClassName": "high", "priority": 1}),
    ],
)
def test_older_versions_are_read_by_their_own_names(version: str, kind: str, spec: Manifest) -> None:
    assert defects(manifest(f"kueue.x-k8s.io/{version}", kind, spec)) == ()


@pytest.mark.parametrize(
    ("version", "kind", "spec", "field"),
    [
        ("v1alpha1", "Cohort", {"parentName": "org"}, "spec.parentName"),
        ("v1beta1", "Cohort", {"parent": "org"}, "spec.parent"),
        ("v1beta2", "ClusterQueue", {"cohort": "org"}, "spec.cohort"),
        ("v1beta1", "ClusterQueue", {"cohortName": "org"}, "spec.cohortName"),
        ("v1beta1", "Workload", {"podSets": [{"template": TEMPLATE}], "priorityClassName": "high"}, "spec.priority"),
        ("v1beta1", "Workload", {}, "spec.podSets"),
    ],
)
def test_field_names_of_another_version_are_reported(version: str, kind: str, spec: Manifest, field: str) -> None:
    assert [field] == fields(defects(manifest(f"kueue.x-k8s.io/{version}", kind, spec)))
