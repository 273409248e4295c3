"""The kinds of jobs that Kueue queues: their labels and annotations for Kueue, their pods, and whether they run.

Source: Kueue v0.19, pkg/controller/jobframework and pkg/controller/jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.dialects.core import POD, VOLCANO_SCHEDULER
from policies.dialects.frameworks import FRAMEWORKS, batch, ray, replicated
from policies.dialects.frameworks.wrapped import SPARK_APPLICATION
from policies.dialects.go_values import read_integer
from policies.dialects.job_shape import Framework, JobShape, PodsAt, at
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_owners import ControllerReference, controller_of
from policies.dialects.kueue_ray import Ray, read_ray
from policies.dialects.odd_amounts import OddAmount
from policies.dialects.odd_jobs import odd_in_job
from policies.dialects.reading import Manifest, identity, integer, mapping, metadata, text, texts
from policies.dialects.selectors import LabelSelector, read_label_selector
from policies.dialects.yunikorn_work import WrittenTemplate, inside, pod_template, written_template
from policies.model import fields
from policies.model.objects import GroupKind, KubeObject

QUEUE_NAME = f"{PREFIX}queue-name"
PRIORITY_CLASS = f"{PREFIX}priority-class"
PREBUILT = f"{PREFIX}prebuilt-workload-name"
IDENTIFIERS = "WorkloadIdentifierAnnotations"
"""Kueue's gate: the name of a Workload or pod group in an annotation takes precedence over the one in a label."""
_LONGEST_LABEL = 63
MAX_SECONDS = f"{PREFIX}max-exec-time-seconds"
MIN_PARALLELISM = f"{PREFIX}job-min-parallelism"
COMPLETIONS_FOLLOW = f"{PREFIX}job-completions-equal-parallelism"
MANAGED = f"{PREFIX}managed"
POD_GROUP = f"{PREFIX}pod-group-name"
POD_GROUP_SIZE = f"{PREFIX}pod-group-total-count"
RETRIABLE = f"{PREFIX}retriable-in-group"
SUSPENDED_BY = f"{PREFIX}pod-suspending-parent"
POD_SET = f"{PREFIX}podset"
"""The label of Pods that were started with quota. Its value is their pod set."""
STARTED_FOR = f"{PREFIX}workload"
"""The annotation of such Pods with their Workload."""
POD_SET_NOTES = f"{PREFIX}podset-"
"""The prefix of the annotations that say how a pod set is placed in a topology."""
TOPOLOGY_REQUESTS = tuple(
    f"{POD_SET_NOTES}{how}"
    for how in (
        "required-topology",
        "preferred-topology",
        "unconstrained-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
    )
)
"""The annotations that request a topology, whatever their value."""
INDEX_OFFSET = f"{PREFIX}pod-index-offset"
"""The annotation with the number that is subtracted from the index of a Pod to get its rank."""

BATCH_JOB = batch.JOB.kind
STATEFUL_SET = replicated.STATEFUL_SET.kind
LEADER_WORKER_SET = replicated.LEADER_WORKER_SET.kind
RAY = tuple(each.kind for each in ray.FRAMEWORKS)
_VOLCANO_QUEUES = {
    "sparkoperator.k8s.io": ("spec", "batchSchedulerOptions", "queue"),
    "kubeflow.org": ("spec", "runPolicy", "schedulingPolicy", "queue"),
    "ray.io": ("metadata", "labels", "volcano.sh/queue-name"),
}
"""Where the operators of these API groups read the queue of the PodGroups that they create. Source: spark-operator v2,
mpi-operator v2beta1 and the training-operator, KubeRay."""
KINDS: Mapping[GroupKind, Framework] = {each.kind: each for each in FRAMEWORKS.values() if each.kind != POD}
"""All kinds but the Pod, which has a reader of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob(KubeObject):
    """A job of one of these kinds.

    `labels`, `annotations`: those for Kueue, as written.
    `running`: it is not suspended; for a kind that cannot be suspended, it has ready pods.
    `ended`: it succeeded or failed, or is being deleted.
    `parallelism`, `completions`, `indexed`: fields of a batch Job.
    `replacement`: its podReplacementPolicy.
    `templates`: its pod templates as the three projects read them.
    `volcano_queue`: the field that names the Volcano queue of the PodGroup that its operator creates, and that queue.
    `pod_sets`: the pods of the job, if the templates of its kind can be read.
    `owner`: the kind and name of its controller, if Kueue queues that kind; Kueue then queues the controller instead.
    `controller`: its controller reference, of any kind.
    `uid`: its own UID.
    `left_out`: whether it is never queued, whatever its labels say.
    `selector`: selects the Pods that its controller counts; None if it has none.
    `replicas`, `present`: spec.replicas and status.replicas.
    `group_size`: the number of Pods that are admitted together, if its Pods are queued; 0 if each is admitted alone.
    `odd`: amounts that are probably mistakes; see `odd_jobs`.
    """

    framework: Framework
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    running: bool = False
    ended: bool = False
    parallelism: int | None = None
    completions: int | None = None
    indexed: bool = False
    replacement: str = ""
    templates: tuple[WrittenTemplate, ...] = ()
    volcano_queue: tuple[str, str] = ("", "")
    pod_sets: tuple[PodsAt, ...] = ()
    owner: str = ""
    controller: ControllerReference | None = None
    uid: str = ""
    left_out: bool = False
    selector: LabelSelector | None = None
    ray: Ray | None = None
    replicas: int = 1
    present: int = 0
    group_size: int = 0
    odd: tuple[OddAmount, ...] = ()

    @property
    def is_work(self) -> bool:
        return True

    @property
    def queue(self) -> str:
        """The name of the LocalQueue in its label; empty if it has none, or if the job is never queued."""
        return "" if self.left_out else self.labels.get(QUEUE_NAME, "")


def job_reader(framework: Framework) -> Callable[[Manifest], QueuedJob]:
    kind = framework.kind

    def read(manifest: Manifest) -> QueuedJob:
        meta, spec = metadata(manifest), mapping(manifest.get("spec"))
        over = isinstance(framework, JobShape) and framework.ended(manifest)
        pod_sets = tuple(framework.pods_of(manifest))
        of_spark = tuple(_of_spark(spec)) if kind == SPARK_APPLICATION else ()
        return QueuedJob(
            ref=identity(manifest, kind, namespaced=True),
            api_version=str(manifest.get("apiVersion")),
            framework=framework,
            labels=_ours(meta.get("labels")),
            annotations=_ours(meta.get("annotations")),
            running=_runs(manifest, framework),
            ended=bool(meta.get("deletionTimestamp")) or over,
            parallelism=integer(spec.get("parallelism")),
            completions=integer(spec.get("completions")),
            indexed=spec.get("completionMode") == "Indexed",
            replacement=text(spec.get("podReplacementPolicy")) or "",
            templates=of_spark or tuple(pod_template(each.at, each.template) for each in pod_sets),
            volcano_queue=_volcano_queue(kind, manifest),
            pod_sets=pod_sets,
            owner=managed_owner(meta),
            controller=controller_of(meta),
            uid=text(meta.get("uid")) or "",
            left_out=framework.leaves_out(manifest),
            selector=read_label_selector(spec.get("selector")),
            ray=read_ray(kind.kind, manifest) if kind in RAY else None,
            replicas=1 if (replicas := integer(spec.get("replicas"))) is None else replicas,
            present=integer(mapping(manifest.get("status")).get("replicas")) or 0,
            group_size=max(0, framework.group(manifest)) if framework.group is not None else 0,
            odd=tuple(odd_in_job(kind, manifest)),
        )

    return read


def min_parallelism(annotations: Mapping[str, str]) -> int | None:
    """The job-min-parallelism of a batch Job; None if it is missing, negative or not an integer."""
    number = read_integer(annotations.get(MIN_PARALLELISM, ""), 64)
    return number if number is not None and number >= 0 else None


def managed_owner(meta: Mapping[str, Any]) -> str:
    """The kind and name of an object's controller if that is a job of these kinds; else empty."""
    found = controller_of(meta)
    return f"{found.kind.kind} {found.name}".strip() if found and found.kind in KINDS else ""


