"""Kueue's tables of the connections to worker clusters: conditions, kubeconfigs, waits, and who uses what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.reading import Manifest
from reconciler.controllers.clusters import check_condition, cluster_condition
from reconciler.multikueue.connections import FAILED, Link, patience_after, refusal
from reconciler.multikueue.kubeconfigs import AllowedSources, RefusedKubeconfig, WorkerLogin, read_file, read_secret
from reconciler.multikueue.objects import (
    MULTIKUEUE_CLUSTERS,
    read_activity,
    read_multikueue_cluster,
    read_multikueue_config,
)
from reconciler.multikueue.profiles import disabled, read_profile
from reconciler.objects.activity import active_patch
from reconciler.objects.stored import read_stored
from reconciler.objects.workers import PathSource, ProfileSource, SecretSource, WorkerConnection
from scheduling.objects import times
from scheduling.objects.queue_settings import read_check_settings
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Data, Suite, mismatch, nanoseconds

_PATHS, _PROFILES = "MultiKueueKubeConfigPathValidation", "MultiKueueClusterProfile"
_GATES = frozenset({_PATHS, _PROFILES})
_NOW = times.parse("2025-01-01T00:00:00Z")


def suites(folder: Path) -> Iterator[Suite]:
    for name, check in _CHECKS.items():
        path = folder / "kueue" / "multikueue" / f"{name}.json"
        if path.is_file():
            yield gated(path, check, _GATES)


def _active(manifest: Manifest | None) -> tuple[str, str, str] | None:
    if not ((manifest or {}).get("status") or {}).get("conditions"):
        return None
    reported = read_activity(manifest or {})
    return reported.status, reported.reason, reported.message


# -- AdmissionChecks ---------------------------------------------------------------------------------------------------


def _admission_check(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    name = given["reconcileFor"]
    manifest = _find(given.get("admissionChecks"), name)
    wanted = _active(_find(expect.get("admissionChecks"), name))
    if manifest is None:
        return mismatch(wanted, None)
    check = read_check_settings(manifest)
    if check.controller != MULTIKUEUE:
        return mismatch(wanted, _active(manifest))
    configs = [read_multikueue_config(each) for each in given.get("multiKueueConfigs") or ()]
    clusters = [read_multikueue_cluster(each) for each in given.get("multiKueueClusters") or ()]
    found = check_condition(
        check.parameters,
        {config.name: config for config in configs},
        {cluster.name: cluster.active.holds for cluster in clusters},
    )
    return mismatch(wanted, ("True" if found.holds else "False", found.reason, found.message))


def _find(manifests: list[Data] | None, name: str) -> Data | None:
    return next((each for each in manifests or () if each["metadata"]["name"] == name), None)


# -- MultiKueueClusters ------------------------------------------------------------------------------------------------


class _Worker:
    """One reconciliation of a cluster, with a connector that fails by what the kubeconfig says."""

    def __init__(self, case: Data) -> None:
        self.given = case["given"]
        self.gates = case.get("featureGates") or {}
        self.name = self.given["reconcileFor"]
        self.manifest = _find(self.given.get("multiKueueClusters"), self.name)
        clients = self.given.get("remoteClients") or {}
        self.links = {name: _link(client) for name, client in clients.items()}
        self.closed = 0
        self.error: str | None = None
        self.wait = 0
        self.connection = WorkerConnection("connecting")

    def reconcile(self) -> None:
        if self.manifest is None or self.manifest["metadata"].get("deletionTimestamp"):
            self.closed += self.links.pop(self.name, None) is not None
            return
        login = self._login()
        if isinstance(login, RefusedKubeconfig):
            self._refused(login)
        else:
            self._connect(login)

    def _login(self) -> WorkerLogin | RefusedKubeconfig:
        source = read_multikueue_cluster(self.manifest or {}).source
        if isinstance(source, ProfileSource):
            return read_profile(source.name, None, {}, AllowedSources()) if self._gate(_PROFILES, False) else disabled()
        allowed = AllowedSources() if self._gate(_PATHS, True) else AllowedSources(prefix=None)
        if isinstance(source, PathSource):
            return read_file(source.path, allowed)
        assert isinstance(source, SecretSource)
        return read_secret(source.name, _find(self.given.get("secrets"), source.name), allowed)

    def _gate(self, name: str, default: bool) -> bool:
        return bool(self.gates.get(name, default))

    def _refused(self, login: RefusedKubeconfig) -> None:
        self.closed += self.name in self.links
        self.connection = WorkerConnection("misconfigured", login.reason, refusal(login))
        if not login.absent:
            self.error = f"failed to load client config, reason: {login.reason}, error: {login.message}"

    def _connect(self, login: WorkerLogin) -> None:
        known = self.name in self.links
        link = self.links.setdefault(self.name, Link())
        if link.step(login.content, _NOW) != "connect":
            return
        self.closed += known
        fault = _fault(login.content)
        if fault:
            self.wait = link.failed(_NOW) - _NOW
            self.connection = WorkerConnection("lost", FAILED, fault)
        else:
            link.made()
            self.connection = WorkerConnection("connected", "Active", "Connected")

    def condition(self) -> tuple[str, str, str] | None:
        wanted = cluster_condition(self.connection)
        if wanted is None or self.manifest is None:
            return _active(self.manifest)
        body = active_patch(MULTIKUEUE_CLUSTERS, self.name, read_stored(self.manifest), wanted, _NOW, "").body
        return _active({**self.manifest, **body})


def _link(client: Data) -> Link:
    content = client["kubeconfig"]
    return Link(content, connected=not client["failedConnAttempts"], failures=client["failedConnAttempts"])


def _fault(content: str) -> str:
    """What the table's own connector says."""
    if "invalid" in content:
        return "invalid kubeconfig"
    return "client cannot watch" if "nowatch" in content else ""


