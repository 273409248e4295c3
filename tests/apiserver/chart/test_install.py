"""The chart on a real API server: installed, upgraded, rolled back, and exchanged with the kustomize install."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from generators.chart import source
from generators.chart.options import EXCLUDES
from tests.apiserver.chart import post_renderer, rendering
from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.reconciler.shipped_reconciler import Replica
from tests.apiserver.webhook.guard import Guard, as_input
from tests.waiting import eventually

SYSTEM = "/api/v1/namespaces/quotree-system"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KEPT = (
    f"{CONFIGURATIONS}/validatingwebhookconfigurations/quotree-validate",
    f"{CONFIGURATIONS}/mutatingwebhookconfigurations/quotree-mutate",
    f"{DEFINITIONS}/cohorts.kueue.x-k8s.io",
    "/apis/apps/v1/namespaces/quotree-system/deployments/quotree-webhook",
    "/apis/apps/v1/namespaces/quotree-system/deployments/quotree-reconciler",
)
"""The objects that must not change: a change would be a gap or a restart."""
VALUES = {**rendering.chosen(["reconciler"]), "crds": {"install": True}}


class Release:
    """What `helm` does with the chart; the webhooks of the release are called at the port of the guard."""

    def __init__(self, guard: Guard, folder: Path) -> None:
        self._server = guard.control_plane
        self._renderer = post_renderer.program(folder, guard.port)

    def put(self, verb: str, *args: str, values: dict[str, Any] | None = None) -> str:
        """`install` or `upgrade`."""
        return self._run(
            verb, "quotree", str(rendering.CHART), f"--post-renderer={self._renderer}", *args, values=values or VALUES
        )

    def rollback(self) -> str:
        return self._run("rollback", "quotree")

    def uninstall(self) -> str:
        return self._run("uninstall", "quotree")

    def _run(self, *args: str, values: dict[str, Any] | None = None) -> str:
        return rendering.run(*args, "-nquotree-system", values=values, kubeconfig=self._server.kubeconfig)


class FromChart(Guard):
    """The webhook as the chart installs it."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        super().__init__(control_plane)
        self.release = Release(self, folder)

    def install(self) -> None:
        namespace = {"metadata": {"name": "quotree-system"}}
        self.control_plane.request("POST", "/api/v1/namespaces", namespace)
        self.release.put("install")
        self.control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        definitions = self.control_plane.request("GET", DEFINITIONS)["items"]
        self.converts(each["metadata"]["name"] for each in definitions if "webhook" in each["spec"]["conversion"])


def refusal(server: ControlPlane) -> str:
    """The response for a Cohort that is its own parent."""
    loop = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "loop"}}
    try:
        server.request(
            "POST", "/apis/kueue.x-k8s.io/v1beta2/cohorts?dryRun=All", {**loop, "spec": {"parentName": "loop"}}
        )
    except ApiError as error:
        return error.body
    return "allowed"


def is_guarded(server: ControlPlane) -> bool:
    return "denied the request" in refusal(server)


@contextmanager
def guarded_all_the_time(server: ControlPlane) -> Iterator[None]:
    """Create a broken Cohort repeatedly; the webhook must deny it each time."""
    stopped, said = threading.Event(), []

    def tries() -> None:
        while not stopped.is_set():
            said.append(refusal(server))

    trying = threading.Thread(target=tries)
    trying.start()
    try:
        yield
    finally:
        stopped.set()
        trying.join()
    assert said
    assert [each for each in said if "denied the request" not in each] == []


def state(server: ControlPlane) -> dict[str, tuple[str, Any]]:
    """The uid and the spec of each kept object, with the caBundle."""
    found = {path: server.request("GET", path) for path in KEPT}
    return {path: (each["metadata"]["uid"], each.get("spec", each.get("webhooks"))) for path, each in found.items()}


