"""The cluster that is looked at, and where Quotree is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from cluster.client import Cluster
from cluster.errors import ApiError, Forbidden, NotFound
from cluster.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS
from policies.configuration.file import read_configuration
from policies.configuration.settings import Configuration
from policies.dialects.reading import Manifest, mapping, text
from policies.model.errors import PolicyError
from policies.rules import registry
from policies.takeover.objects import Names, Ref
from policies.text.positions import BadText
from policies.text.yaml_values import single

_MOST_COPIED = 10_000
"""Nodes that aliases of the configuration may copy."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Target:
    """What the checks share of one cluster, each part read once.

    `webhook` is the HOST:PORT at which the webhook is reached from here, `metrics` the URL of its metrics; both are for
    a port-forward.
    """

    cluster: Cluster
    names: Names = field(default_factory=Names)
    webhook: str | None = None
    metrics: str | None = None
    now: Callable[[], datetime] = _now

    def get(self, path: str) -> Manifest | None:
        """None where it does not exist. Raises ClusterError."""
        try:
            return self.cluster.get(path)
        except NotFound:
            return None

    @cached_property
    def webhook_deployment(self) -> Manifest | None:
        return self._deployment(self.names.webhook)

    @cached_property
    def reconciler_deployment(self) -> Manifest | None:
        return self._deployment(self.names.reconciler)

    @cached_property
    def has_webhook(self) -> bool:
        """False where it is known not to be installed; who may not look takes it for installed."""
        return self._present(lambda: self.webhook_deployment)

    @cached_property
    def has_reconciler(self) -> bool:
        """The same of the reconciler."""
        return self._present(lambda: self.reconciler_deployment)

    @cached_property
    def groups(self) -> frozenset[str]:
        """The groups that the API server serves, the core group among them."""
        found = self.cluster.get("/apis").get("groups") or ()
        return frozenset(["", *(str(mapping(group).get("name")) for group in found)])

    @cached_property
    def definitions(self) -> list[Manifest]:
        """The CustomResourceDefinitions without their schemas, which are large."""
        return [_without_schemas(each) for each in self.cluster.list(CUSTOM_RESOURCE_DEFINITIONS)]

    @cached_property
    def configuration(self) -> Configuration:
        """Of the webhook; the defaults where it cannot be read."""
        ref = self.names.settings
        try:
            found = self.get(CONFIG_MAPS.item(ref.name, ref.namespace))
            written = text(mapping((found or {}).get("data")).get("configuration.yaml"))
            return read_configuration(single(written, _MOST_COPIED), registry()) if written else Configuration()
        except (ApiError, BadText, PolicyError):
            return Configuration()

    def _present(self, deployment: Callable[[], Manifest | None]) -> bool:
        try:
            return deployment() is not None
        except Forbidden:
            return True

    def _deployment(self, ref: Ref) -> Manifest | None:
        return self.get(DEPLOYMENTS.item(ref.name, ref.namespace))


def arguments(deployment: Manifest | None) -> list[str]:
    """What the containers of a Deployment are started with."""
    pod = mapping(mapping(mapping((deployment or {}).get("spec")).get("template")).get("spec"))
    containers: Any = pod.get("containers") or ()
    return [str(each) for container in containers for each in mapping(container).get("args") or ()]


def _without_schemas(definition: Manifest) -> Manifest:
    spec = mapping(definition.get("spec"))
    versions = [{key: mapping(each).get(key) for key in ("name", "served")} for each in spec.get("versions") or ()]
    return {**definition, "spec": {**spec, "versions": versions}}
