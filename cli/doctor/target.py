"""The cluster to check with the objects of Quotree in it, and the results of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

from cluster.client import ClusterClient
from cluster.errors import ApiError, Forbidden, NotFound
from cluster.installed_kueue import installed_kueue
from cluster.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS
from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.configuration.settings import Configuration, Dialect
from policies.dialects.reading import Manifest, listing, mapping, metadata, text
from policies.model.errors import PolicyError
from policies.rules import registry
from policies.takeover.objects import ObjectRef, ReleaseNames, arguments, options, pod_spec
from policies.takeover.removal import KUBECONFIGS
from policies.text.positions import BadText
from policies.text.yaml_values import single
from reconciler.shards.claims import DEFAULT

_MOST_COPIED = 10_000
"""The maximum number of YAML nodes that aliases in the configuration may repeat."""
_EMPTY = {"apiVersion": API_VERSION, "kind": KIND}


@dataclass
class CheckedCluster:
    """The objects of one cluster that several checks need. Each is read once.

    `webhook`: HOST:PORT at which this machine reaches the webhook, such as by a port-forward.
    `metrics`: the URL of the webhook's metrics, as reached from this machine.
    """

    cluster: ClusterClient
    names: ReleaseNames = field(default_factory=ReleaseNames)
    webhook: str | None = None
    metrics: str | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _deployments: dict[ObjectRef, Manifest | None] = field(default_factory=dict, repr=False)

    def get(self, path: str) -> Manifest | None:
        """Get the object, or None if it does not exist. Raises ClusterError."""
        try:
            return self.cluster.get(path)
        except NotFound:
            return None

    def deployment(self, ref: ObjectRef) -> Manifest | None:
        """Get the Deployment, or None if it is not installed. Raises ClusterError."""
        if ref not in self._deployments:
            self._deployments[ref] = self.get(DEPLOYMENTS.item(ref.name, ref.namespace))
        return self._deployments[ref]

    @property
    def webhook_deployment(self) -> Manifest | None:
        return self.deployment(self.names.webhook)

    @property
    def reconciler_deployment(self) -> Manifest | None:
        return self.deployment(self.names.reconciler)

    @cached_property
    def part_deployments(self) -> dict[ObjectRef, Manifest]:
        """The Deployments of reconcilers for parts (shards) of the cluster, with any name. Raises ClusterError."""
        found = self.cluster.list(DEPLOYMENTS, namespace=self.names.namespace)
        parts = {ObjectRef("Deployment", str(metadata(each).get("name")), self.names.namespace): each for each in found}
        return {ref: each for ref, each in sorted(parts.items()) if part_of(each)}

    @property
    def installed(self) -> dict[ObjectRef, Manifest]:
        """All Deployments of Quotree that exist. Raises ClusterError."""
        every = {ref: self.deployment(ref) for ref in self.names.processes.values()} | self.part_deployments
        return {ref: each for ref, each in every.items() if each is not None}

    @cached_property
    def has_webhook(self) -> bool:
        """Whether the webhook is installed. True if the user may not read its Deployment."""
        return self._present(lambda: self.webhook_deployment)

    @cached_property
    def has_reconciler(self) -> bool:
        """Whether the reconciler is installed. True if the user may not read its Deployment."""
        return self._present(lambda: self.reconciler_deployment)

    @cached_property
    def groups(self) -> frozenset[str]:
        """The API groups that the API server serves, including the core group."""
        found = self.cluster.get("/apis").get("groups") or ()
        return frozenset(["", *(str(mapping(group).get("name")) for group in found)])

    @cached_property
    def definitions(self) -> list[Manifest]:
        """The CustomResourceDefinitions, without their schemas, since these are large."""
        return [_without_schemas(each) for each in self.cluster.list(CUSTOM_RESOURCE_DEFINITIONS)]

    @cached_property
    def configuration(self) -> Configuration:
        """The configuration of the webhook; the defaults if it cannot be read."""
        try:
            return self.configuration_of(self.webhook_deployment, "--config") or Configuration()
        except ApiError:
            return Configuration()

    def configuration_of(self, deployment: Manifest | None, name: str) -> Configuration | None:
        """Quotree's configuration that a process reads from the file of the option `name`. Raises ClusterError.

        None if the file is not mounted from a ConfigMap or is not valid.
        """
        installed = partial(installed_kueue, self.cluster)  # processes look it up when they start
        try:
            document = self._document(deployment, name) if option(deployment, name) else _EMPTY
            chosen = [Dialect(each) for each in options(deployment or {}, "--gates")]
            return read_configuration(document, registry(), chosen, installed) if document else None
        except (BadText, PolicyError, ValueError):
            return None

    def kubeconfigs_of(self, reconciler: Manifest) -> str:
        """The namespace in which a reconciler reads the kubeconfigs of worker clusters. Raises ClusterError."""
        own = self.configuration_of(reconciler, "--settings")
        try:
            kueue = self._document(reconciler, "--config")
        except BadText:
            kueue = None
        named = own.reconciler.multikueue.kubeconfig_namespace if own else None
        return named or text(mapping(kueue).get("namespace")) or KUBECONFIGS

    def _document(self, deployment: Manifest | None, name: str) -> Any:
        """The content of the file of an option; None if it is not mounted from a ConfigMap. Raises BadText."""
        folder, _, key = (option(deployment, name) or "").rpartition("/")
        ref = mounted(deployment, folder, "configMap").get("name")
        found = self.get(CONFIG_MAPS.item(str(ref), self.names.namespace)) if ref else None
        written = text(mapping((found or {}).get("data")).get(key))
        return single(written, _MOST_COPIED) if written else None

    def _present(self, deployment: Callable[[], Manifest | None]) -> bool:
        try:
            return deployment() is not None
        except Forbidden:
            return True


def option(deployment: Manifest | None, name: str) -> str | None:
    """The value of an option of a Deployment's process. If the option is repeated, the last value counts."""
    return next(reversed(options(deployment or {}, name)), None)


