"""The writes that the program makes, one frozen dataclass each; `cluster.apply` performs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cluster.resource import Resource
from policies.dialects.kueue_kinds import LABEL

INSTALLED_BY = {LABEL: "quotree"}
"""The label of our CustomResourceDefinitions. Those of Kueue do not have it and are not changed."""
WebhookKind = Literal["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]


@dataclass(frozen=True)
class ApplySecret:
    """Write `data` to a Secret by compare-and-swap.

    If `resource_version` is None, the Secret must not exist yet. Otherwise it must still have that version; if it was
    deleted, it is created again. In an existing Secret only the keys of `data` change; other keys, the type, labels and
    annotations stay.
    """

    namespace: str
    name: str
    data: Mapping[str, bytes] = field(repr=False)
    resource_version: str | None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SetCaBundle:
    """Make the API server trust `ca_bundle` (PEM) when it calls webhooks. The field manager owns only that field.

    `webhooks`: names of webhooks; None means all webhooks of the configuration. Unknown names are skipped.
    `resource_version`: if set, nothing is written unless the configuration still has this version.
    """

    kind: WebhookKind
    name: str
    ca_bundle: bytes
    webhooks: tuple[str, ...] | None = None
    resource_version: str = ""


@dataclass(frozen=True)
class SetConversionBundle:
    """Make the API server trust `ca_bundle` (PEM) when it calls the conversion webhook of a CustomResourceDefinition.

    The field manager owns only that field. Nothing is written if the definition has no label INSTALLED_BY, has no
    webhook, or no longer has `resource_version`, if that is set.
    """

    name: str
    ca_bundle: bytes
    resource_version: str = ""


@dataclass(frozen=True)
class SetApiServiceBundle:
    """Make the API server trust `ca_bundle` (PEM) when it forwards requests to an APIService.

    The field manager owns only that field. `resource_version`: if set, nothing is written unless the APIService still
    has this version.
    """

    name: str
    ca_bundle: bytes
    resource_version: str = ""


@dataclass(frozen=True)
class Create:
    """Create an object. It never overwrites an existing object of the same name."""

    resource: Resource
    body: Mapping[str, Any] = field(repr=False)
    manager: str

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str | None:
        namespace: str | None = self.body["metadata"].get("namespace")
        return namespace


@dataclass(frozen=True)
class Patch:
    """Merge `body` into an object that is still at `resource_version`; a value of None removes the field.

    `subresource` is `status` or None. Lists are replaced as a whole; this is safe because the version must match.
    `uid` instead of `resource_version`: merge into the object with this UID at any version, so that changes by others
    do not delay the write. A dry run stores nothing.
    """

    resource: Resource
    namespace: str | None
    name: str
    body: Mapping[str, Any] = field(repr=False)
    resource_version: str
    manager: str
    subresource: str | None = None
    uid: str = ""
    dry_run: bool = False


@dataclass(frozen=True)
class Apply(Patch):
    """The same change, sent as a server-side apply with force. It is never a dry run.

    `applied`: apiVersion, kind and all fields that the manager owns afterwards.
    `body`: the change as a merge patch. Fields that it removes are removed even if other managers own them.
    `ends`: another manager. If it owns one of the fields of `body` through patches or updates, it loses all ownership
    that it has through them.
    """

    applied: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ends: str = ""


@dataclass(frozen=True)
class Delete:
    """Delete an object. If `resource_version` or `uid` is set, the object must still have it.

    `background`: its dependents are deleted after it. `foreground`: its dependents are deleted before it. Neither: the
    default of its kind (the pods of a Job stay). `grace_seconds`: how long a Pod may take to end; None means the
    period that the Pod names.
    """

    resource: Resource
    namespace: str | None
    name: str
    resource_version: str = ""
    uid: str = ""
    background: bool = False
    foreground: bool = False
    grace_seconds: int | None = None

    @property
    def propagation(self) -> str | None:
        """The propagationPolicy of the API; None for the default of the kind."""
        return "Foreground" if self.foreground else "Background" if self.background else None


@dataclass(frozen=True)
class Evict(Delete):
    """Evict a Pod: the API server deletes it unless a PodDisruptionBudget forbids that."""


Action = ApplySecret | SetCaBundle | SetConversionBundle | SetApiServiceBundle | Create | Patch | Delete
