"""The paths of a kind of object in the API."""

from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from cluster.errors import NotFound
from policies.model.objects import parted

Manifest: TypeAlias = dict[str, Any]
"""A Kubernetes object as a dict, as in requests to the API server and its responses."""


@dataclass(frozen=True)
class Resource:
    """One kind in one version.

    `group`: `""` for the core group. `plural`: the name of the kind in paths, such as `pods`.
    `owners`: lists and watches keep `metadata.managedFields`, which say who wrote which field.
    """

    group: str
    version: str
    plural: str
    namespaced: bool
    owners: bool = False

    @property
    def root(self) -> str:
        """The path of the group and version, where discovery lists its kinds."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str | None = None) -> str:
        """The path of all objects, or of those in one namespace."""
        if namespace is None:
            return f"{self.root}/{self.plural}"
        if not self.namespaced:
            raise ValueError(f"{self} are cluster-scoped; they have no namespace {namespace!r}")
        return f"{self.root}/namespaces/{_segment(namespace)}/{self.plural}"

    def item(self, name: str, namespace: str | None = None, *, subresource: str | None = None) -> str:
        """The path of one object, or of its subresource (`status`)."""
        if self.namespaced and namespace is None:
            raise ValueError(f"{self} are namespaced; name the namespace of {name!r}")
        path = f"{self.collection(namespace)}/{_segment(name)}"
        return f"{path}/{_segment(subresource)}" if subresource else path

    def path(self, key: str) -> str:
        """The path of the object with the key `namespace/name`, or `name` for a cluster-scoped object."""
        namespace, name = parted(key)
        return self.item(name, namespace or None)

    def __str__(self) -> str:
        return ".".join(part for part in (self.plural, self.version, self.group) if part)


def _segment(name: str) -> str:
    """A name as one path segment. Raises NotFound for a name that no object has, since it could lead to another path.

    The API server does not check the names in owner references. Source: Kubernetes, IsValidPathSegmentName.
    """
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise NotFound(404, "NotFound", f"{name!r} is not a valid object name")
    return quote(name, safe="")


NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "configmaps", namespaced=True)
NODES = Resource("", "v1", "nodes", namespaced=False)
PODS = Resource("", "v1", "pods", namespaced=True)
EVENTS = Resource("", "v1", "events", namespaced=True)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
JOBS = Resource("batch", "v1", "jobs", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "deployments", namespaced=True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", namespaced=True)
SERVICES = Resource("", "v1", "services", namespaced=True)
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", namespaced=True)
SECRETS = Resource("", "v1", "secrets", namespaced=True)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", namespaced=False
)
MUTATING_WEBHOOKS = Resource("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", namespaced=False)
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices", namespaced=False)
CUSTOM_RESOURCE_DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)
