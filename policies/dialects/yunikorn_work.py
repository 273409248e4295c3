"""Pod templates with what the three projects read in them, and the workloads into which YuniKorn writes the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    """A pod template, or a Pod, which is its own template.

    `at`: the path of its metadata.
    `labels`, `annotations`: those that the three projects read, as written.
    `scheduler_field`: the path of the name of its scheduler.
    `conf`: what all its keys in the sparkConf of a Spark application begin with; empty for a template with metadata.
    """

    at: str = "metadata"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    scheduler_name: str = "default-scheduler"
    scheduler_field: str = "spec.schedulerName"
    conf: str = ""

    def place(self, part: str) -> tuple[str, str]:
        """The path of its labels or annotations, and what their keys begin with there."""
        if self.conf:
            return "spec.sparkConf", f"{self.conf}.{part.removesuffix('s')}."
        return fields.join(self.at, part), ""

    def field(self, part: str, key: str) -> str:
        """The path of a label or an annotation."""
        where, beginning = self.place(part)
        return fields.join(where, f"{beginning}{key}")


NO_TEMPLATE = WrittenTemplate()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWork(KubeObject):
    """A workload of a kind that no other dialect reads.

    `labels`: those that the three projects read, as written.
    `job_labels`: the labels in a CronJob's jobTemplate.
    `odd`: amounts that are probably mistakes.
    """

    templates: tuple[WrittenTemplate, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    job_labels: Mapping[str, str] = field(default_factory=dict)
    odd: tuple[OddAmount, ...] = ()

    @property
    def is_work(self) -> bool:
        return True


def pod_template(at: str, template: Manifest) -> WrittenTemplate:
    """The pod template at this path."""
    scheduler = text(mapping(template.get("spec")).get("schedulerName"))
    field = fields.join(at, "spec", "schedulerName")
    return written_template(fields.join(at, "metadata"), metadata(template), scheduler, field)


def written_template(
    at: str, meta: Manifest, scheduler: str | None, scheduler_field: str, conf: str = ""
) -> WrittenTemplate:
    labels, annotations = (ours(texts(meta.get(part))) for part in ("labels", "annotations"))
    return WrittenTemplate(at, labels, annotations, scheduler or NO_TEMPLATE.scheduler_name, scheduler_field, conf)


def inside(manifest: Manifest, path: Iterable[str]) -> Mapping[str, object]:
    for step in path:
        manifest = mapping(manifest.get(step))
    return manifest


def _reader(kind: GroupKind) -> Callable[[Manifest], OtherWork]:
    path = TEMPLATES[kind.kind]
    at = fields.join("", *path)

    def read(manifest: Manifest) -> OtherWork:
        template = inside(manifest, path)
        owned = controller_of(metadata(manifest))
        return OtherWork(
            ref=identity(manifest, kind, namespaced=True),
            api_version=str(manifest.get("apiVersion")),
            templates=(pod_template(at, template),),
            labels=ours(texts(metadata(manifest).get("labels"))),
            job_labels=ours(texts(metadata(inside(manifest, _JOB)).get("labels"))),
            odd=() if owned else tuple(odd_in_pod(f"{at}.spec", mapping(template.get("spec")))),
        )

    return read


READERS = {kind: _reader(kind) for kind in KINDS}
