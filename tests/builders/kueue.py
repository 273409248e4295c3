"""Objects of Kueue, and the resource groups of their quota in few words."""

from __future__ import annotations

from typing import Any

from tests.builders.core import batch_job, pod, template
from tests.builders.manifests import Manifest, manifest

GROUP = "kueue.x-k8s.io"
FLAVOR: Manifest = manifest(f"{GROUP}/v1beta2", "ResourceFlavor", "spot")


def kueue(kind: str, name: str, spec: Any = None, *, version: str = "v1beta2", **metadata: Any) -> Manifest:
    return manifest(f"{GROUP}/{version}", kind, name, spec, **metadata)


def cohort(name: str, parent: str | None = None) -> Manifest:
    return kueue("Cohort", name, {} if parent is None else {"parentName": parent})


def cluster_queue(name: str, parent: str | None = None, *groups: Manifest, **spec: Any) -> Manifest:
    """Serves every namespace."""
    above = {} if parent is None else {"cohortName": parent}
    quota = {"resourceGroups": list(groups)} if groups else {}
    return kueue("ClusterQueue", name, {"namespaceSelector": {}, **above, **quota, **spec})


def local_queue(name: str, cluster_queue: str, namespace: str | None = "ns") -> Manifest:
    return kueue("LocalQueue", name, {"clusterQueue": cluster_queue}, namespace=namespace)


# -- quota -------------------------------------------------------------------------------------------------------------


def quota(nominal: object, borrow: object = None, lend: object = None) -> Manifest:
    limits = {"borrowingLimit": borrow, "lendingLimit": lend}
    return {"nominalQuota": nominal, **{key: limit for key, limit in limits.items() if limit is not None}}


def flavor(name: str, **resources: object) -> Manifest:
    """`flavor("spot", cpu="4", memory=quota("8Gi", lend="2Gi"))`."""
    quotas = {key: value if isinstance(value, dict) else quota(value) for key, value in resources.items()}
    return {"name": name, "resources": [{"name": key, **value} for key, value in quotas.items()]}


def group(covered: str, *flavors: Manifest) -> Manifest:
    """`covered` holds the names with a blank between."""
    return {"coveredResources": covered.split(), "flavors": list(flavors)}


def holding(manifest: Manifest, *groups: Manifest) -> Manifest:
    """The same Cohort or ClusterQueue with these resource groups."""
    return {**manifest, "spec": {**manifest["spec"], "resourceGroups": list(groups)}}


# -- work --------------------------------------------------------------------------------------------------------------


def workload(name: str, queue: str, cpu: Any, namespace: str | None = "ns", **spec: Any) -> Manifest:
    """Of one pod."""
    pods = {"name": "main", "count": 1, "template": template(cpu)}
    return kueue("Workload", name, {"queueName": queue, "podSets": [pods], **spec}, namespace=namespace)


def queued(queue: str | None, **labels: str) -> dict[str, str]:
    """The labels of a job in a LocalQueue, with those of Kueue: `_` stands for `-`."""
    named = {f"{GROUP}/queue-name": queue} if queue else {}
    return {**named, **{f"{GROUP}/{key.replace('_', '-')}": value for key, value in labels.items()}}


def queued_job(name: str, queue: str | None, cpu: Any, pods: int = 1, **labels: str) -> Manifest:
    """A batch Job in a LocalQueue, with these labels of Kueue."""
    return batch_job(name, {"parallelism": pods, "template": template(cpu)}, labels=queued(queue, **labels))


def queued_pod(
    name: str, queue: str, cpu: Any, group: str = "", size: int = 0, *, namespace: str | None = "ns", **labels: str
) -> Manifest:
    """A Pod by itself, or one of a group of so many."""
    total = {f"{GROUP}/pod-group-total-count": str(size)} if group else {}
    grouped = {"pod_group_name": group} if group else {}
    return pod(name, namespace, template(cpu)["spec"], labels=queued(queue, **grouped, **labels), annotations=total)
