"""The reconciler that looks after the jobs of these tests, one replica at a time."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from tests.apiserver.harness import ControlPlane
from tests.apiserver.reconciler.shipped_reconciler import CONFIGURATION, Replica
from tests.waiting import eventually

_CONFIGURATION = {**CONFIGURATION, "integrations": {"frameworks": ["batch/job", "ray.io/raycluster", "ray.io/rayjob"]}}


class Running:
    """The one replica, on `server`. `another` ends it and starts the next, which leads when it returns."""

    def __init__(self, server: ControlPlane, folder: Path) -> None:
        self.server = server
        self._folder = folder
        self._starts = count()
        self.replica = self._start()

    def another(self, kubeconfig: Path | None = None) -> Replica:
        self.replica.end()
        self.replica = self._start(kubeconfig)
        return self.replica

    def _start(self, kubeconfig: Path | None = None) -> Replica:
        folder = self._folder / f"replica-{next(self._starts)}"
        made = Replica(self.server, folder, configuration=_CONFIGURATION, kubeconfig=kubeconfig)
        try:
            eventually(lambda: made.writes, made.log)
        except AssertionError:
            made.close()
            raise
        return made
