"""The record of the command line: commands, arguments, and options with their choices and defaults."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.exits import Exit
from cli.group import quotree


def commands(command: click.Command = quotree, name: str = "quotree") -> Iterator[str]:
    """The entries of a command and its subcommands: one for each name of an option and for each of its choices."""
    yield name
    context = click.Context(command, info_name=name)
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            yield from _parameter(parameter, name)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            if (inner := command.get_command(context, word)) is not None:
                yield from commands(inner, f"{name} {word}")


def exit_codes() -> Iterator[str]:
    for code in Exit:
        yield f"{code.value} {code.name.lower()}"


def _parameter(parameter: click.Parameter, name: str) -> Iterator[str]:
    needed = ", required" if parameter.required else ""
    many = ", any number" if parameter.nargs == -1 or parameter.multiple else ""
    if isinstance(parameter, click.Argument):
        yield f"{name} {parameter.human_readable_name}{needed}{many}"
        return
    assert isinstance(parameter, click.Option)
    takes = "" if parameter.is_flag or parameter.count else " VALUE"
    for written in (*parameter.opts, *parameter.secondary_opts):
        yield f"{name} {written}{takes}{needed}{many}"
    longest = max(parameter.opts, key=len)
    if isinstance(parameter.type, click.Choice):
        yield from (f"{name} {longest} {choice}" for choice in parameter.type.choices)
    if takes and isinstance(parameter.default, str | int | float) and parameter.default != "":
        yield f"{name} {longest} default: {parameter.default}"
