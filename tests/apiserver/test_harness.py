"""The control plane of the other tests works as its harness documents."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest

from tests.apiserver import build
from tests.apiserver.harness import ApiError, ControlPlane, ControlPlaneError, User
from tests.apiserver.processes import Processes, free_ports
from tests.waiting import eventually

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"answer": "42"}}
pytestmark = pytest.mark.usefixtures("programs")
ABANDONED = """
import sys, time
from tests.apiserver.harness import ControlPlane
running = ControlPlane()
running.start()
print(running.folder, *running.pids().values(), flush=True)
time.sleep(600)
"""


def test_the_server_has_the_version_of_go_mod(control_plane: ControlPlane) -> None:
    version = control_plane.request("GET", "/version")

    assert control_plane.request("GET", "/api/v1/namespaces/default")["status"]["phase"] == "Active"
    if "KUBEBUILDER_ASSETS" not in os.environ:
        assert f"k8s.io/kubernetes {version['gitVersion']}\n" in (build.SOURCE / "go.mod").read_text()


def test_an_object_is_stored_and_read_through_kubectl(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=json.dumps(CONFIG_MAP))
    stored = control_plane.kubectl("get", "configmap", "note", "-n", namespace, "-o", "json")

    assert json.loads(stored.stdout)["data"] == CONFIG_MAP["data"]


def test_an_error_shows_the_message_of_the_server(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(ControlPlaneError, match='configmaps "absent" not found'):
        control_plane.kubectl("get", "configmap", "absent", "-n", namespace)
    with pytest.raises(ApiError) as refused:
        control_plane.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/absent")

    assert refused.value.status == 404
    assert control_plane.kubectl("get", "configmap", "absent", "-n", namespace, check=False).returncode == 1


def test_a_pod_can_be_created_without_a_service_account_controller(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("run", "pod", "--image=none", "-n", namespace)

    assert control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods/pod")["status"]["phase"] == "Pending"


def test_a_service_account_has_exactly_the_rights_of_its_role(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "serviceaccount", "reader", "-n", namespace)
    control_plane.kubectl("create", "role", "read", "--verb=get", "--resource=configmaps", "-n", namespace)
    control_plane.kubectl(
        "create", "rolebinding", "read", "--role=read", f"--serviceaccount={namespace}:reader", "-n", namespace
    )
    reader = f"--kubeconfig={control_plane.service_account_kubeconfig(namespace, 'reader')}"

    eventually(lambda: may(control_plane, reader, "get", "configmaps", namespace))
    assert not may(control_plane, reader, "create", "configmaps", namespace)


@pytest.mark.nightly  # the tests of MultiKueue have three
def test_a_second_control_plane_is_another_cluster_with_its_own_users(
    control_plane: ControlPlane, namespace: str, new_control_plane: Callable[..., ControlPlane]
) -> None:
    other = new_control_plane(name="other", users=[User("alice", ("developers", "testers"))])

    with pytest.raises(ApiError) as absent:
        other.request("GET", f"/api/v1/namespaces/{namespace}")
    assert absent.value.status == 404
    assert other.kubectl("config", "current-context").stdout == "other\n"
    me = json.loads(other.kubectl("auth", "whoami", "-o", "json", user="alice").stdout)["status"]["userInfo"]
    assert (me["username"], me["groups"]) == ("alice", ["developers", "testers", "system:authenticated"])
    assert not may(other, f"--kubeconfig={other.kubeconfig_for('alice')}", "list", "pods", "default")
    control_plane.request("GET", f"/api/v1/namespaces/{namespace}")


@pytest.mark.nightly  # the tests of jobs need both
def test_the_controller_manager_creates_service_accounts_and_deletes_namespaces(
    new_control_plane: Callable[..., ControlPlane],
) -> None:
    cluster = new_control_plane(controller_manager=True)
    cluster.kubectl("create", "namespace", "short-lived")
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", "short-lived", "--timeout=60s")
    cluster.kubectl("run", "pod", "--image=none", "-n", "short-lived")

    cluster.kubectl("delete", "namespace", "short-lived", "--timeout=60s", seconds=90)

    assert list(cluster.pids()) == ["etcd", "kube-apiserver", "kube-controller-manager"]
    with pytest.raises(ApiError, match="not found"):
        cluster.request("GET", "/api/v1/namespaces/short-lived")


def test_the_api_server_has_its_data_after_a_restart_and_none_is_left_after_stop(
    new_control_plane: Callable[..., ControlPlane],
) -> None:
    cluster = new_control_plane()
    cluster.request("POST", "/api/v1/namespaces/default/configmaps", CONFIG_MAP)

    cluster.stop_api_server()
    with pytest.raises(OSError, match="refused"):
        cluster.request("GET", "/api/v1/namespaces/default/configmaps/note")
    cluster.start_api_server()

    assert cluster.request("GET", "/api/v1/namespaces/default/configmaps/note")["data"] == CONFIG_MAP["data"]
    pids, port = cluster.pids(), urlsplit(cluster.url).port
    assert list(pids) == ["etcd", "kube-apiserver"]
    assert listens(port)

    cluster.stop()

    assert not any(alive(pid) for pid in pids.values())
    assert not listens(port)
    assert not cluster.folder.exists()


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.nightly), signal.SIGKILL], ids=lambda number: number.name
)
def test_the_control_plane_ends_with_a_killed_test_process(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ABANDONED], cwd=build.SOURCE.parent, stdout=subprocess.PIPE, text=True
    ) as abandoned:
        assert abandoned.stdout
        folder, *pids = abandoned.stdout.readline().split()
        abandoned.send_signal(number)

    assert len(pids) == 2
    eventually(lambda: not any(alive(int(pid)) for pid in pids))
    eventually(lambda: not Path(folder).exists())


def test_a_program_that_does_not_start_shows_its_log() -> None:
    broken = ControlPlane(api_server_flags=["--no-such-flag"])

    with pytest.raises(
        ControlPlaneError, match=r"kube-apiserver ended with code 1:(.|\n)*unknown flag: --no-such-flag"
    ):
        broken.start()

    assert not broken.folder.exists()


def test_a_program_that_is_never_ready_is_an_error(new_control_plane: Callable[..., ControlPlane]) -> None:
    with pytest.raises(ControlPlaneError, match="etcd was not ready after 0 s"):
        new_control_plane(ready_seconds=0.0)


@pytest.mark.parametrize(("error", "starts"), [("bind: address already in use", 3), ("unknown flag", 1)])
def test_only_a_start_at_a_taken_port_is_repeated(monkeypatch: pytest.MonkeyPatch, error: str, starts: int) -> None:
    start = Mock(side_effect=ControlPlaneError(error))
    monkeypatch.setattr(ControlPlane, "_start_once", start)

    with pytest.raises(ControlPlaneError, match=error):
        ControlPlane().start()
    assert start.call_count == starts


@pytest.mark.nightly
def test_a_start_is_repeated_if_a_port_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = iter([[*free_ports(2), taken.getsockname()[1]], free_ports(3)])
        monkeypatch.setattr("tests.apiserver.harness.free_ports", lambda count: next(free))
        with ControlPlane() as cluster:
            assert cluster.request("GET", "/version")["major"] == "1"


def test_concurrent_processes_get_different_free_ports() -> None:
    pick = "from tests.apiserver.processes import free_ports; print(*free_ports(400), flush=True); input()"
    with ExitStack() as running:
        pickers = [
            running.enter_context(
                subprocess.Popen([sys.executable, "-c", pick], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(4)
        ]
        ports = [port for each in pickers if each.stdout for port in each.stdout.readline().split()]
        for each in pickers:
            each.communicate("\n")

    assert len(ports) == len(set(ports)) == 1600


def test_a_program_inherits_only_go_environment_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOGC", "300")
    monkeypatch.setenv("GOMAXPROCS", "1")
    monkeypatch.setenv("ETCD_NAME", "other")
    processes = Processes(tmp_path / "folder")
    processes.folder.mkdir()

    processes.start("env", ["env"])
    eventually(lambda: processes.exit_code("env") == 0)
    environment = dict(line.split("=", 1) for line in processes.log("env").splitlines())
    processes.stop_all()

    assert (environment.pop("GOGC"), environment.pop("GOMAXPROCS")) == ("300", "1")
    assert environment.keys() - {"GOMEMLIMIT", "PWD"} == {"PATH", "HOME"}


def may(cluster: ControlPlane, kubeconfig: str, verb: str, resource: str, namespace: str) -> bool:
    return cluster.kubectl("auth", "can-i", verb, resource, "-n", namespace, kubeconfig, check=False).returncode == 0


def listens(port: int | None) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
