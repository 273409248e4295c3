"""Results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import secrets
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import click

from cli.exits import OutOfReach
from cli.links import leads_out
from cli.progress import erase
from policies.model.printing import plain


def emit(text: str) -> None:
    """Print results. If the reader closed the pipe, the exit code still carries the verdict.

    Raises OutOfReach where standard output is closed or full: then nobody has the verdict.
    """
    if sys.stdout is None:
        raise OutOfReach("cannot write to standard output: it is closed")
    try:
        erase()
        click.echo(_encodable(text, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        discard(1)
    except OSError as error:
        discard(1)
        raise OutOfReach(f"cannot write to standard output: {error.strerror or error}") from error


def write(file: str, text: str) -> None:
    """Print results to a file in UTF-8, in place of what it held. Raises OutOfReach where that cannot be done."""
    try:
        within_checkout(file)
        Path(file).write_text(text + "\n", encoding="utf-8", errors="backslashreplace", newline="\n")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or str(error)
        raise OutOfReach(f"cannot write to {file}: {reason}") from error


def replace(file: Path, text: str) -> None:
    """Put a file in place of another at once, so that no half of it is ever read. Raises OSError.

    The name of the draft cannot be guessed, so nobody can have put a link there.
    """
    within_checkout(file)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text + "\n")
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def within_checkout(file: str | Path) -> None:
    """Check that no link leads out of the checkout: a pull request may have committed it. Raises OSError."""
    if real := leads_out(file):
        raise OSError(0, f"a link leads out of the checkout, to {real}; name that file")


SHOW_TRACEBACK = "quotree.verbose"
"""The key of click's context that is set with -v."""


def note_internal(error: Exception, start: str = "") -> None:
    """Print an internal error in a line, with -v after its traceback."""
    context = click.get_current_context(silent=True)
    verbose = context is not None and bool(context.meta.get(SHOW_TRACEBACK))
    if verbose:
        for line in "".join(traceback.format_exception(error)).splitlines():
            note(line)
    what = " ".join(str(error).split())
    hint = "" if verbose else "; -v shows where"
    note(f"quotree: {start}internal error: {type(error).__name__}{': ' if what else ''}{what}{hint}")


def note(text: str) -> None:
    """Print what is not a result, where that is possible."""
    if sys.stderr is None:
        return
    try:
        erase()
        click.echo(_encodable(plain(text), sys.stderr), err=True)
    except OSError:
        discard(2)


def discard(stream: int) -> None:
    """Drop the unwritten rest of a broken stream. Otherwise the interpreter would report an error at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def json_text(answer: Any) -> str:
    """The answer as indented JSON. Letters of all languages are shown, what does not print is an escape of JSON."""
    text = json.dumps(answer, indent=2, ensure_ascii=False)
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _encodable(text: str, stream: TextIO) -> str:
    """Escape what the stream cannot encode; file names need not be text."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def paint(text: str, colour: str) -> str:
    """Coloured where standard output is; the text says the same without colour."""
    return click.style(text, fg=colour, bold=True) if _coloured() else text


def terminal_wants_colour() -> bool:
    """What standard output and the environment say: NO_COLOR, CLICOLOR_FORCE, TERM."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return terminal and os.environ.get("TERM") != "dumb"


def _coloured() -> bool:
    """Whether to print colours: the value of --color, if the command has that option."""
    context = click.get_current_context(silent=True)
    return terminal_wants_colour() if context is None or context.color is None else context.color


def some(count: int, word: str) -> str:
    """`1 queue`, `2 queues`."""
    return f"{count} {word}" + ("" if count == 1 else "s")


def first_of(names: Sequence[str], most: int, word: str = "") -> str:
    """The first names, and how many more there are: `a, b and 3 more`, or `a, b and 3 more queues` with a word."""
    more = len(names) - most
    rest = f" and {some(more, f'more {word}') if word else f'{more} more'}" if more > 0 else ""
    return ", ".join(names[:most]) + rest


def section(heading: str, content: Iterable[str], indent: str = "  ") -> Iterator[str]:
    """A heading with lines below it; nothing where there are none."""
    lines = list(content)
    if lines:
        yield from ("", f"{heading}:", *(f"{indent}{line}" for line in lines))
