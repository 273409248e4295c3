"""Prints results to standard output, and everything else to standard error."""

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
from cli.progress import hidden_line
from policies.model.printing import plain


def emit(text: str) -> None:
    """Print results. A closed pipe is not an error, since the exit code still shows the result.

    Raises OutOfReach if standard output is closed or full.
    """
    if sys.stdout is None:
        raise OutOfReach("cannot write to standard output: it is closed")
    try:
        with hidden_line():
            click.echo(_encodable(text, sys.stdout))
            sys.stdout.flush()
    except BrokenPipeError:
        discard(1)
    except OSError as error:
        discard(1)
        raise OutOfReach(f"cannot write to standard output: {error.strerror or error}") from error


def write(file: str, text: str) -> None:
    """Write results to a file in UTF-8; its old content is replaced. Raises OutOfReach if it cannot be written."""
    try:
        within_checkout(file)
        Path(file).write_text(text + "\n", encoding="utf-8", errors="backslashreplace", newline="\n")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or str(error)
        raise OutOfReach(f"cannot write to {file}: {reason}") from error


def replace(file: Path, text: str) -> None:
    """Replace a file atomically. Raises OSError.

    The temporary file has a random name, so that nobody can create a link with this name before.
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
    """Check that no link, which a pull request may have added, leads the path out of the checkout. Raises OSError."""
    if real := leads_out(file):
        raise OSError(0, f"a link leads out of the checkout, to {real}; name that file")


SHOW_TRACEBACK = "quotree.verbose"
"""The key of click's context that is set with -v."""


def note_internal(error: Exception, start: str = "") -> None:
    """Print an internal error on one line; with -v, print its traceback before."""
    context = click.get_current_context(silent=True)
    verbose = context is not None and bool(context.meta.get(SHOW_TRACEBACK))
    if verbose:
        for line in "".join(traceback.format_exception(error)).splitlines():
            note(line)
    what = " ".join(str(error).split())
    hint = "" if verbose else "; -v shows where"
    note(f"quotree: {start}internal error: {type(error).__name__}{': ' if what else ''}{what}{hint}")


def note(text: str) -> None:
    """Print a text that is not a result to standard error. Errors of the write are ignored."""
    if sys.stderr is None:
        return
    try:
        with hidden_line():
            click.echo(_encodable(plain(text), sys.stderr), err=True)
    except OSError:
        discard(2)


def discard(stream: int) -> None:
    """Drop the unwritten output of a broken stream. Otherwise the interpreter would report an error when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def json_text(answer: Any) -> str:
    """The answer as indented JSON. Printable characters of all languages are not escaped; all others are."""
    text = without_commands(json.dumps(answer, indent=2, ensure_ascii=False))
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text)


def without_commands(text: str) -> str:
    """JSON, or YAML with texts in double quotes, without `##[`, which GitHub's runner reads as a command."""
    return text.replace("##[", r"##\u005b")


def _encodable(text: str, stream: TextIO) -> str:
    """The text, with escapes for characters that the stream cannot encode. File names may contain any bytes."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def paint(text: str, colour: str) -> str:
    """The text in this colour, if the output has colours. The colour must not add information."""
    return click.style(text, fg=colour, bold=True) if _coloured() else text


def terminal_wants_colour() -> bool:
    """Whether standard output should have colours, according to NO_COLOR, CLICOLOR_FORCE and TERM."""
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
    """A count with its noun, such as `1 queue` or `2 queues`."""
    return f"{count} {word}" + ("" if count == 1 else "s")


def first_of(names: Sequence[str], most: int, word: str = "") -> str:
    """The first `most` names and the number of the others: `a, b and 3 more`; with `word`, `a, b and 3 more queues`."""
    more = len(names) - most
    rest = f" and {some(more, f'more {word}') if word else f'{more} more'}" if more > 0 else ""
    return ", ".join(names[:most]) + rest


def section(heading: str, content: Iterable[str], indent: str = "  ") -> Iterator[str]:
    """A heading with lines below it; empty if there are no lines."""
    lines = list(content)
    if lines:
        yield from ("", f"{heading}:", *(f"{indent}{line}" for line in lines))
