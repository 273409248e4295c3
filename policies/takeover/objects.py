"""The objects that a plan reads, and the changes of them. Annotations keep the old values.

A step describes how objects must look, and is done when they look like this. So the state of the cluster is the only
record of a take-over, and a user who was interrupted can run the command again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from policies.configuration.kueue.gates import gates_of_flag
from policies.dialects.reading import Manifest, listing, mapping, metadata, replaced, text, texts
from policies.mutation.patching import merge_patch

REPLICAS_BEFORE = "quotree.dev/replicas-before"
CONVERSION_BEFORE = "quotree.dev/conversion-before"
CONFIGURATION_BEFORE = "quotree.dev/configuration-before"
SERVICES_BEFORE = "quotree.dev/api-services-before"
"""The annotations with the values from before the take-over, as JSON."""
TAKEN_FROM = "quotree.dev/configuration-taken-from"
"""The annotation of the reconciler's Pods with the digest of the configuration of Kueue that they were started with."""
KUEUES_API, OUR_API = "visibility.kueue.x-k8s.io", "visibility.quotree.dev"
"""The API groups that Kueue's manager and Quotree's reconciler serve, each by APIServices."""
LEASE = "c1f6bfd2.kueue.x-k8s.io"
"""The default name of the Lease of Kueue's manager."""


class ObjectRef(NamedTuple):
    """A reference to an object. `namespace`: empty for cluster-scoped kinds."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def ref_of(manifest: Manifest) -> ObjectRef:
    meta = metadata(manifest)
    return ObjectRef(str(manifest.get("kind")), text(meta.get("name")) or "", text(meta.get("namespace")) or "")


@dataclass(frozen=True, slots=True)
class ReleaseNames:
    """The names of the objects of an installation.

    `kueue`: the prefix of the names of Kueue's objects; with Helm, the full name of the release.
    """

    kueue_namespace: str = "kueue-system"
    kueue: str = "kueue"
    namespace: str = "quotree-system"

    @property
    def manager(self) -> ObjectRef:
        return ObjectRef("Deployment", f"{self.kueue}-controller-manager", self.kueue_namespace)

    @property
    def manager_configuration(self) -> ObjectRef:
        return ObjectRef("ConfigMap", f"{self.kueue}-manager-config", self.kueue_namespace)

    @property
    def manager_lease(self) -> ObjectRef:
        return ObjectRef("Lease", LEASE, self.kueue_namespace)

    @property
    def kueue_webhooks(self) -> tuple[ObjectRef, ObjectRef]:
        return (
            ObjectRef("MutatingWebhookConfiguration", f"{self.kueue}-mutating-webhook-configuration"),
            ObjectRef("ValidatingWebhookConfiguration", f"{self.kueue}-validating-webhook-configuration"),
        )

    @property
    def processes(self) -> dict[str, ObjectRef]:
        """The Deployments of Quotree, by the name of the process in `quotree serve`."""
        names = ("webhook", "reconciler", "audit", "dashboard")
        return {name: ObjectRef("Deployment", f"quotree-{name}", self.namespace) for name in names}

    @property
    def webhook(self) -> ObjectRef:
        return self.processes["webhook"]

    @property
    def reconciler(self) -> ObjectRef:
        return self.processes["reconciler"]

    @property
    def audit(self) -> ObjectRef:
        return self.processes["audit"]

    @property
    def dashboard(self) -> ObjectRef:
        return self.processes["dashboard"]

    def is_shard(self, ref: ObjectRef) -> bool:
        """Whether it is the Deployment of the reconciler of another shard than `default`."""
        one = self.reconciler
        return (ref.kind, ref.namespace) == (one.kind, one.namespace) and ref.name.startswith(f"{one.name}-")

    @property
    def reconciler_lease(self) -> ObjectRef:
        return ObjectRef("Lease", "quotree-reconciler", self.namespace)

    @property
    def audit_lease(self) -> ObjectRef:
        return ObjectRef("Lease", "quotree-audit", self.namespace)

    @property
    def configuration(self) -> ObjectRef:
        """The ConfigMap with the reconciler's configuration, in the form of Kueue's Configuration."""
        return ObjectRef("ConfigMap", "quotree-reconciler", self.namespace)

    @property
    def settings(self) -> ObjectRef:
        """Quotree's own configuration, which the webhook reads."""
        return ObjectRef("ConfigMap", "quotree-configuration", self.namespace)

    @property
    def mutating(self) -> ObjectRef:
        return ObjectRef("MutatingWebhookConfiguration", "quotree-mutate")

    @property
    def validating(self) -> ObjectRef:
        return ObjectRef("ValidatingWebhookConfiguration", "quotree-validate")

    @property
    def read(self) -> tuple[ObjectRef, ...]:
        """The objects that are read by name, without Leases."""
        ours = (self.webhook, self.reconciler, self.configuration, self.settings, self.mutating, self.validating)
        return (self.manager, self.manager_configuration, *self.kueue_webhooks, *ours)


