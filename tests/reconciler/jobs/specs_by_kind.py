"""A spec for each kind of job that is known by its description alone."""

from __future__ import annotations

from typing import Any

from policies.model.objects import GroupKind
from reconciler.jobs.described import JobKind
from reconciler.jobs.kinds import SHIPPED
from tests.reconciler.jobs.world import template

GROUPS = {"JobSet": "jobset.x-k8s.io", "RayJob": "ray.io", "RayCluster": "ray.io", "RayService": "ray.io"}
ROLES = {
    "TFJob": "tfReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}
CLUSTER = {
    "headGroupSpec": {"template": template()},
    "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "template": template()}],
}
SPECS: dict[str, dict[str, Any]] = {
    "JobSet": {
        "suspend": True,
        "replicatedJobs": [
            {"name": "lead", "replicas": 1, "template": {"spec": {"template": template()}}},
            {"name": "work", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": template()}}},
        ],
    },
    **{
        kind: {"runPolicy": {"suspend": True}, where: {"Worker": {"replicas": 2, "template": template()}}}
        for kind, where in ROLES.items()
    },
    "RayJob": {"suspend": True, "rayClusterSpec": CLUSTER},
    "RayCluster": {"suspend": True, **CLUSTER},
    "RayService": {"rayClusterConfig": {"suspend": True, **CLUSTER}},
}


def kind(name: str) -> JobKind:
    return SHIPPED[GroupKind(GROUPS.get(name, "kubeflow.org"), name)]