@pytest.mark.nightly  # CI installs and removes a release below, and runs one in test_components_as_installed.py
def test_a_release_is_installed_upgraded_rolled_back_and_uninstalled(
    new_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    server = new_control_plane()
    with FromChart(server, tmp_path) as guard:
        eventually(lambda: is_guarded(server))
        replica = Replica(server, tmp_path / "reconciler")
        try:
            eventually(lambda: replica.ready and replica.writes, replica.log)
        finally:
            replica.close()
        before = state(server)
        with guarded_all_the_time(server):
            guard.release.put("upgrade", values={**VALUES, "criticalPods": 20})
            assert critical_pods(server) == "20"
            guard.release.rollback()
        assert critical_pods(server) == "10"
        assert state(server) == before
        guard.release.uninstall()
        # No webhook is left, which the API server observes a moment later; the CRDs still exist.
        eventually(lambda: refusal(server) == "allowed", lambda: refusal(server))
        assert server.request("GET", SYSTEM)["status"]["phase"] == "Active"


def test_crds_that_kubectl_installed_are_adopted_and_kept(new_control_plane: Callable[..., ControlPlane]) -> None:
    server = new_control_plane()
    server.kubectl("apply", "-k", str(source.MANIFESTS / "crds"))
    before = server.request("GET", f"{DEFINITIONS}/cohorts.kueue.x-k8s.io")
    server.kubectl("create", "namespace", "quotree-system")

    release = ("quotree", str(rendering.CHART), "-nquotree-system")
    rendering.run("install", *release, values={"crds": {"install": True}}, kubeconfig=server.kubeconfig)

    after = server.request("GET", f"{DEFINITIONS}/cohorts.kueue.x-k8s.io")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert after["spec"] == before["spec"]
    rendering.run("uninstall", "quotree", "-nquotree-system", kubeconfig=server.kubeconfig)
    kept = server.request("GET", f"{DEFINITIONS}/cohorts.kueue.x-k8s.io")
    assert kept["metadata"]["uid"] == before["metadata"]["uid"]


def critical_pods(server: ControlPlane) -> str:
    return str(server.request("GET", f"{SYSTEM}/resourcequotas/quotree-critical-pods")["spec"]["hard"]["pods"])


@pytest.fixture
def kustomized(new_control_plane: Callable[..., ControlPlane]) -> Iterator[Guard]:
    """The running webhook as kustomize installs it, with an entry in its ledger."""
    with Guard(new_control_plane(), "", "reconciler") as guard:
        eventually(lambda: is_guarded(guard.control_plane))
        ledger = json.dumps({"data": {"kept": "entry"}})
        guard.control_plane.kubectl("-nquotree-system", "patch", "configmap", "quotree-ledger", "-p", ledger)
        yield guard


@pytest.mark.nightly
def test_a_release_replaces_the_kustomize_install_and_back_without_a_gap(kustomized: Guard, tmp_path: Path) -> None:
    server, release = kustomized.control_plane, Release(kustomized, tmp_path)
    before = state(server)
    assert "caBundle" in before[KEPT[0]][1][0]["clientConfig"]

    with guarded_all_the_time(server):
        with pytest.raises(AssertionError, match="invalid ownership metadata"):
            release.put("install")
        release.put("install", "--take-ownership")
        assert state(server) == before
        release.put("upgrade")
        assert state(server) == before
        server.kubectl("-nquotree-system", "delete", "secret", "-lowner=helm,name=quotree")
        kustomized.install()
        assert state(server) == before
    assert server.request("GET", f"{SYSTEM}/configmaps/quotree-ledger")["data"]["kept"] == "entry"
    assert "quotree" not in rendering.run("list", "-nquotree-system", "-q", kubeconfig=server.kubeconfig)


def test_the_api_server_accepts_a_release_with_all_values_set(control_plane: ControlPlane) -> None:
    """Except for the kinds of cert-manager and the Prometheus operator."""
    for name in ("quotree-system", "quotree-kubeconfigs"):
        control_plane.kubectl("create", "namespace", name, check=False)
    narrowed = {"matchExpressions": [{"key": "team", "operator": "Exists"}]}
    one = {
        "timeoutSeconds": 9,
        "namespaceSelector": narrowed,
        "objectSelector": narrowed,
        "matchConditions": [{"name": "mine", "expression": "true"}],
    }
    webhooks = {"validating": {"kueue-trees": one}, "mutating": {"kueue-jobs": one}}
    pod = {
        "tolerations": [{"operator": "Exists"}],
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    }
    values = {"webhooks": webhooks, "webhook": pod, "reconciler": pod, "crds": {"install": True}}

    rendered = rendering.template({**values, **rendering.chosen(set(source.COMPONENTS).difference(EXCLUDES))})
    foreign = ("cert-manager.io/", "monitoring.coreos.com/")
    known = [each for each in rendered.values() if not each["apiVersion"].startswith(foreign)]

    control_plane.kubectl("apply", "--dry-run=server", "-f", "-", input=as_input(known))
