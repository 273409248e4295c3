"""The fields of ProvisioningRequestConfig, ProvisioningRequest and PodTemplate that decisions depend on.

Source: Kueue v0.19, apis/kueue/v1beta2/provisioningrequestconfig_types.go; autoscaling.x-k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.resource import Resource
from policies.dialects.kueue_kinds import GROUP, PROVISIONING_REQUEST_CONFIG
from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from reconciler.objects.watched import VERSION, WatchedKind
from scheduling.objects.reading import conditions
from scheduling.objects.workload import Condition

AUTOSCALING = "autoscaling.x-k8s.io"
EVICTIONS = "quotree.dev/evictions"
"""The annotation with the workload's number of evictions when the object was created. If the number has changed, the
nodes of the object may be in use by other workloads. Objects that Kueue created have no such annotation."""


@dataclass(frozen=True, slots=True)
class RetryStrategy:
    """How failed requests are retried.

    `limit`: the number of retries.
    `base`, `most`: the first and the longest delay in seconds. Each delay is twice the one before.
    """

    limit: int = 3
    base: int = 60
    most: int = 1800

    def wait(self, retries: int) -> int:
        return min(self.base << min(retries, 31), self.most)


@dataclass(frozen=True, slots=True)
class ProvisioningConfig:
    """The fields of a ProvisioningRequestConfig.

    `name`: its name.
    `class_name`, `parameters`: copied to the request.
    `managed`: pod sets that request none of these resources need no new nodes; empty if all pod sets need some.
    `backoff`: how failed requests are retried.
    `selectors`: pairs of a node label and the detail of the request that has its value.
    `merge`: its podSetMergePolicy.
    """

    name: str
    class_name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    managed: frozenset[str] = frozenset()
    backoff: RetryStrategy = RetryStrategy()
    selectors: tuple[tuple[str, str], ...] = ()
    merge: str = ""


@dataclass(frozen=True, slots=True)
class Controlled:
    """An object and its controller.

    `owner_kind`, `owner_name`, `owner`: the kind, name and uid of the controller; empty for none.
    `evictions`: the annotation EVICTIONS.
    """

    namespace: str
    name: str
    uid: str
    version: str
    deleting: bool
    owner_kind: str
    owner_name: str
    owner: str
    evictions: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    """A ProvisioningRequest.

    `meta`: the object and its controller.
    `class_name`, `parameters`: those of its spec.
    `templates`: the names of its PodTemplates.
    `details`: what its class reports about the new nodes.
    """

    meta: Controlled
    class_name: str
    parameters: Mapping[str, str]
    templates: tuple[str, ...]
    conditions: Mapping[str, Condition]
    details: Mapping[str, str]

    def holding(self, kind: str) -> Condition | None:
        found = self.conditions.get(kind)
        return found if found is not None and found.status == "True" else None


def read_provisioning_config(manifest: Manifest) -> ProvisioningConfig:
    spec = mapping(manifest.get("spec"))
    selectors = map(mapping, listing(mapping(spec.get("podSetUpdates")).get("nodeSelector")))
    return ProvisioningConfig(
        text(metadata(manifest).get("name")) or "",
        text(spec.get("provisioningClassName")) or "",
        texts(spec.get("parameters")),
        frozenset(filter(None, map(text, listing(spec.get("managedResources"))))),
        _backoff(mapping(spec.get("retryStrategy"))),
        tuple((str(each.get("key")), str(each.get("valueFromProvisioningClassDetail"))) for each in selectors),
        text(spec.get("podSetMergePolicy")) or "",
    )


def _backoff(strategy: Mapping[str, object]) -> RetryStrategy:
    """Read the backoff. Null counts as absent."""
    written = (strategy.get(key) for key in ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"))
    usual = RetryStrategy()
    limit, base, most = (max(0, value) if isinstance(value, int) else None for value in written)
    return RetryStrategy(
        usual.limit if limit is None else limit,
        usual.base if base is None else base,
        usual.most if most is None else most,
    )


def read_provisioning_request(manifest: Manifest) -> ProvisioningRequest:
    spec, status = mapping(manifest.get("spec")), mapping(manifest.get("status"))
    entries = map(mapping, listing(spec.get("podSets")))
    return ProvisioningRequest(
        read_controlled(manifest),
        text(spec.get("provisioningClassName")) or "",
        texts(spec.get("parameters")),
        tuple(text(mapping(each.get("podTemplateRef")).get("name")) or "" for each in entries),
        conditions(status.get("conditions")),
        texts(status.get("provisioningClassDetails")),
    )


def read_controlled(manifest: Manifest) -> Controlled:
    meta = metadata(manifest)
    owner = controller_of(meta)
    namespace, name, uid, version = (
        text(meta.get(key)) or "" for key in ("namespace", "name", "uid", "resourceVersion")
    )
    kind, owner_name, owner_uid = (owner.kind.kind, owner.name, owner.uid) if owner is not None else ("", "", "")
    deleting, evictions = bool(meta.get("deletionTimestamp")), texts(meta.get("annotations")).get(EVICTIONS, "")
    return Controlled(namespace, name, uid, version, deleting, kind, owner_name, owner_uid, evictions)


CONFIG_RESOURCE = Resource(GROUP, VERSION, "provisioningrequestconfigs", namespaced=False)
REQUEST_RESOURCE = Resource(AUTOSCALING, "v1", "provisioningrequests", namespaced=True)
TEMPLATE_RESOURCE = Resource("", "v1", "podtemplates", namespaced=True)
CONFIGS: WatchedKind[ProvisioningConfig] = WatchedKind(
    PROVISIONING_REQUEST_CONFIG.kind, CONFIG_RESOURCE, read_provisioning_config
)
REQUESTS: WatchedKind[ProvisioningRequest] = WatchedKind(
    "ProvisioningRequest", REQUEST_RESOURCE, read_provisioning_request
)
TEMPLATES: WatchedKind[Controlled] = WatchedKind("PodTemplate", TEMPLATE_RESOURCE, read_controlled)
