"""The writes that the program makes, one frozen dataclass each; `cluster.apply` performs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cluster.resource import Resource
from policies.dialects.kueue_kinds import LABEL

INSTALLED_BY = {LABEL: "quotree"}
"""The label of our CustomResourceDefinitions. Kueue's lack it and are not changed."""
WebhookKind = Literal["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]


@dataclass(frozen=True)
class ApplySecret:
    """Write `data` to a Secret by compare-and-swap.

    With `resource_version` None the Secret must not exist yet. Else it must still have that version, or be gone; then
    it is created again. In an existing Secret only these keys change; other keys, its type, labels and annotations
    stay.
    """

    namespace: str
    name: str
    data: Mapping[str, bytes] = field(repr=False)
    resource_version: str | None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SetCaBundle:
    """Make the API server trust `ca_bundle` (PEM) when it calls webhooks; owns only that field of each.

    `webhooks` None means all that the configuration has now; names that it lacks are skipped. If `resource_version` is
    set, only if the configuration still has that.
    """

    kind: WebhookKind
    name: str
    ca_bundle: bytes
    webhooks: tuple[str, ...] | None = None
    resource_version: str = ""


@dataclass(frozen=True)
class SetConversionBundle:
    """Make the API server trust `ca_bundle` (PEM) when it calls the conversion webhook of a CustomResourceDefinition.

    Owns only that field. A definition without the label INSTALLED_BY, or without a webhook, is not changed; nor is one
    that no longer has `resource_version`, if that is set.
    """

    name: str
    ca_bundle: bytes
    resource_version: str = ""


@dataclass(frozen=True)
class SetApiServiceBundle:
    """Make the API server trust `ca_bundle` (PEM) when it passes on what is asked of an APIService.

    Owns only that field. If `resource_version` is set, only if the APIService still has that.
    """

    name: str
    ca_bundle: bytes
    resource_version: str = ""


@dataclass(frozen=True)
class Create:
    """Create an object; never overwrites one of that name."""

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

    `subresource` is `status` or None. Lists are replaced as a whole, which the version makes safe. With `uid` in place
    of the version it is merged into that object whatever else became of it: nobody holds it up by other changes.
    A dry run stores nothing.
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
    `body`: the change as a merge patch. What it removes is removed although other managers own it.
    `ends`: another manager. If it owns one of these fields by patches or updates, all that it owns so ends.
    """

    applied: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ends: str = ""


@dataclass(frozen=True)
class Delete:
    """Delete an object; if `resource_version` or `uid` is set, only if it still has that.

    `background`: its dependents are deleted after it. `foreground`: before it. Neither: the default of its kind (the
    pods of a Job stay). `grace_seconds`: how long a Pod may take to end; None: as it says itself.
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