def _update(case: Data) -> str | None:
    expect, worker = case["expect"], _Worker(case)
    worker.reconcile()
    links = {name: (link.content, link.failures) for name, link in worker.links.items()}
    wanted = expect.get("remoteClients") or {}
    clients = {name: (client["kubeconfig"], client["failedConnAttempts"]) for name, client in wanted.items()}
    return (
        mismatch(_active(_find(expect.get("multiKueueClusters"), worker.name)), worker.condition())
        or mismatch((expect.get("error") or {}).get("error"), worker.error)
        or mismatch(clients, links)
        or mismatch(expect.get("cancelCalled") or 0, worker.closed)
        or mismatch(nanoseconds(expect.get("requeueAfter")), worker.wait)
    )


# -- waits -------------------------------------------------------------------------------------------------------------


def _reconnect(case: Data) -> str | None:
    link, now = Link(), _NOW
    content = case["given"]["kubeconfig"]
    for number, (step, wanted) in enumerate(zip(case["given"]["steps"], case["expect"]["steps"], strict=True)):
        now += nanoseconds(step["advance"])
        attempts = int(link.step(content, now) == "connect")
        if attempts:
            link.failed(now)
        found = (attempts, link.failures, link.retry_at - now)
        expected = (wanted["buildCalls"], wanted["failedAttempts"], nanoseconds(wanted["requeueAfter"]))
        if complaint := mismatch(expected, found):
            return f"step {number}: {complaint}"
    return None


def _establish(case: Data) -> str | None:
    return mismatch(nanoseconds(case["expect"]["result"]), patience_after(case["given"]["failedAttempts"]))


# -- who uses what -----------------------------------------------------------------------------------------------------


def _using(source: object) -> Callable[[Data], str | None]:
    def check(case: Data) -> str | None:
        clusters = map(read_multikueue_cluster, case["given"].get("multiKueueClusters") or ())
        found = sorted(cluster.name for cluster in clusters if cluster.source == source)
        return mismatch(sorted(case["expect"]["list"] or []), found)

    return check


def _configs(case: Data) -> str | None:
    configs = map(read_multikueue_config, case["given"].get("multiKueueConfigs") or ())
    found = sorted(config.name for config in configs if "cluster1" in config.clusters)
    return mismatch(sorted(case["expect"]["list"] or []), found)


_CHECKS: dict[str, Callable[[Data], str | None]] = {
    "TestReconcile": _admission_check,
    "TestUpdateConfig": _update,
    "TestReconnectBackoff": _reconnect,
    "TestEstablishBackoffSchedule": _establish,
    "TestListMultiKueueClustersUsingKubeConfig": _using(SecretSource("secret1")),
    "TestListMultiKueueClustersUsingClusterProfile": _using(ProfileSource("clusterprofile1")),
    "TestListMultiKueueConfigsUsingMultiKueueClusters": _configs,
}
