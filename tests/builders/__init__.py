"""Objects for tests, in few words: each kind is built in one place, and forests and changes are made of them.

`queue`, `job` and `pod_group` are Volcano's; a Job of Kubernetes is `batch_job`, or `queued_job` in a LocalQueue.
"""

from __future__ import annotations

from tests.builders.core import batch_job, config_map, container, kubeconfig, namespace, pod, template
from tests.builders.forests import COMPAT, EVERYTHING, change, drawn, forest, found, missed, typed, world
from tests.builders.kueue import (
    FLAVOR,
    cluster_queue,
    cohort,
    flavor,
    group,
    holding,
    kueue,
    local_queue,
    queued,
    queued_job,
    queued_pod,
    quota,
    workload,
)
from tests.builders.manifests import Manifest, manifest
from tests.builders.volcano import amounts, job, pod_group, queue, volcano_pod

__all__ = [
    "COMPAT",
    "EVERYTHING",
    "FLAVOR",
    "Manifest",
    "amounts",
    "batch_job",
    "change",
    "cluster_queue",
    "cohort",
    "config_map",
    "container",
    "drawn",
    "flavor",
    "forest",
    "found",
    "group",
    "holding",
    "job",
    "kubeconfig",
    "kueue",
    "local_queue",
    "manifest",
    "missed",
    "namespace",
    "pod",
    "pod_group",
    "queue",
    "queued",
    "queued_job",
    "queued_pod",
    "quota",
    "template",
    "typed",
    "volcano_pod",
    "workload",
    "world",
]
