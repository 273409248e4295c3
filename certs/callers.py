"""The objects that make the API server call Quotree. Each has a caBundle with the authorities to trust."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from cluster.actions import Action, SetApiServiceBundle, SetCaBundle, SetConversionBundle, WebhookKind
from cluster.apply import WEBHOOKS, converts_with_us
from cluster.resource import API_SERVICES, CUSTOM_RESOURCE_DEFINITIONS, Resource


@dataclass(frozen=True)
class Webhooks:
    kind: WebhookKind
    name: str

    @property
    def resource(self) -> Resource:
        return WEBHOOKS[self.kind]

    @property
    def path(self) -> str:
        return self.resource.item(self.name)

    def trusting(self, ca_bundle: bytes, version: str) -> Action:
        return SetCaBundle(self.kind, self.name, ca_bundle, resource_version=version)

    def published(self, manifest: Mapping[str, Any]) -> frozenset[str]:
        """The caBundles of the object, in base64. A webhook without one adds an empty text."""
        return frozenset(hook["clientConfig"].get("caBundle", "") for hook in manifest.get("webhooks") or ())

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class ConversionWebhook:
    """A CustomResourceDefinition that Quotree converts with a webhook."""

    name: str
    resource: ClassVar[Resource] = CUSTOM_RESOURCE_DEFINITIONS

    @property
    def path(self) -> str:
        return self.resource.item(self.name)

    def trusting(self, ca_bundle: bytes, version: str) -> Action:
        return SetConversionBundle(self.name, ca_bundle, version)

    def published(self, manifest: Mapping[str, Any]) -> frozenset[str]:
        """The caBundle of the definition; see Webhooks. Empty for a definition that Quotree does not convert."""
        if not converts_with_us(manifest):
            return frozenset()
        return frozenset([manifest["spec"]["conversion"]["webhook"].get("clientConfig", {}).get("caBundle", "")])

    def __str__(self) -> str:
        return f"CustomResourceDefinition {self.name}"


@dataclass(frozen=True)
class AggregatedApi:
    """An APIService, for which the API server forwards requests to Quotree."""

    name: str
    resource: ClassVar[Resource] = API_SERVICES

    @property
    def path(self) -> str:
        return self.resource.item(self.name)

    def trusting(self, ca_bundle: bytes, version: str) -> Action:
        return SetApiServiceBundle(self.name, ca_bundle, version)

    def published(self, manifest: Mapping[str, Any]) -> frozenset[str]:
        return frozenset([manifest["spec"].get("caBundle") or ""])

    def __str__(self) -> str:
        return f"APIService {self.name}"


Caller = Webhooks | ConversionWebhook | AggregatedApi
"""An object that makes the API server call Quotree, and therefore needs our authority in its caBundle."""
