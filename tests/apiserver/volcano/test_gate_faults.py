"""Pods at the gate of Volcano's queues while the reconciler is killed again and again behind a line that fails.

By a recount of what a watcher saw stored, nobody passes beyond a limit that was in force, also where Pods shrink that
their node has not shrunk yet, and where Pods give way to others. When the faults are over nobody is forgotten.
`SOAK_SECONDS` says how long the load lasts (`make soak-volcano`: half an hour), `SOAK_SEED` what happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import ClusterClient
from cluster.endpoint import from_kubeconfig
from tests.apiserver.gate_storm import survived
from tests.apiserver.harness import ControlPlane
from tests.apiserver.killed import PATIENCE, SOAK_SECONDS, SOAK_SEED
from tests.apiserver.pod_load import CALM_SECONDS
from tests.apiserver.volcano.gate_history import VolcanoGateHistory
from tests.apiserver.volcano.gate_load import VolcanoGateLoad
from tests.apiserver.volcano.gated_world import CONFIGURATION, installed


@pytest.fixture
def server() -> Iterator[ControlPlane]:
    """With the webhook, which nobody kills."""
    with ControlPlane() as running, installed(running):
        yield running


@pytest.mark.timeout(SOAK_SECONDS + PATIENCE + 3 * CALM_SECONDS + 180)
def test_nobody_passes_beyond_a_limit_and_nobody_is_forgotten(server: ControlPlane, tmp_path: Path) -> None:
    with ClusterClient(from_kubeconfig(None, str(server.kubeconfig))) as direct:
        history = VolcanoGateHistory(direct)
        load = VolcanoGateLoad(direct, SOAK_SEED, history.passed)
        survived(server, tmp_path, CONFIGURATION, load, history, "shrunk")
