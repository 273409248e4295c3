"""Kubernetes' own kinds that carry queue names and quota: Namespace and Pod.

Volcano and YuniKorn both use their annotations and labels. The dialect of each project interprets its own ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.dialects.kueue_owners import controller_of
from policies.dialects.odd_amounts import OddAmount, odd_in_pod
from policies.dialects.pod_reading import gates_in, node_in
from policies.dialects.reading import Manifest, ManifestReader, identity, mapping, metadata, text
from policies.model.forest import Forest
from policies.model.objects import Attached, GroupKind, KubeObject, Ref, SubtreeShare

NAMESPACE = GroupKind("", "Namespace")
POD = GroupKind("", "Pod")
NODE = GroupKind("", "Node")
CONFIG_MAP = GroupKind("", "ConfigMap")

VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"
VOLCANO_SCHEDULER = "volcano"
YUNIKORN = "yunikorn.apache.org/"
APP_ID = YUNIKORN + "app-id"
YUNIKORN_QUEUE = YUNIKORN + "queue"
APPLICATION = GroupKind("yunikorn.apache.org", "Application")
SUBMISSION = GroupKind("yunikorn.apache.org", "Submission")
UNFINISHED = "-uniqueautogen"
"""The end of an application id that YuniKorn's scheduler completes with the uid of the Pod."""

_OURS = ("scheduling.volcano.sh/", "scheduling.k8s.io/", "volcano.sh/", "yunikorn.", "kueue.", "quotree.dev/")
_BARE_LABELS = ("queue", "applicationId", "spark-app-selector", "app")


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace(KubeObject):
    """A Namespace.

    `annotations`: those under the prefixes of the three projects, as written.
    `labels`: all labels.
    `parent_share`: the YuniKorn queue that it names as its parent, and its share in that queue.
    """

    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    parent_share: tuple[Ref, SubtreeShare] | None = None

    def group_share(self) -> tuple[Ref, SubtreeShare] | None:
        return self.parent_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod(Attached):
    """A Pod.

    `queue`: the Volcano queue in its annotation, for a Pod of Volcano's scheduler.
    `annotations`, `labels`: those that the three projects read, as written.
    `asks`: its requests as YuniKorn counts them, in YuniKorn's units; empty for a Pod of another scheduler.
    `owner`: the job that controls it, if Kueue manages jobs of that kind; else empty.
    `marks`, `sized`, `ownership`: the results of `pod_marks`, `sized`, `ownership` of `policies.dialects.kueue_pods`.
    `gates`: its scheduling gates.
    `bound`: whether it has a node.
    `odd`: amounts that are probably mistakes; empty for a Pod that a controller made.
    """

    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    scheduler_name: str
    asks: Mapping[str, int] = field(default_factory=dict)
    owner: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)
    sized: Mapping[str, Any] = field(default_factory=dict)
    ownership: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[str, ...] = ()
    bound: bool = False
    odd: tuple[OddAmount, ...] = ()

    @property
    def application(self) -> Ref | None:
        """The YuniKorn application that the pod names; None if the scheduler generates the id or does not schedule
        the pod.

        An application is not an API object: it exists as long as pods name it.
        """
        found = self.application_id
        if self.scheduler_name != "yunikorn" or not found or found.endswith(UNFINISHED):
            return None
        return Ref(*APPLICATION, "", found)

    @property
    def application_id(self) -> str:
        """The id of its YuniKorn application as written; empty for none."""
        found = self.labels.get(APP_ID) or self.annotations.get(APP_ID)
        return found or self.labels.get("applicationId") or self.labels.get("spark-app-selector") or ""

    def uses(self) -> frozenset[Ref]:
        """Its application, and its application within its namespace: two numbers of users compare all with some."""
        application = self.application
        if application is None:
            return frozenset()
        return frozenset([application, application._replace(namespace=self.ref.namespace)])

    def group_share(self) -> tuple[Ref, SubtreeShare] | None:
        """A share of one Pod. YuniKorn treats the Pods of a namespace that request the same queue alike, so they count
        together."""
        if self.scheduler_name != "yunikorn":
            return None
        return Ref(*SUBMISSION, self.ref.namespace, self.yunikorn_queue or ""), SubtreeShare(nominal={"pods": 1})

    @property
    def yunikorn_queue(self) -> str | None:
        """The queue of YuniKorn that the pod requests; None leaves it to the placement rules."""
        return (
            self.labels.get(YUNIKORN_QUEUE) or self.annotations.get(YUNIKORN_QUEUE) or self.labels.get("queue") or None
        )


def namespace_in(forest: Forest, name: str) -> Namespace | None:
    found = forest.get(NAMESPACE.named(name))
    return found if isinstance(found, Namespace) else None


def read_namespace(manifest: Manifest) -> Namespace:
    meta, reader = metadata(manifest), ManifestReader(manifest)
    return Namespace(
        ref=identity(manifest, NAMESPACE, namespaced=False),
        api_version="v1",
        annotations=ours(reader.texts(meta.get("annotations"), "metadata.annotations")),
        labels=reader.texts(meta.get("labels"), "metadata.labels"),
        defects=reader.defects(),
    )


def read_pod(manifest: Manifest) -> Pod:
    meta, spec, reader = metadata(manifest), mapping(manifest.get("spec")), ManifestReader(manifest)
    annotations = ours(reader.texts(meta.get("annotations"), "metadata.annotations"))
    scheduler = text(spec.get("schedulerName")) or "default-scheduler"
    queue = annotations.get(VOLCANO_QUEUE) if scheduler == VOLCANO_SCHEDULER else None
    return Pod(
        ref=identity(manifest, POD, namespaced=True),
        api_version="v1",
        queue=Ref("scheduling.volcano.sh", "Queue", "", queue) if queue else None,
        queue_field=f"metadata.annotations[{VOLCANO_QUEUE}]",
        annotations=annotations,
        labels=ours(reader.texts(meta.get("labels"), "metadata.labels")),
        scheduler_name=scheduler,
        gates=gates_in(spec),
        bound=node_in(spec) != "",
        odd=() if controller_of(meta) else tuple(odd_in_pod("spec", spec)),
        defects=reader.defects(),
    )


def ours(pairs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if key.startswith(_OURS) or key in _BARE_LABELS}
