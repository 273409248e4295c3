"""The conversion of each field that differs between versions, and of edits in between."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policies.conversion import Unconvertible, convert
from tests.builders import kueue

Manifest = dict[str, Any]
KEPT = {"v1beta1": "kueue.quotree.dev/v1beta1", "v1beta2": "kueue.quotree.dev/v1beta2"}


def obj(kind: str, version: str, *, status: Manifest | None = None, **spec: Any) -> Manifest:
    return kueue(kind, "a", spec, version=version, status=status)


def notes(manifest: Manifest) -> Manifest:
    return dict(manifest["metadata"].get("annotations", {}))


WORKLOAD_CLASS = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
POD_CLASS = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}
PLAIN = [
    ("ClusterQueue", {"cohort": "org"}, {"cohortName": "org"}),
    ("Cohort", {"parentName": "org"}, {"parentName": "org"}),
    ("LocalQueue", {"clusterQueue": "q"}, {"clusterQueue": "q"}),
    (
        "Workload",
        {"priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass", "priority": 1},
        {"priorityClassRef": WORKLOAD_CLASS, "priority": 1},
    ),
    (
        "Workload",
        {"priorityClassName": "high", "priorityClassSource": "scheduling.k8s.io/priorityclass"},
        {"priorityClassRef": POD_CLASS},
    ),
    ("Workload", {"queueName": "q", "priorityClassSource": ""}, {"queueName": "q"}),
]
STATUSES = [
    ("LocalQueue", {"flavorUsage": [{"name": "f"}]}, {"flavorsUsage": [{"name": "f"}]}),
    ("Workload", {"accumulatedPastExexcutionTimeSeconds": 7}, {"accumulatedPastExecutionTimeSeconds": 7}),
]


@pytest.mark.parametrize(("kind", "old", "new"), PLAIN)
def test_fields_with_an_equivalent_are_converted_both_ways(kind: str, old: Manifest, new: Manifest) -> None:
    one, other = obj(kind, "v1beta1", **old), obj(kind, "v1beta2", **new)

    assert convert(one, "v1beta2") == other
    assert convert(other, "v1beta1") == one


@pytest.mark.parametrize(("kind", "old", "new"), STATUSES)
def test_status_is_converted_both_ways(kind: str, old: Manifest, new: Manifest) -> None:
    one, other = convert(obj(kind, "v1beta1", status=old), "v1beta2"), obj(kind, "v1beta2", status=new)

    assert one["status"] == other["status"]
    assert convert(other, "v1beta1")["status"] == old


def test_admission_checks_replace_the_strategy() -> None:
    listed = {"admissionChecks": [{"name": "a", "onFlavors": ["f"]}, {"name": "c"}]}
    old = obj("ClusterQueue", "v1beta1", admissionChecks=["a", "b"], admissionChecksStrategy=listed)

    new = convert(old, "v1beta2")

    assert new["spec"] == {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}}
    assert convert(new, "v1beta1") == old


def test_old_values_of_the_fungibility_are_rewritten() -> None:
    old = obj("ClusterQueue", "v1beta1", flavorFungibility={"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"})

    new = convert(old, "v1beta2")

    stop = "MayStopSearch"
    assert new["spec"]["flavorFungibility"] == {"whenCanBorrow": stop, "whenCanPreempt": stop}
    assert convert(new, "v1beta1") == old


def test_field_of_one_version_is_kept_in_an_annotation_that_is_removed_on_return() -> None:
    new = obj("ClusterQueue", "v1beta2", concurrentAdmissionPolicy={"migration": {"mode": "RetainFirstAdmission"}})

    old = convert(new, "v1beta1")

    assert "concurrentAdmissionPolicy" not in old["spec"]
    assert set(notes(old)) == {KEPT["v1beta2"]}
    assert convert(old, "v1beta2") == new


def test_other_annotations_are_kept() -> None:
    new = obj("MultiKueueConfig", "v1beta2", clusters=["a"], quotaManagement="Automated")
    new["metadata"]["annotations"] = {"note": "mine"}

    old = convert(new, "v1beta1")

    assert notes(old) == {"note": "mine"} | {KEPT["v1beta2"]: notes(old)[KEPT["v1beta2"]]}
    assert convert(old, "v1beta2") == new


def test_kubeconfig_of_a_multikueue_cluster_is_converted() -> None:
    old = obj("MultiKueueCluster", "v1beta1", kubeConfig={"location": "secret"})
    new = obj("MultiKueueCluster", "v1beta2", clusterSource={"kubeConfig": {"location": "secret"}})

    assert convert(old, "v1beta2") == new
    assert convert(new, "v1beta1") == old


@pytest.mark.parametrize("minutes", [15, 3])
def test_the_delay_of_a_check_is_kept_unless_it_is_the_default(minutes: int) -> None:
    old = obj("AdmissionCheck", "v1beta1", controllerName="c", retryDelayMinutes=minutes)

    new = convert(old, "v1beta2")

    assert new["spec"] == {"controllerName": "c"}
    assert bool(notes(new)) == (minutes != 15)
    assert convert(new, "v1beta1") == old


# -- edits in between --------------------------------------------------------------------------------------------------


def test_edit_of_another_field_keeps_the_stored_field() -> None:
    new = obj(
        "ClusterQueue",
        "v1beta2",
        cohortName="org",
        concurrentAdmissionPolicy={"migration": {"mode": "RetainFirstAdmission"}},
    )

    old = convert(new, "v1beta1")
    old["spec"]["cohort"] = "other"

    assert convert(old, "v1beta2")["spec"] == new["spec"] | {"cohortName": "other"}


def test_edited_field_takes_precedence_over_the_stored_value() -> None:
    old = obj("ClusterQueue", "v1beta1", flavorFungibility={"whenCanBorrow": "Borrow"})

    new = convert(old, "v1beta2")
    new["spec"]["flavorFungibility"]["whenCanBorrow"] = "TryNextFlavor"

    assert convert(new, "v1beta1")["spec"]["flavorFungibility"] == {"whenCanBorrow": "TryNextFlavor"}


def test_checks_for_all_flavors_are_a_plain_list_without_any_annotation() -> None:
    old = obj("ClusterQueue", "v1beta1", admissionChecks=["a", "b"])
    new = obj("ClusterQueue", "v1beta2", admissionChecksStrategy={"admissionChecks": [{"name": "a"}, {"name": "b"}]})

    assert convert(old, "v1beta2") == new
    assert convert(new, "v1beta1") == old


def test_checks_of_one_flavor_stay_a_strategy_without_annotation() -> None:
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b", "onFlavors": ["f"]}]}}

    assert convert(obj("ClusterQueue", "v1beta2", **spec), "v1beta1") == obj("ClusterQueue", "v1beta1", **spec)


def test_removed_checks_do_not_return_in_the_other_version() -> None:
    listed = {"admissionChecks": [{"name": "a"}, {"name": "b"}]}
    new = convert(obj("ClusterQueue", "v1beta1", admissionChecksStrategy=listed), "v1beta2")
    assert notes(new)
    new["spec"]["admissionChecksStrategy"]["admissionChecks"].pop()

    old = convert(new, "v1beta1")

    assert old["spec"] == {"admissionChecks": ["a"]}
    assert convert(old, "v1beta2")["spec"] == new["spec"]


def test_stored_fields_are_matched_to_pod_sets_by_name() -> None:
    request = {"required": "rack"}
    pods: list[Manifest] = [{"name": name, "template": {}, "topologyRequest": request} for name in ("a", "b")]
    pods[1]["topologyRequest"] = request | {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}]}
    new = obj("Workload", "v1beta2", podSets=pods)

    old = convert(new, "v1beta1")
    old["spec"]["podSets"].reverse()

    assert convert(old, "v1beta2")["spec"]["podSets"] == [pods[1], pods[0]]


def test_stored_fields_of_a_removed_pod_set_are_dropped() -> None:
    request = {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}]}
    new = obj("Workload", "v1beta2", podSets=[{"name": "a", "template": {}, "topologyRequest": request}])

    old = convert(new, "v1beta1")
    old["spec"]["podSets"] = [{"name": "b", "template": {}, "count": 1}]

    assert convert(old, "v1beta2")["spec"]["podSets"] == old["spec"]["podSets"]


# -- annotations that are not ours -------------------------------------------------------------------------------------


def forged(at: list[Any], value: Manifest) -> Manifest:
    """A v1beta1 object with a forged annotation that has the digest of the missing value."""
    kept = convert(obj("MultiKueueConfig", "v1beta2", clusters=["a"], quotaManagement="Manual"), "v1beta1")
    (entry,) = json.loads(notes(kept)[KEPT["v1beta2"]])
    old = obj("ClusterQueue", "v1beta1", cohort="org")
    entry |= {"at": at, "keys": list(value), "value": value}
    old["metadata"]["annotations"] = {KEPT["v1beta2"]: json.dumps([entry])}
    return old


def test_annotation_value_of_a_field_missing_in_the_other_version_is_used() -> None:
    policy = {"migration": {"mode": "RetainFirstAdmission"}}
    new = convert(forged(["spec"], {"concurrentAdmissionPolicy": policy}), "v1beta2")

    assert new["spec"] == {"cohortName": "org", "concurrentAdmissionPolicy": policy}


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (["spec"], {"concurrentAdmissionPolicy": "a text that no client could read"}),
        (["spec"], {"resourceGroups": [{"coveredResources": 1}]}),
        (["spec"], {"fairSharing": {"weight": "many"}}),
        (["spec"], {"unheard-of": 1}),
        (["spec"], {"stopPolicy": "Hold"}),
        ([], {"status": {"pendingWorkloads": 1}}),
        (["spec", ["cohortName"]], {"x": 1}),
        (["metadata"], {"finalizers": ["x"]}),
        (["metadata", "annotations"], {"kubectl.kubernetes.io/x": "y"}),
        (["metadata", "annotations"], {KEPT["v1beta2"]: 1}),
        ([], {"extra": 1}),
    ],
)
def test_forged_annotation_values_are_ignored(at: list[Any], value: Manifest) -> None:
    new = convert(forged(at, value), "v1beta2")

    assert (new["spec"], new["metadata"]) == ({"cohortName": "org"}, {"name": "a"})
    assert set(new) == {"apiVersion", "kind", "metadata", "spec"}


def test_object_too_large_for_annotations_is_not_converted() -> None:
    waiting = [{"name": f"workload-{number:060}", "namespace": "team"} for number in range(4000)]
    status = {"pendingWorkloadsStatus": {"clusterQueuePendingWorkload": waiting, "lastChangeTime": "now"}}

    with pytest.raises(Unconvertible, match="read and write this object as v1beta1"):
        convert(obj("ClusterQueue", "v1beta1", status=status), "v1beta2")
