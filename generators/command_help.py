"""Splits the help of each command into its parts, for docs/commands/ and the man pages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

import click

from cli.group import quotree, summary

_EVERYWHERE = ("-h", "-v")
"""Options that every command has. The pages describe them only once."""


@dataclass(frozen=True)
class Help:
    """The help of a command.

    `words`: the words of the command, without `quotree`.
    `summary`: without a full stop.
    `text`: its paragraphs.
    `examples`: lines.
    `options`: pairs of the notation and the meaning.
    `commands`: pairs of the name and the summary of subcommands.
    `exits`: the text about exit codes.
    """

    words: tuple[str, ...]
    summary: str
    usage: str
    text: tuple[str, ...]
    examples: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    exits: str

    @property
    def name(self) -> str:
        return " ".join(["quotree", *self.words])


def every_help(command: click.Command = quotree, *words: str, above: click.Context | None = None) -> Iterator[Help]:
    """The help of `quotree` and all its commands, each before its subcommands."""
    name = words[-1] if words else "quotree"
    context = click.Context(command, above, info_name=name, **command.context_settings)
    inner = _inner(command, context)
    text, examples = _blocks(command.help or "")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    commands = tuple((each, _summary(below, *words, each)) for each, below in inner)
    options = tuple(_options(command, context))
    exits = command.epilog or ""
    yield Help(words, _summary(command, *words).removesuffix("."), usage, text, examples, options, commands, exits)
    for each, below in inner:
        yield from every_help(below, *words, each, above=context)


def _summary(command: click.Command, *words: str) -> str:
    """The summary that `quotree --help` shows, or for a subcommand the first sentence of its help."""
    if len(words) == 1:
        return summary(words[0])
    first = _blocks(command.help or "")[0][0]
    return re.split(r"(?<=\w\.) ", first)[0]


def _inner(command: click.Command, context: click.Context) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return []
    pairs = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return [(name, each) for name, each in pairs if each is not None]


def _blocks(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paragraphs of a help text, and its lines below `Examples:`. A line with \\b is before `Examples:`."""
    paragraphs, _, examples = inspect.cleandoc(text).partition("\b\nExamples:\n")
    found = tuple(" ".join(each.split()) for each in paragraphs.split("\n\n") if each.strip())
    return found, tuple(line.strip() for line in examples.splitlines() if line.strip())


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Argument):
            continue
        record = parameter.get_help_record(context)
        if record is not None and not set(_EVERYWHERE) & set(parameter.opts):
            written, meaning = record
            yield written, " ".join(meaning.split())
