"""Workloads that create Pods, as YuniKorn's admission controller reads them: their pod templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from policies.dialects.core import ours
from policies.dialects.kueue_owners import controller_of
from policies.dialects.odd_amounts import OddAmount, odd_in_pod
from policies.dialects.reading import Manifest, identity, mapping, metadata, text, texts
from policies.model import fields
from policies.model.objects import GroupKind, KubeObject

TEMPLATES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"), ("spec", "template")),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""The kinds into which YuniKorn writes the user, each with the path of its pod template."""

WORKLOAD_GROUPS = frozenset(["apps", "batch"])

CRON_JOB = GroupKind("batch", "CronJob")
_JOB = ("spec", "jobTemplate")
JOB_LABELS = fields.join("", *_JOB, "metadata", "labels")
"""The path of the labels that a CronJob gives to its Jobs."""

KINDS = tuple(GroupKind("batch" if kind.endswith("Job") else "apps", kind) for kind in TEMPLATES)


@dataclass(frozen=True, slots=True)
class WrittenTemplate:
    """A pod template.

    `at`: its path.
    `labels`, `annotations`: those that the three projects read, as written.
    """

    at: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    scheduler_name: str = "default-scheduler"


NO_TEMPLATE = WrittenTemplate()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWork(KubeObject):
    """A workload of a kind that no other dialect reads.

    `labels`: those that the three projects read, as written.
    `job_labels`: the labels in a CronJob's jobTemplate.
    `odd`: amounts that are probably mistakes.
    """

    template: WrittenTemplate
    labels: Mapping[str, str] = field(default_factory=dict)
    job_labels: Mapping[str, str] = field(default_factory=dict)
    odd: tuple[OddAmount, ...] = ()

    @property
    def is_work(self) -> bool:
        return True


def pod_template(kind: str, manifest: Manifest) -> WrittenTemplate:
    """The pod template of the workload; empty for other kinds."""
    path = TEMPLATES.get(kind)
    if path is None:
        return NO_TEMPLATE
    template = inside(manifest, path)
    return WrittenTemplate(
        fields.join("", *path),
        ours(texts(metadata(template).get("labels"))),
        ours(texts(metadata(template).get("annotations"))),
        text(mapping(template.get("spec")).get("schedulerName")) or NO_TEMPLATE.scheduler_name,
    )


def inside(manifest: Manifest, path: tuple[str, ...]) -> Mapping[str, object]:
    for step in path:
        manifest = mapping(manifest.get(step))
    return manifest


def _reader(kind: GroupKind) -> Callable[[Manifest], OtherWork]:
    path = (*TEMPLATES[kind.kind], "spec")
    at = fields.join("", *path)

    def read(manifest: Manifest) -> OtherWork:
        return OtherWork(
            ref=identity(manifest, kind, namespaced=True),
            api_version=str(manifest.get("apiVersion")),
            template=pod_template(kind.kind, manifest),
            labels=ours(texts(metadata(manifest).get("labels"))),
            job_labels=ours(texts(metadata(inside(manifest, _JOB)).get("labels"))),
            odd=() if controller_of(metadata(manifest)) else tuple(odd_in_pod(at, inside(manifest, path))),
        )

    return read


READERS = {kind: _reader(kind) for kind in KINDS}
