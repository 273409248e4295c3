"""Whether a kind is one of the projects, a misspelt one, or a foreign kind, which is not reported."""

from __future__ import annotations

import pytest

from policies.dialects import READERS, read
from policies.dialects.misnamed import Misnamed, kinds_of
from tests.profiles import each_case

OTHERS = """
    v1 Pod, v1 Service, v1 Secret, apps/v1 Deployment, apps/v1 StatefulSet, batch/v1 Job, batch/v1 CronJob
    scheduling.k8s.io/v1 PriorityClass, scheduling.k8s.io/v1alpha1 Workload, scheduling.k8s.io/v1alpha2 PodGroup
    scheduling.x-k8s.io/v1alpha1 PodGroup, jobset.x-k8s.io/v1alpha2 JobSet, resource.k8s.io/v1 ResourceClaim
    leaderworkerset.x-k8s.io/v1 LeaderWorkerSet, topology.node.k8s.io/v1alpha2 NodeResourceTopology
    cluster.x-k8s.io/v1beta1 Cluster, gateway.networking.k8s.io/v1 Gateway, metrics.k8s.io/v1beta1 PodMetrics
    kubeflow.org/v1 PyTorchJob, trainer.kubeflow.org/v1alpha1 TrainJob, ray.io/v1 RayCluster, ray.io/v1 RayJob
    workload.codeflare.dev/v1beta2 AppWrapper, autoscaling.x-k8s.io/v1 ProvisioningRequest
    scheduling.run.ai/v2 Queue, run.ai/v2 Queue
    scheduling.koordinator.sh/v1alpha1 PodGroup, quota.koordinator.sh/v1 Quota
    serving.knative.dev/v1 Service, messaging.knative.dev/v1 Channel, keda.sh/v1alpha1 ScaledJob
    rabbitmq.com/v1beta1 Queue, sqs.services.k8s.aws/v1alpha1 Queue, sqs.aws.upbound.io/v1beta1 Queue
    yunikorn.apache.org/v1alpha1 Application, karpenter.sh/v1 NodePool, argoproj.io/v1alpha1 Workflow
    kueue.openshift.io/v1 ClusterQueue, kueue.openshift.io/v1 Workload, kueue.openshift.io/v1alpha1 Cohort
    scheduling.volcano.example.com/v1 Queue, kueue.example.com/v1 LocalQueue, batch.volcano.example.org/v1 Job
    kueue.openshift.io/v1 Kueue, operator.openshift.io/v1 Kueue, config.kueue.x-k8s.io/v1beta2 Configuration
    visibility.kueue.x-k8s.io/v1beta2 ClusterQueue, visibility.kueue.x-k8s.io/v1beta1 LocalQueue
    flow.volcano.sh/v1alpha1 JobFlow, flow.volcano.sh/v1alpha1 JobTemplate, nodeinfo.volcano.sh/v1alpha1 Numatopology
    topology.volcano.sh/v1alpha1 HyperNode, shard.volcano.sh/v1alpha1 NodeShard, batch.volcano.sh/v1alpha1 CronJob
    training.volcano.sh/v1alpha1 HyperJob, workload.serving.volcano.sh/v1alpha1 ModelServing
    networking.serving.volcano.sh/v1alpha1 ModelRoute, config.volcano.sh/v1alpha1 ColocationConfiguration
    infra.example.com/v1 ClusterQueue, example.com/v1 Cohort, example.com/v1 LocalQueue, queue.example.com/v1 Workload
    kueue.x-k8s.io/v1alpha1 PreemptionConfig, kueue.x-k8s.io/v1alpha1 CapacityProvider
    kueue.x-k8s.io/v1beta2 ClusterQueueList, v1 List, kustomize.config.k8s.io/v1beta1 Kustomization
"""


@each_case("written", [each.strip() for line in OTHERS.split("\n") for each in line.split(",") if each.strip()])
def test_foreign_kinds_are_not_reported_as_misnamed(written: str) -> None:
    api_version, kind = written.split()

    assert not isinstance(read({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}), Misnamed)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("yunikorn-config", {"README.md": "How we run it"}),
        ("yunikorn-config", None),
        ("yunikorn-config-old", {"queues.yaml": ""}),
        ("scheduler", {"queues.yaml": ""}),
        (None, {"queues.yaml": ""}),
    ],
)
def test_foreign_config_maps_are_ignored(name: str | None, data: dict[str, str] | None) -> None:
    assert read({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}) is None


def test_every_kind_that_is_read_is_known_in_its_group() -> None:
    for kind in READERS:
        if kind.group.endswith((".volcano.sh", "kueue.x-k8s.io")):
            assert kind.kind in kinds_of(kind.group)


@pytest.mark.parametrize("manifest", [{}, {"kind": "ClusterQueue"}, {"apiVersion": 1, "kind": "ClusterQueue"}])
def test_manifest_without_an_api_version_is_ignored(manifest: dict[str, object]) -> None:
    assert read(manifest) is None
