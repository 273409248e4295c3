"""Organisations of any size, the same each time: half Volcano queues, half Kueue ClusterQueues in Cohorts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.builders import container, kueue

Manifest = dict[str, Any]
FLAVORS = ("on-demand", "spot")


def queues(count: int, fan_out: int) -> Iterator[Manifest]:
    """`count` Volcano queues in three levels: parents with `fan_out` children each, under divisions of 20 parents."""
    parents = max(1, count // (fan_out + 1))
    for parent in range(parents):
        division = f"division-{parent // 20}"
        if parent % 20 == 0:
            yield _queue(division, "root", cpu=10**9)
        yield _queue(f"team-{parent}", division, cpu=10 * fan_out)
        for child in range(fan_out):
            yield _queue(f"team-{parent}-{child}", f"team-{parent}", cpu=10)


def _queue(name: str, parent: str, cpu: int) -> Manifest:
    amounts = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi"}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {
            "parent": parent,
            "weight": 1,
            "capability": {"cpu": str(2 * cpu)} if parent.startswith("team") else {},
            "deserved": amounts,
            "guarantee": {"resource": {"cpu": str(cpu // 2)}},
        },
    }


def cluster_queues(count: int, fan_out: int) -> Iterator[Manifest]:
    """`count` ClusterQueues, `fan_out` in each Cohort, all Cohorts under one, and the flavors of their quota."""
    for flavor in FLAVORS:
        yield _kueue("ResourceFlavor", flavor, {"nodeLabels": {"pool": flavor}})
    for cohort in range(max(1, count // fan_out)):
        yield _kueue("Cohort", f"cohort-{cohort}", {"parentName": "company"})
        for child in range(fan_out):
            yield _kueue("ClusterQueue", f"cq-{cohort}-{child}", {"cohortName": f"cohort-{cohort}", **_quota()})


def at_work(queues: int, jobs: int) -> Iterator[Manifest]:
    """ClusterQueues in one tree of three levels, and batch Jobs of 20 shapes for their LocalQueues; most fit."""
    names = []
    for manifest in cluster_queues(queues, 10):
        yield manifest
        if manifest["kind"] == "ClusterQueue":
            names.append(manifest["metadata"]["name"])
            yield kueue("LocalQueue", names[-1], {"clusterQueue": names[-1]}, namespace="team")
    for turn in range(jobs):
        requests = {"cpu": str(1 + turn % 4), "memory": f"{1 + turn % 5}Gi"}
        template = {"spec": {"restartPolicy": "Never", "containers": [container(**requests)]}}
        yield {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": f"job-{turn}",
                "namespace": "team",
                "labels": {"kueue.x-k8s.io/queue-name": names[turn * 7 % len(names)]},
            },
            "spec": {"parallelism": 1, "completions": 1, "suspend": True, "template": template},
        }


def _kueue(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _quota() -> Manifest:
    resources = [
        {"name": "cpu", "nominalQuota": "10", "borrowingLimit": "5"},
        {"name": "memory", "nominalQuota": "40Gi", "lendingLimit": "20Gi"},
    ]
    flavors = [{"name": flavor, "resources": resources} for flavor in FLAVORS]
    return {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": flavors}],
    }


def raised(manifest: Manifest) -> Manifest:
    """The manifest with more cpu in a Volcano queue's `deserved` or a ClusterQueue's quota; others are unchanged."""
    spec = manifest["spec"]
    if manifest["kind"] == "Queue":
        return {
            **manifest,
            "spec": {**spec, "deserved": {**spec["deserved"], "cpu": str(int(spec["deserved"]["cpu"]) + 1)}},
        }
    if manifest["kind"] != "ClusterQueue":
        return manifest
    (group,) = spec["resourceGroups"]
    flavors = [
        {
            **flavor,
            "resources": [
                {**each, "nominalQuota": "11"} if each["name"] == "cpu" else each for each in flavor["resources"]
            ],
        }
        for flavor in group["flavors"]
    ]
    return {**manifest, "spec": {**spec, "resourceGroups": [{**group, "flavors": flavors}]}}


def organisation(count: int, fan_out: int = 9) -> list[Manifest]:
    """About `count` queues in all."""
    return [*queues(count // 2, fan_out), *cluster_queues(count // 2, fan_out)]


def write(path: Path, manifests: Iterable[Manifest]) -> None:
    with path.open("w") as file:
        yaml.dump_all(manifests, file, Dumper=yaml.CSafeDumper)


def queue_config(count: int, most: int = 50, rule: Manifest | None = None) -> Manifest:
    """YuniKorn's ConfigMap with `count` queues of at most `most` vcore, in parents of 99 children."""
    parents = [
        {
            "name": f"team-{parent}",
            "parent": True,
            "resources": {"guaranteed": {"vcore": 1000, "memory": "100Gi"}, "max": {"vcore": 2000, "memory": "200Gi"}},
            "queues": [
                {"name": f"queue-{child}", "resources": {"guaranteed": {"vcore": 5}, "max": {"vcore": most}}}
                for child in range(99)
            ],
        }
        for parent in range(count // 100)
    ]
    rule = rule or {"name": "tag", "value": "namespace", "create": True}
    root = {"name": "root", "submitacl": "*", "queues": parents}
    partition = {"name": "default", "placementrules": [rule], "queues": [root]}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"},
        "data": {"queues.yaml": yaml.safe_dump({"partitions": [partition]}, sort_keys=False)},
    }
