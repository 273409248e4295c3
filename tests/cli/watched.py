"""A command that runs with --watch, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.waiting import eventually


class Watched:
    """The command until the end of the block, or until `interrupt`. Its output is in files, so that nothing blocks."""

    def __init__(self, folder: Path, *arguments: object, cwd: Path | None = None) -> None:
        folder.mkdir(parents=True)
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            command = [sys.executable, "-m", "cli.main", *map(str, arguments), "--watch"]
            environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
            # A shell starts what it puts into the background with SIGINT ignored, and children inherit that.
            command = ["env", "--default-signal=INT", *command]
            self.process = subprocess.Popen(command, stdout=out, stderr=err, cwd=cwd, env=environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def shown(self) -> str:
        return self._out.read_text()

    @property
    def noted(self) -> str:
        return self._err.read_text()

    def shows(self, text: str, times: int = 1) -> None:
        """Waits until it has printed this text so often. Raises AssertionError."""
        eventually(lambda: self.shown.count(text) >= times, lambda: f"no {text!r} in {self.shown}, {self.noted}", 60)

    def notes(self, text: str, times: int = 1) -> None:
        eventually(lambda: self.noted.count(text) >= times, lambda: f"no {text!r} in {self.noted}", 60)

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)
