"""Quota at gates by a reconciler that is killed again and again behind a line that fails, on a real API server.

Nobody passes beyond a quota that was in force, and when the faults are over nobody is forgotten: who waits has no
room, gangs are whole, no Pod is lost, and all run in the end. `SOAK_SECONDS` says how long the load lasts
(`make soak-yunikorn`: half an hour), `SOAK_SEED` what happens.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from tests.apiserver.fault_proxy import FaultProxy
from tests.apiserver.harness import ControlPlane
from tests.apiserver.killed import SOAK_SECONDS, SOAK_SEED, Killed, storm
from tests.apiserver.reconciler.shipped_reconciler import dying, login_of
from tests.apiserver.yunikorn.gate_history import GateHistory
from tests.apiserver.yunikorn.gate_load import GateLoad
from tests.apiserver.yunikorn.gated_world import CONFIGURATION, installed, is_gated
from tests.waiting import eventually

CALM_SECONDS = 60.0
FAULTS = 0.12


@pytest.fixture
def server() -> Iterator[ControlPlane]:
    """With the webhook, which nobody kills."""
    with ControlPlane() as running, installed(running):
        yield running


@pytest.mark.timeout(SOAK_SECONDS + 3 * CALM_SECONDS + 180)
def test_nobody_passes_beyond_a_quota_and_nobody_is_forgotten(server: ControlPlane, tmp_path: Path) -> None:
    with (
        ClusterClient(from_kubeconfig(None, str(server.kubeconfig))) as direct,
        FaultProxy(login_of(server), FAULTS, SOAK_SEED) as proxy,
    ):
        load, history = GateLoad(direct, SOAK_SEED), GateHistory(direct)
        load.prepare()
        history.start()
        reconciler = dying(proxy, tmp_path, CONFIGURATION)
        try:
            storm(load.act, reconciler, load.chance, SOAK_SECONDS)
            proxy.faults = 0.0
            reconciler.again()
            rests(load, reconciler)
            all_run(load, reconciler)
        finally:
            reconciler.kill(signal.SIGTERM)
            history.stop()
    passed, wrong = history.recount()
    kills = f"{reconciler.starts - 1} kills, {reconciler.killed_at_writes} of them at a write"
    print(f"seed {SOAK_SEED}: {passed} admitted, {kills}, {len(wrong)} violations, {proxy.injected}, {load.happened}")

    assert not wrong
    assert passed > SOAK_SECONDS, "next to nothing was admitted, so nothing was tried"
    assert sum(proxy.injected.values()) > SOAK_SECONDS / 5, f"hardly a fault was injected: {proxy.injected}"
    assert "403 Forbidden" not in reconciler.log.read_text()


def rests(load: GateLoad, reconciler: Killed) -> None:
    """All is as it should be, and stays so."""

    def wrong() -> str:
        return f"{load.wrong_at_rest()}; the log ends: {_end(reconciler)}"

    for _ in range(2):
        eventually(lambda: not load.wrong_at_rest(), wrong, CALM_SECONDS)
        time.sleep(1.5)


def all_run(load: GateLoad, reconciler: Killed) -> None:
    """What has passed ends until nobody waits. Then each room was given back: what asks for all of it passes."""

    def waiting() -> list[str]:
        return [each["metadata"]["name"] for each in load.pods() if is_gated(each)]

    def drained() -> bool:
        load.drain()
        return not waiting()

    def still() -> str:
        return f"{waiting()} wait; the log ends: {_end(reconciler)}"

    load.relax()
    eventually(drained, still, CALM_SECONDS)
    load.drain()
    load.fill()
    eventually(lambda: not waiting(), still, CALM_SECONDS)


def _end(reconciler: Killed) -> str:
    return reconciler.log.read_text()[-3000:]