@dataclass(frozen=True, slots=True)
class FoundCluster:
    """The state of a cluster.

    `objects`: the objects that exist.
    `pods`: the number of Pods of each Deployment, including terminating ones.
    `lease_holders`: the holder of each held Lease.
    `groups`: the API groups that are served.
    `other_clusters`: whether there are MultiKueueClusters.
    """

    objects: Mapping[ObjectRef, Manifest]
    pods: Mapping[ObjectRef, int] = field(default_factory=dict)
    lease_holders: Mapping[ObjectRef, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    other_clusters: bool = False

    def of_kind(self, kind: str) -> list[Manifest]:
        return [self.objects[ref] for ref in sorted(self.objects) if ref.kind == kind]

    def api_services(self, group: str) -> list[Manifest]:
        return [each for each in self.of_kind("APIService") if mapping(each.get("spec")).get("group") == group]

    @property
    def definitions(self) -> list[Manifest]:
        return self.of_kind("CustomResourceDefinition")


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """A write to an object.

    `body`: the object to create, the merge patch for an object, or None to delete it.
    `version`: the resource version that the object must still have; empty for a creation.
    `subresource`: `status` to patch the status; else empty.
    """

    ref: ObjectRef
    body: Mapping[str, Any] | None
    version: str = ""
    subresource: str = ""


def version_of(manifest: Manifest) -> str:
    return text(metadata(manifest).get("resourceVersion")) or ""


def deletion(manifest: Manifest) -> PlannedWrite:
    return PlannedWrite(ref_of(manifest), None, version_of(manifest))


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan. It is done if it has neither `writes` nor `waits`.

    `writes`: the writes that are left.
    `waits`: what must happen after the writes; empty for nothing.
    `settles`: whether to wait until all API servers use the new state before the next step.
    """

    title: str
    writes: tuple[PlannedWrite, ...] = ()
    waits: str = ""
    settles: bool = False

    @property
    def done(self) -> bool:
        return not self.writes and not self.waits


@dataclass(frozen=True, slots=True)
class TakeoverPlan:
    """A plan.

    `refusals`: why it must not be started or continued.
    `notes`: further information for the user.
    """

    steps: tuple[PlanStep, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def next(self) -> PlanStep | None:
        return next((step for step in self.steps if not step.done), None)


# -- changes -----------------------------------------------------------------------------------------------------------


def updates(found: FoundCluster, wanted: Iterable[Manifest]) -> tuple[PlannedWrite, ...]:
    """The writes that make the objects look like this; none for objects that do already."""
    return tuple(_updates(found, wanted))


def _updates(found: FoundCluster, wanted: Iterable[Manifest]) -> Iterator[PlannedWrite]:
    for manifest in wanted:
        ref = ref_of(manifest)
        present = found.objects.get(ref)
        if present is None:
            yield PlannedWrite(ref, manifest)
        elif body := merge_patch(present, manifest):
            yield PlannedWrite(ref, body, version_of(present))


def noted(manifest: Manifest, key: str, value: object) -> dict[str, Any]:
    """A copy with the value as JSON in an annotation. None removes the annotation."""
    return annotated(manifest, key, None if value is None else json.dumps(value, sort_keys=True))


def annotated(manifest: Manifest, key: str, value: str | None) -> dict[str, Any]:
    """A copy with this annotation. None removes it."""
    made = deepcopy(dict(manifest))
    meta = made.setdefault("metadata", {})
    notes = {name: kept for name, kept in (meta.get("annotations") or {}).items() if name != key}
    if value is not None:
        notes[key] = value
    meta["annotations"] = notes
    if not notes:
        del meta["annotations"]
    return made


def remembered(manifest: Manifest | None, key: str) -> Any:
    """The value that `noted` has written; None if it is absent or cannot be read."""
    written = texts(metadata(manifest or {}).get("annotations")).get(key)
    try:
        return json.loads(written) if written else None
    except (ValueError, RecursionError):
        return None


# -- Deployments -------------------------------------------------------------------------------------------------------


def pod_spec(deployment: Manifest) -> Mapping[str, Any]:
    return mapping(_template(deployment).get("spec"))


def pod_annotations(deployment: Manifest) -> dict[str, str]:
    return texts(mapping(_template(deployment).get("metadata")).get("annotations"))


def _template(deployment: Manifest) -> Mapping[str, Any]:
    return mapping(mapping(deployment.get("spec")).get("template"))


def arguments(deployment: Manifest, container: str = "") -> list[str]:
    """The commands and arguments of the containers, or only of the one with this name."""
    containers = map(mapping, listing(pod_spec(deployment).get("containers")))
    named = (each for each in containers if not container or each.get("name") == container)
    return [str(word) for each in named for key in ("command", "args") for word in listing(each.get(key))]


def options(deployment: Manifest, name: str, container: str = "") -> list[str]:
    """All values of a repeatable option, as `--name=value` or as two arguments. Go accepts one dash as well."""
    words = arguments(deployment, container)
    pairs = ((*each.partition("="), following) for each, following in zip(words, [*words[1:], ""], strict=False))
    return [value if equals else following for key, equals, value, following in pairs if key in (name, name[1:])]


def follows_workers(reconciler: Manifest) -> bool:
    """Whether the reconciler dispatches work to other clusters. The last flag counts."""
    return gates_of_flag(",".join(options(reconciler, "--feature-gates"))).get("MultiKueue", True)


def replicas(deployment: Manifest) -> int:
    wanted = mapping(deployment.get("spec")).get("replicas")
    return wanted if isinstance(wanted, int) else 1


def stopped(deployment: Manifest) -> dict[str, Any]:
    """The Deployment with 0 replicas. An annotation keeps the first number, even if a user has started it since."""
    present, known = replicas(deployment), remembered(deployment, REPLICAS_BEFORE)
    before = known if isinstance(known, int) and known > 0 else present
    return replaced(noted(deployment, REPLICAS_BEFORE, before), "spec.replicas", 0) if present else dict(deployment)


def started(deployment: Manifest, default: int) -> dict[str, Any]:
    """The Deployment with its former replicas. `default` applies if it is at 0 and has no record of them."""
    before = remembered(deployment, REPLICAS_BEFORE)
    wanted = replicas(deployment) or (before if isinstance(before, int) and before > 0 else default)
    return replaced(noted(deployment, REPLICAS_BEFORE, None), "spec.replicas", wanted)


def set_aside(deployment: Manifest) -> bool:
    """Whether a take-over, or its reversal, has scaled the Deployment to 0."""
    return not replicas(deployment) and remembered(deployment, REPLICAS_BEFORE) is not None


def unready(deployment: Manifest) -> str:
    """Why the Deployment is not ready; empty if it is."""
    status, wanted = mapping(deployment.get("status")), replicas(deployment)
    if (status.get("observedGeneration") or 0) < (metadata(deployment).get("generation") or 0):
        return "its last change has not been taken up yet"
    new, available = status.get("updatedReplicas") or 0, status.get("availableReplicas") or 0
    if new < wanted or available < wanted or (status.get("replicas") or 0) > wanted:
        return f"{min(new, available)} of {wanted} replicas are ready"
    return ""


def remaining_writer(found: FoundCluster, deployment: ObjectRef, lease: ObjectRef) -> str:
    """What may still write for a Deployment with 0 replicas; empty if nothing can."""
    if left := found.pods.get(deployment, 0):
        return f"{left} Pod{'s' * (left > 1)} of {deployment} to end"
    holder = found.lease_holders.get(lease)
    return f"{lease}, which {holder} holds, to be given up" if holder else ""


def manager_version(manager: Manifest) -> str:
    """The version of Kueue's manager, by the tag of its image, else by its label; empty if neither has one."""
    pod = pod_spec(manager)
    images = [
        text(each.get("image")) or ""
        for each in map(mapping, listing(pod.get("containers")))
        if each.get("name") == "manager"
    ]
    label = texts(metadata(manager).get("labels")).get("app.kubernetes.io/version", "")
    tags = (image.partition("@")[0].rpartition("/")[2].partition(":")[2] for image in images)
    known = (re.fullmatch(r"v?(\d+\.\d+(?:\.\d+)?)", each) for each in (*tags, label))
    return next((each[1] for each in known if each), "")
