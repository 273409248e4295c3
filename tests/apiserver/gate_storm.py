"""A storm at gates on a real API server: the reconciler is killed again and again behind a line that fails."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.apiserver.fault_proxy import FaultProxy
from tests.apiserver.harness import ControlPlane
from tests.apiserver.killed import SOAK_SECONDS, SOAK_SEED, storm
from tests.apiserver.pod_load import PodLoad, all_run, rests
from tests.apiserver.reconciler.shipped_reconciler import dying, login_of

FAULTS = 0.12


class GateRecord(Protocol):
    """What a watcher saw stored."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def recount(self) -> tuple[int, list[str]]:
        """How many Pods were admitted, and each one that passed beyond a limit."""


def survived(
    server: ControlPlane, folder: Path, configuration: Mapping[str, Any], load: PodLoad, history: GateRecord
) -> int:
    """How many Pods were admitted. Raises AssertionError if one passed beyond a limit, or if one is forgotten."""
    with FaultProxy(login_of(server), FAULTS, SOAK_SEED) as proxy:
        load.prepare()
        history.start()
        reconciler = dying(proxy, folder, configuration)
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
    assert sum(proxy.injected.values()) > SOAK_SECONDS / 5, f"hardly a fault was injected: {proxy.injected}"
    assert "403 Forbidden" not in reconciler.log.read_text()
    return passed
