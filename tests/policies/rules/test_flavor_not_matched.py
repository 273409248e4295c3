"""What flavor-not-matched costs."""

from __future__ import annotations

from typing import Any

from policies.rules.kueue.flavor_not_matched import flavor_not_matched
from tests.builders import change, world

FLAVOR = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "spot"},
    "spec": {"nodeLabels": {"gpu": "a100"}, "nodeTaints": [{"key": "spot", "effect": "NoSchedule"}]},
}
QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "research"},
    "spec": {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 8}]}],
            }
        ],
    },
}
DOOR = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "main", "namespace": "ns"},
    "spec": {"clusterQueue": "research"},
}


def job(spec: dict[str, Any]) -> dict[str, Any]:
    containers = [{"name": "a", "resources": {"requests": {"cpu": 1}}}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {"suspend": True, "template": {"spec": {**spec, "containers": containers}}},
    }


def found(spec: dict[str, Any]) -> int:
    return len(list(flavor_not_matched(change(world(FLAVOR, QUEUE, DOOR), job(spec)))))


def test_pods_with_thousands_of_tolerations_are_not_compared_with_every_flavor() -> None:
    some = [{"key": f"other-{number}", "operator": "Exists"} for number in range(1001)]

    assert found({"tolerations": some[:1000]}) == 1
    assert found({"tolerations": some}) == 0
