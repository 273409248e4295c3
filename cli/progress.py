"""Shows a progress line on a terminal for work that takes longer than a second.

The line is on standard error, and is erased while anything else is printed. If standard error is not a terminal, there
is no line.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, TextIO, TypeVar

import click

T = TypeVar("T")

_AFTER = 1.0
"""Seconds until the line is shown."""
_POLL_SECONDS = 0.2
"""Seconds between two updates of the line."""
_COLUMNS = 80
"""The width of a terminal that does not know its own."""


class _Line:
    """The progress line, from `start` to `stop`. A separate thread writes it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage, self._count = "", 0
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._width = 0
        """The width of the line on the terminal; 0 if there is no line."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._replace("")

    def stage(self, text: str) -> None:
        self._stage, self._count = text, 0

    def tick(self) -> None:
        self._count += 1

    @contextmanager
    def hidden(self) -> Iterator[None]:
        with self._lock:
            self._replace("")
            yield

    def _run(self) -> None:
        wait = _AFTER
        while not self._over.wait(wait):
            wait = _POLL_SECONDS
            if self._stage:
                with self._lock:
                    self._replace(self._text())

    def _text(self) -> str:
        """The text of the line, cut to the width of the terminal, since a wrapped line could not be erased."""
        counted = f": {self._count}" if self._count else ""
        whole = f"{self._stage}{counted} ({time.monotonic() - self._began:.0f} s)"
        return whole[: max(0, self._columns() - 1)]

    def _columns(self) -> int:
        """The width of the terminal. Standard output may be a file, so the stream of the line is asked first."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError):  # the stream is not a terminal, as in tests
            return shutil.get_terminal_size().columns

    def _replace(self, text: str) -> None:
        """Overwrite the line with blanks and write the new text. This works on every terminal."""
        blanks = f"\r{' ' * self._width}\r" if self._width else ""
        self._width = len(text)
        try:
            self._stream.write(blanks + text)
            self._stream.flush()
        except (OSError, ValueError):  # the stream is closed
            self._over.set()


_current: _Line | None = None


def stage(text: str) -> None:
    """Begin a stage, such as "reading files", which the line shows."""
    if _current is not None:
        _current.stage(text)


def tick() -> None:
    """Count one more item of the present stage."""
    if _current is not None:
        _current.tick()


def counted(items: Iterable[T], text: str) -> Iterable[T]:
    """The items. Their iteration is a stage that counts them."""
    if _current is None:
        return items
    stage(text)
    return _ticking(items)


def _ticking(items: Iterable[T]) -> Iterator[T]:
    for item in items:
        tick()
        yield item


@contextmanager
def hidden_line() -> Iterator[None]:
    """Erase the line, and keep it away until the block ends."""
    with _current.hidden() if _current is not None else nullcontext():
        yield


def progress(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show the line while the command runs, and add --quiet to the command."""

    @wraps(command)
    def with_progress(*arguments: Any, quiet: bool, **options: Any) -> Any:
        global _current
        stream = sys.stderr
        if quiet or _current is not None or not _wanted(stream):
            return command(*arguments, **options)
        _current = _Line(stream)
        _current.start()
        try:
            return command(*arguments, **options)
        finally:
            ended, _current = _current, None
            ended.stop()

    return click.option("--quiet", is_flag=True, help="Show no progress on the terminal.")(with_progress)


def _wanted(stream: TextIO | None) -> bool:
    if stream is None or not stream.isatty():
        return False
    return os.name == "nt" or os.environ.get("TERM", "") not in ("", "dumb")
