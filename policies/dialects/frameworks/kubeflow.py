"""The jobs of Kubeflow: training-operator v1, mpi-operator v2beta1, trainer v1alpha1.

Source: Kueue v0.19, pkg/controller/jobs.
"""

from __future__ import annotations

from dataclasses import replace

from policies.dialects.core import POD
from policies.dialects.frameworks.batch import JOB
from policies.dialects.job_shape import Active, Count, Framework, JobShape, PodSetPath, ReadyPods, Sign, SuspendField
from policies.model.objects import GroupKind

_REPLICA_TYPES = ("Launcher", "Chief", "Master", "PS", "Worker", "Evaluator")
"""In the order of Kueue's pod sets."""


def _job(kind: str, replicas: str) -> JobShape:
    """A kind of the training-operator. `replicas`: the field of the spec with an entry for each replica type."""
    return JobShape(
        kind=GroupKind("kubeflow.org", kind),
        version="v1",
        plural=f"{kind.lower()}s",
        pod_sets=(
            PodSetPath(
                "",
                "template",
                (Count("replicas"),),
                entries=f"spec.{replicas}",
                order=_REPLICA_TYPES,
                index_label="training.kubeflow.org/replica-index",
            ),
        ),
        suspend=SuspendField("spec.runPolicy.suspend"),
        succeeded=Sign(("Succeeded",)),
        failed=Sign(("Failed",)),
        ready=ReadyPods(Sign(("Running",))),
        active=Active(("status.replicaStatuses.*.active",), resumed="Suspended"),
        priority_class="spec.runPolicy.schedulingPolicy.priorityClass",
        managed_by="spec.runPolicy.managedBy",
        controller="kubeflow.org/training-operator",
        makes=(POD,),
        scaled=f"spec.{replicas}.Worker.replicas",
    )


TRAIN_JOB = GroupKind("trainer.kubeflow.org", "TrainJob")

FRAMEWORKS = (
    _job("TFJob", "tfReplicaSpecs"),
    _job("PaddleJob", "paddleReplicaSpecs"),
    _job("PyTorchJob", "pytorchReplicaSpecs"),
    _job("XGBoostJob", "xgbReplicaSpecs"),
    replace(
        _job("MPIJob", "mpiReplicaSpecs"),
        version="v2beta1",
        controller="kubeflow.org/mpi-operator",
        makes=(POD, JOB.kind),  # the launcher is a Job
        own_sets=("worker",),
        scaled="",
    ),
    replace(_job("JAXJob", "jaxReplicaSpecs"), prebuilt=False),
    # The pods of a TrainJob depend on its TrainingRuntime, which Quotree does not read.
    Framework(
        kind=TRAIN_JOB,
        version="v1alpha1",
        plural="trainjobs",
        suspend=SuspendField("spec.suspend"),
        managed_by="spec.managedBy",
        controller="trainer.kubeflow.org/trainjob-controller",
    ),
)
