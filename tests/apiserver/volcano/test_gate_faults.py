"""Pods at the gate of Volcano's queues while the reconciler is killed again and again behind a line that fails.

By a recount of what a watcher saw stored, nobody passes beyond a limit that was in force, also where Pods shrink that
their node has not shrunk yet. When the faults are over nobody is forgotten. `SOAK_SECONDS` says how long the load lasts
(`make soak-volcano`: half an hour), `SOAK_SEED` what happens.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from tests.apiserver.fault_proxy import FaultProxy
from tests.apiserver.harness import ControlPlane
from tests.apiserver.killed import SOAK_SECONDS, SOAK_SEED, storm
from tests.apiserver.pod_load import CALM_SECONDS, all_run, rests
from tests.apiserver.reconciler.shipped_reconciler import dying, login_of
from tests.apiserver.volcano.gate_history import VolcanoGateHistory
from tests.apiserver.volcano.gate_load import VolcanoGateLoad
from tests.apiserver.volcano.gated_world import CONFIGURATION, installed

FAULTS = 0.12


@pytest.fixture
def server() -> Iterator[ControlPlane]:
    """With the webhook, which nobody kills."""
    with ControlPlane() as running, installed(running):
        yield running


@pytest.mark.timeout(SOAK_SECONDS + 3 * CALM_SECONDS + 180)
def test_nobody_passes_beyond_a_limit_and_nobody_is_forgotten(server: ControlPlane, tmp_path: Path) -> None:
    with (
        ClusterClient(from_kubeconfig(None, str(server.kubeconfig))) as direct,
        FaultProxy(login_of(server), FAULTS, SOAK_SEED) as proxy,
    ):
        load, history = VolcanoGateLoad(direct, SOAK_SEED), VolcanoGateHistory(direct)
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
    assert passed > SOAK_SECONDS / 10, "next to nothing was admitted, so nothing was tried"
    assert load.happened["shrunk"], "nothing was resized, so nothing was tried"
    assert sum(proxy.injected.values()) > SOAK_SECONDS / 5, f"hardly a fault was injected: {proxy.injected}"
    assert "403 Forbidden" not in reconciler.log.read_text()
