"""Results go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

import click

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def emit(text: str) -> None:
    """Print results. If the reader closed the pipe, the exit code still carries the verdict."""
    try:
        click.echo(_encodable(text, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter complains when it flushes at its end


def note(text: str) -> None:
    """Print what is not a result."""
    click.echo(_encodable(plain(text), sys.stderr), err=True)


def plain(text: str) -> str:
    """One line without control characters: a name in a manifest must not move the cursor or end the line."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def _encodable(text: str, stream: TextIO) -> str:
    """Escape what the stream cannot encode; file names need not be text."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def paint(text: str, colour: str) -> str:
    """Coloured on a terminal that wants it; the text says the same without colour."""
    return click.style(text, fg=colour, bold=True) if _colours() else text


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