def mounted(deployment: Manifest | None, folder: str, source: str) -> Mapping[str, Any]:
    """The source of the volume that is mounted as this folder, such as a `secret` or a `configMap`; empty for none."""
    pod = pod_spec(deployment or {})
    containers = map(mapping, listing(pod.get("containers")))
    mounts = (mapping(each) for container in containers for each in listing(container.get("volumeMounts")))
    volume = next((each.get("name") for each in mounts if each.get("mountPath") == folder), None)
    named = (mapping(each) for each in listing(pod.get("volumes")))
    return next((mapping(each.get(source)) for each in named if each.get("name") == volume), {})


def part_of(deployment: Manifest | None) -> str:
    """The part of a reconciler; empty for the default part, and for other processes."""
    part = option(deployment, "--part") if "reconciler" in arguments(deployment or {}) else None
    return part if part and part != DEFAULT else ""


def _without_schemas(definition: Manifest) -> Manifest:
    spec = mapping(definition.get("spec"))
    versions = [{key: mapping(each).get(key) for key in ("name", "served")} for each in spec.get("versions") or ()]
    return {**definition, "spec": {**spec, "versions": versions}}


class HealthState(StrEnum):
    """The state of a result. SKIPPED: the check could not run; the message has the reason."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one object. `subject`: the object, or empty for the whole cluster. `fix`: empty if state is OK."""

    state: HealthState
    subject: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A check. `id`: never changes. `title`: a sentence that is true if the check passes. `run` raises ClusterError."""

    id: str
    title: str
    run: Callable[[CheckedCluster], Iterable[CheckResult]]


def check(id: str, title: str) -> Callable[[Callable[[CheckedCluster], Iterable[CheckResult]]], DoctorCheck]:
    return lambda run: DoctorCheck(id, title, run)


def ok(subject: str, message: str) -> CheckResult:
    return CheckResult(HealthState.OK, subject, message)


def warning(subject: str, message: str, fix: str) -> CheckResult:
    return CheckResult(HealthState.WARNING, subject, message, fix)


def failure(subject: str, message: str, fix: str) -> CheckResult:
    return CheckResult(HealthState.FAILURE, subject, message, fix)


def skipped(subject: str, reason: str, fix: str = "") -> CheckResult:
    return CheckResult(HealthState.SKIPPED, subject, reason, fix)
