"""The measured process: the reconciler as users run it."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.apiserver.processes import Processes

QUOTREE = str(Path(sys.executable).with_name("quotree"))
_NAME = "reconciler"
_LONG = 600.0
"""The timeout of a row in seconds."""


class Process:
    """A process `quotree serve reconciler`. It ends when this process ends, for whatever reason."""

    def __init__(self, kubeconfig: Path, program: Sequence[str] = (QUOTREE,), arguments: Sequence[str] = ()) -> None:
        folder = Path(tempfile.mkdtemp(prefix="quotree-bench-"))
        self._address = folder / "address.json"
        self._running = Processes(folder)
        command = [*program, "serve", "reconciler", "--port=0", "--lease=default/bench"]
        command += [f"--kubeconfig={kubeconfig}", f"--address-file={self._address}", *arguments]
        self._running.start(_NAME, command)
        self.pid = self._running.pids()[_NAME]

    def working(self) -> bool:
        """Whether the reconciler is ready and holds the Lease."""
        return self._get("/readyz") is not None and "\nquotree_reconciler_writes 1" in (self._get("/metrics") or "")

    def ready(self) -> bool:
        return self._get("/readyz") is not None

    def until(self, holds: Callable[[], bool], what: Callable[[], str]) -> None:
        """Wait until `holds` is true. Raises RuntimeError at the timeout, or if the process ends."""
        ends = time.monotonic() + _LONG
        while not holds():
            if self._running.exit_code(_NAME) is not None or time.monotonic() > ends:
                raise RuntimeError(f"waited for {what()}; the log ends:\n{self._running.log_tail(_NAME)}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End the process as a kubelet does: it releases the Lease, so that the next process need not wait for it."""
        self._running.stop(_NAME)
        self._running.stop_all()

    def _get(self, path: str) -> str | None:
        if not self._address.exists():
            return None
        try:
            with urllib.request.urlopen(json.loads(self._address.read_text())["url"] + path, timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, ConnectionError):
            return None


@contextmanager
def reconciling(
    kubeconfig: Path, program: Sequence[str] = (QUOTREE,), arguments: Sequence[str] = ()
) -> Iterator[Process]:
    """A running reconciler. `program`: the command that is run instead of `quotree`."""
    process = Process(kubeconfig, program, arguments)
    try:
        yield process
    finally:
        process.stop()