def identifier(labels: Mapping[str, str], annotations: Mapping[str, str], key: str, *, annotated: bool = True) -> str:
    """The pod group of a Pod, or the prebuilt Workload of a job: the annotation `key`, or else the label `key`.

    `annotated`: whether the gate `IDENTIFIERS` is on. If it is off, only the label counts, except for the name of a
    Workload that is too long for a label. Source: Kueue v0.19.
    """
    note, label = annotations.get(key, ""), labels.get(key, "")
    if annotated:
        return note or label
    return label or (note if key == PREBUILT and len(note) > _LONGEST_LABEL else "")


def prebuilt_of(meta: Mapping[str, Any], *, annotated: bool = True) -> str:
    """The name of the prebuilt Workload of a job; empty for none. `annotated`: see `identifier`."""
    return identifier(texts(meta.get("labels")), texts(meta.get("annotations")), PREBUILT, annotated=annotated)


READERS = {kind: job_reader(framework) for kind, framework in KINDS.items()}


def _of_spark(spec: Manifest) -> Iterator[WrittenTemplate]:
    """The driver and the executors of a Spark application. Besides a pod template they have labels of their own, also
    in sparkConf."""
    conf = texts(spec.get("sparkConf"))
    for role in ("driver", "executor"):
        place, pods, own = f"spec.{role}", mapping(spec.get(role)), f"spark.kubernetes.{role}"
        named = {"spec.batchScheduler": text(spec.get("batchScheduler"))}  # the Spark operator gives it to both
        named[f"{place}.schedulerName"] = text(pods.get("schedulerName"))
        for key in (f"{own}.scheduler.name", "spark.kubernetes.scheduler.name"):
            named[fields.join("spec.sparkConf", key)] = conf.get(key)
        its_field = next((field for field, name in named.items() if name), f"{place}.schedulerName")
        yield written_template(place, pods, named[its_field], its_field)
        yield pod_template(f"{place}.template", mapping(pods.get("template")))
        in_conf = {f"{part}s": _after(f"{own}.{part}.", conf) for part in ("label", "annotation")}
        yield written_template(own, in_conf, named[its_field], its_field, conf=own)


def _after(beginning: str, conf: Mapping[str, str]) -> dict[str, str]:
    """The values of the keys with this beginning, by the rest of the key."""
    return {key.removeprefix(beginning): value for key, value in conf.items() if key.startswith(beginning)}


def _volcano_queue(kind: GroupKind, manifest: Manifest) -> tuple[str, str]:
    path = _VOLCANO_QUEUES.get(kind.group)
    if path is None or (kind == SPARK_APPLICATION and at(manifest, "spec.batchScheduler") != VOLCANO_SCHEDULER):
        return "", ""
    return fields.join("", *path), text(inside(manifest, path[:-1]).get(path[-1])) or ""


def _runs(manifest: Manifest, framework: Framework) -> bool:
    if framework.suspend is None:
        return bool(integer(at(manifest, "status.readyReplicas")))
    return at(manifest, framework.suspend.path) != framework.suspend.on


def _ours(pairs: object) -> dict[str, str]:
    """The pairs whose keys begin like Kueue's prefix, so that rules also find keys with a misspelt prefix."""
    return {key: value for key, value in texts(pairs).items() if key.startswith("kueue.")}
