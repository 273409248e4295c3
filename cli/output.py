"""Results go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys

import click


def emit(text: str) -> None:
    """Print results. A reader who closed the pipe has seen enough: the exit code still tells the verdict."""
    try:
        click.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter complains when it flushes at its end


def note(text: str) -> None:
    """Tell something that is no result."""
    click.echo(text, err=True)


def paint(text: str, colour: str) -> str:
    """Coloured on a terminal that wants it; the text alone always says the same."""
    return click.style(text, fg=colour, bold=True) if _colours() else text


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
