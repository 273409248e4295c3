"""Reading manifests: units, defaults, annotations of Pods, devices of claims."""

from __future__ import annotations

from typing import Any

import pytest

from policies.dialects.volcano_gates import group_of
from policies.model.quantity import Quantity
from scheduling.volcano.objects import Machine, PodGroup, Status, VolcanoQueueSettings
from scheduling.volcano.reading import (
    read_claim,
    read_machine,
    read_pod_group,
    read_priorities,
    read_queue,
    read_task,
)
from scheduling.volcano.resources import amount_text, counted

Data = dict[str, Any]


def test_units_are_milli_bytes_and_whole_pods() -> None:
    amounts = {
        "cpu": "1500m",
        "memory": "1Ki",
        "pods": "3",
        "vendor/gpu": "2",
        "ephemeral-storage": "1",
        "gpu": "1",
        "count/pods": "5",
    }

    assert counted({name: Quantity.parse(amount) for name, amount in amounts.items()}) == {
        "cpu": 1500,
        "memory": 1024,
        "pods": 3,
        "vendor/gpu": 2000,
        "ephemeral-storage": 1000,
    }
    assert (amount_text("cpu", 1500), amount_text("memory", 2048), amount_text("vendor/gpu", 2000)) == (
        "1500m",
        "2Ki",
        "2",
    )


def queue(spec: Data, state: str | None = None) -> VolcanoQueueSettings:
    return read_queue({"metadata": {"name": "q"}, "spec": spec, "status": {"state": state} if state else {}})


def test_a_queue_is_read_with_its_defaults() -> None:
    assert queue({}) == VolcanoQueueSettings("q")
    assert not queue({}, "Closing").is_open


def test_all_fields_of_a_queue_are_read() -> None:
    found = queue(
        {
            "parent": "p",
            "priority": 3,
            "weight": 2,
            "reclaimable": False,
            "capability": {"cpu": "4", "deviceclass/gpu.com": "2"},
            "deserved": {"cpu": "2"},
            "guarantee": {"resource": {"cpu": "1"}},
        }
    )

    assert found == VolcanoQueueSettings(
        "q",
        "p",
        3,
        2,
        False,
        "Open",
        {"cpu": 4000, "deviceclass/gpu.com": 2000},
        {"cpu": 2000},
        {"cpu": 1000},
        {"deviceclass/gpu.com": 2},
    )


def test_a_podgroup_is_read_with_the_value_of_its_class() -> None:
    classes = read_priorities([{"metadata": {"name": "high"}, "value": 7}])
    spec = {"queue": "q", "minMember": 2, "minTaskMember": {"a": 1}, "minResources": {}, "priorityClassName": "high"}

    found = read_pod_group({"metadata": {"name": "g", "namespace": "ns"}, "spec": spec}, classes)

    assert found == PodGroup("ns/g", "q", "Pending", 2, {"a": 1}, {}, 7)
    assert read_pod_group({"metadata": {"name": "g"}}, {}) == PodGroup("default/g")


def pod(spec: Data | None = None, status: Data | None = None, **metadata: Any) -> Data:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "metadata": {"name": "p", "namespace": "ns", **metadata},
        "spec": {"containers": containers, **(spec or {})},
        "status": status or {},
    }


@pytest.mark.parametrize(
    ("manifest", "status"),
    [
        (pod(), Status.PENDING),
        (pod({"nodeName": "n"}), Status.ALLOCATED),
        (pod({"nodeName": "n"}, {"phase": "Running"}), Status.RUNNING),
        (pod({"nodeName": "n"}, {"phase": "Running"}, deletionTimestamp="2026-01-01T00:00:00Z"), Status.RELEASING),
        (pod(deletionTimestamp="2026-01-01T00:00:00Z"), Status.RELEASING),
        (pod({"nodeName": "n"}, {"phase": "Succeeded"}), Status.FINISHED),
        (pod({"nodeName": "n"}, {"phase": "Failed"}), Status.RELEASING),
    ],
)
def test_the_status_of_a_pod_is_read(manifest: Data, status: Status) -> None:
    assert read_task(manifest, "ns/g", {}).status is status


def test_each_pod_requests_one_pod() -> None:
    assert read_task(pod(), "ns/g", {}).request == {"cpu": 1000, "pods": 1}


@pytest.mark.parametrize(
    ("metadata", "preemptable"),
    [
        ({}, True),
        ({"labels": {"volcano.sh/preemptable": "false"}}, False),
        ({"annotations": {"volcano.sh/preemptable": "0"}, "labels": {"volcano.sh/preemptable": "true"}}, False),
        ({"labels": {"volcano.sh/preemptable": "no idea"}}, False),
    ],
)
def test_a_label_or_annotation_makes_a_pod_not_preemptable(metadata: Data, preemptable: bool) -> None:
    assert read_task(pod(**metadata), "ns/g", {}).preemptable is preemptable


def test_a_pod_names_its_task_by_annotation_or_label() -> None:
    name = "volcano.sh/task-spec"
    both = pod(annotations={name: "worker"}, labels={name: "other"})

    assert read_task(pod(labels={name: "worker"}), "ns/g", {}).role == "worker"
    assert read_task(both, "ns/g", {}).role == "worker"


def test_a_pod_names_its_podgroup() -> None:
    assert group_of(pod()) is None
    assert group_of(pod(annotations={"scheduling.k8s.io/group-name": "g"})) == "ns/g"


def test_a_pod_has_the_devices_of_its_claims() -> None:
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "gpu.com", "count": 2, "capacity": {"requests": {"memory": "1"}}},
    }
    name, devices = read_claim(
        {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": [request]}}}
    )
    wanting = pod({"resourceClaims": [{"name": "one", "resourceClaimName": "c"}, {"name": "two"}]})

    assert (name, devices) == ("ns/c", {"deviceclass/gpu.com": 2, "memory.deviceclass/gpu.com": 2 * 10**9})
    assert read_task(wanting, "ns/g", {name: devices}).claims == {"ns/c": devices}


def test_a_node_is_read_with_its_allocatable_and_labels() -> None:
    found = read_machine(
        {
            "metadata": {"name": "n", "labels": {"zone": "a"}},
            "spec": {"unschedulable": True},
            "status": {"allocatable": {"cpu": "2"}},
        }
    )

    assert found == Machine("n", {"cpu": 2000}, {"zone": "a"}, (), True)


def test_a_malformed_manifest_is_read_with_defaults() -> None:
    assert read_queue({"spec": {"capability": 3, "weight": "x", "priority": None}}) == VolcanoQueueSettings("")
    assert read_task({"spec": {"containers": "x", "resourceClaims": [3]}, "status": []}, "g", {}).request == {"pods": 1}
    assert read_claim({"spec": {"devices": {"requests": [{"exactly": 3}]}}}) == ("default/", {})
