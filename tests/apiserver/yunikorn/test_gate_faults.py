"""Quota at gates by a reconciler that is killed again and again behind a line that fails, on a real API server.

Nobody passes beyond a quota that was in force, and when the faults are over nobody is forgotten: who waits has no
room, gangs are whole, no Pod is lost, and all run in the end. `SOAK_SECONDS` says how long the load lasts
(`make soak-yunikorn`: half an hour), `SOAK_SEED` what happens.
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
from tests.apiserver.yunikorn.gate_history import GateHistory
from tests.apiserver.yunikorn.gate_load import GateLoad
from tests.apiserver.yunikorn.gated_world import CONFIGURATION, installed


@pytest.fixture
def server() -> Iterator[ControlPlane]:
    """With the webhook, which nobody kills."""
    with ControlPlane() as running, installed(running):
        yield running


@pytest.mark.timeout(SOAK_SECONDS + PATIENCE + 3 * CALM_SECONDS + 180)
def test_nobody_passes_beyond_a_quota_and_nobody_is_forgotten(server: ControlPlane, tmp_path: Path) -> None:
    with ClusterClient(from_kubeconfig(None, str(server.kubeconfig))) as direct:
        load = GateLoad(direct, SOAK_SEED)
        survived(server, tmp_path, CONFIGURATION, load, GateHistory(direct))
