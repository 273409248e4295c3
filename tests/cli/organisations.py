"""Queues and work of Kueue in few words, for tests of `simulate` and `why`."""

from __future__ import annotations

from typing import Any

KUEUE = "kueue.x-k8s.io/v1beta2"
FLAVOR: dict[str, Any] = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "spot"}}


def groups(flavor: str = "spot", **limits: Any) -> list[dict[str, Any]]:
    """Quota of cpu in one flavor."""
    resource = {"name": "cpu", **limits}
    return [{"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": [resource]}]}]


def org_queue(name: str, nominal: int, cohort: str | None = None, *, borrowing: int | None = None, **spec: Any) -> Any:
    """A ClusterQueue that serves every namespace."""
    limits = {"nominalQuota": nominal, **({} if borrowing is None else {"borrowingLimit": borrowing})}
    parent = {"cohortName": cohort} if cohort else {}
    whole = {**parent, "namespaceSelector": {}, "resourceGroups": groups(**limits), **spec}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": whole}


def local(name: str, namespace: str = "ns", queue: str | None = None) -> dict[str, Any]:
    """A LocalQueue, by default for the ClusterQueue of its name."""
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": queue or name}}


def cohort(name: str, parent: str | None = None) -> dict[str, Any]:
    spec = {"parentName": parent} if parent else {}
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def template(cpu: int | str) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def batch_job(name: str, queue: str | None, cpu: int | str, pods: int = 1, **labels: str) -> dict[str, Any]:
    """`labels` are those of Kueue; "_" stands for "-"."""
    told = {f"kueue.x-k8s.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    queued = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    meta = {"name": name, "namespace": "ns", "labels": {**queued, **told}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {"parallelism": pods, "template": template(cpu)},
    }


def queued_pod(name: str, queue: str, cpu: int, group: str = "", size: int = 0) -> dict[str, Any]:
    """A Pod by itself, or one of a group of so many."""
    labels = {"kueue.x-k8s.io/queue-name": queue}
    notes = {}
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        notes["kueue.x-k8s.io/pod-group-total-count"] = str(size)
    meta = {"name": name, "namespace": "ns", "labels": labels, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template(cpu)["spec"]}


def workload(name: str, queue: str, cpu: int, **spec: Any) -> dict[str, Any]:
    pod_sets = [{"name": "main", "count": 1, "template": template(cpu)}]
    meta = {"name": name, "namespace": "ns"}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": meta,
        "spec": {"queueName": queue, "podSets": pod_sets, **spec},
    }
