"""What may be asked to be written: one frozen dataclass each, compared with `==` in tests, done by `cluster.apply`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cluster.resource import Resource

INSTALLED_BY = {"quotree.dev/installed-by": "quotree"}
"""The label of our CustomResourceDefinitions. Those of Kueue lack it, and are left alone."""
WebhookKind = Literal["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]


@dataclass(frozen=True)
class ApplySecret:
    """Keep `data` in a Secret, if nobody was faster (compare-and-swap).

    With `resource_version` None the Secret must not exist yet; else it must still be that version, or be
    gone: then it is made anew.
    Of an existing Secret only these keys change; other keys, its type, labels and annotations stay.
    """

    namespace: str
    name: str
    data: Mapping[str, bytes] = field(repr=False)
    resource_version: str | None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SetCaBundle:
    """Let the API server trust `ca_bundle` (PEM) when it calls webhooks; owns that one field of each and nothing else.

    `webhooks` None means all that the configuration has now; of the given names those that it lacks are left out.
    """

    kind: WebhookKind
    name: str
    ca_bundle: bytes
    webhooks: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SetConversionBundle:
    """Let the API server trust `ca_bundle` (PEM) when it has objects of a CustomResourceDefinition converted.

    Owns that one field. A definition without the label INSTALLED_BY, or that asks no webhook, is left as it is.
    """

    name: str
    ca_bundle: bytes


@dataclass(frozen=True)
class Create:
    """Make an object that does not exist yet; one of that name is never overwritten."""

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
    """Merge `body` into an object that is still at `resource_version`; None of a field takes it away.

    `subresource` is `status` or nothing. Lists are replaced as a whole, which the version makes safe.
    """

    resource: Resource
    namespace: str | None
    name: str
    body: Mapping[str, Any] = field(repr=False)
    resource_version: str
    manager: str
    subresource: str | None = None


@dataclass(frozen=True)
class Delete:
    """Take an object away that is still at `resource_version`, or that has the `uid`, where these are given.

    `background`: what it owns goes after it; `foreground`: before it; else as is usual for its kind (the pods of a Job
    are left behind).
    """

    resource: Resource
    namespace: str | None
    name: str
    resource_version: str = ""
    uid: str = ""
    background: bool = False
    foreground: bool = False

    @property
    def propagation(self) -> str | None:
        """As the API calls it; None where that is left to the kind."""
        return "Foreground" if self.foreground else "Background" if self.background else None


Action = ApplySecret | SetCaBundle | SetConversionBundle | Create | Patch | Delete
