"""Several nodes of a gang fail on a real API server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.fault_proxy import FaultProxy
from tests.apiserver.harness import ControlPlane
from tests.apiserver.killed import Killed
from tests.apiserver.kueue_world import following, install
from tests.apiserver.reconciler.topology_yard import Yard
from tests.profiles import spread
from tests.waiting import eventually

GATE = "TASReplaceMultipleFailedNodes"


@pytest.fixture
def yard(control_plane: ControlPlane, namespace: str) -> Iterator[Yard]:
    """A rack of five nodes and one of two, for two Pods each."""
    install(control_plane)
    made = Yard(control_plane, namespace)
    for number in range(7):
        made.node(f"n{number}", f"r{number // 5}", cpu=2)
    yield made
    made.close()


def gang(yard: Yard) -> None:
    """Six Pods that are to run on n0, n1 and n2."""
    yard.workload("train", "n0=2 n1=2 n2=2")
    for rank in range(6):
        yard.pod(f"train-{rank}", rank, "train")


@pytest.mark.parametrize("write", spread(range(1, 5), 0.4))
def test_a_gang_survives_two_failed_nodes_and_a_killed_reconciler(yard: Yard, tmp_path: Path, write: int) -> None:
    """It is killed at one of its first writes after the failure: the first or the second unhealthy node, the new
    assignment, or the gate of a new Pod.
    """
    with FaultProxy(yard.server.kubeconfig, 0.0, seed=1) as proxy:
        command = [sys.executable, "-m", "tests.apiserver.reconciler.running"]
        command += [str(proxy.kubeconfig(tmp_path / "kubeconfig"))]
        reconciler = Killed(lambda number: [*command, f"yard-{number}", GATE], tmp_path / "log")

        def passing(method: str, path: str) -> None:
            if "/pods/" in path or "/workloads/" in path:
                reconciler.passing(method, path)

        proxy.passing = passing
        gang(yard)
        reconciler.start()
        try:
            eventually(lambda: all(yard.turn().values()), reconciler.said)
            stay = {pod["metadata"]["uid"] for pod in yard.pods() if pod["spec"]["nodeName"] == "n0"}
            reconciler.writes_left = write
            for node in ("n1", "n2"):
                yard.lose(node)
            for rank in range(2, 6):
                yard.pod(f"train-{rank}", rank, "train")
            eventually(lambda: reconciler.killed_at_writes == 1, reconciler.said)
            reconciler.again()
            eventually(lambda: yard.hosts("train") == {"n0": 2, "n3": 2, "n4": 2}, reconciler.said)
            eventually(lambda: all(yard.turn().values()), reconciler.said)
        finally:
            reconciler.kill()

    hosts = {"train-0": "n0", "train-1": "n0", "train-2": "n3", "train-3": "n3", "train-4": "n4", "train-5": "n4"}
    assert yard.at() == hosts
    assert {pod["metadata"]["uid"] for pod in yard.pods() if pod["spec"]["nodeName"] == "n0"} == stay
    assert not yard.condition("train", "Evicted")
    assert "unhealthyNodes" not in yard.status("train")


def test_a_gang_is_evicted_after_two_failed_nodes_without_the_feature_gate(yard: Yard) -> None:
    with following(yard.server, featureGates={"TASFailedNodeReplacementFailFast": False}):
        gang(yard)
        eventually(lambda: all(yard.turn().values()))
        for node in ("n3", "n4"):
            yard.ready(node, "Unknown")
        for node in ("n1", "n2"):
            yard.lose(node)
        evicted = eventually(lambda: yard.condition("train", "Evicted"), lambda: str(yard.status("train")))

    assert evicted["reason"] == "NodeFailures"
    assert evicted["message"].startswith("Workload eviction triggered due to multiple TAS assigned node failures")
