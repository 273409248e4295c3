"""The options -o FORMAT[=FILE], which is repeatable, and --color."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from cli.input.grouped import Decorator, stacked
from cli.output import terminal_wants_colour


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a command. `file`: empty for standard output."""

    format: str
    file: str = ""


class OutputType(click.ParamType[Output]):
    """Reads FORMAT, FORMAT=FILE and FORMAT=-."""

    name = "output"

    def __init__(self, formats: Iterable[str]):
        self._formats = tuple(formats)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002, click's signature
        return "FORMAT[=FILE]"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002, click's signature
        param: click.Parameter,  # noqa: ARG002, click's signature
        incomplete: str,
    ) -> list[CompletionItem[str]]:
        return [CompletionItem(each) for each in self._formats if each.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Output:
        if isinstance(value, Output):
            return value
        form, equals, file = str(value).partition("=")
        if form not in self._formats:
            self.fail(f"{form!r} is not a format; choose from {', '.join(self._formats)}", param, ctx)
        if equals and not file:
            self.fail(f"{value!r} names no file; for standard output leave the = out", param, ctx)
        return Output(form, "" if file == "-" else file)


def outputs(formats: Sequence[str]) -> Decorator:
    """Add -o and --color to a command, which gets `outputs`. At most one of them is for standard output."""
    return stacked(
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            expose_value=False,
            callback=_colour,
            help="Colour on standard output; auto also obeys NO_COLOR and CLICOLOR_FORCE.",
        ),
        click.option(
            "-o",
            "--output",
            "outputs",
            type=OutputType(formats),
            multiple=True,
            callback=_checked,
            help=f"{', '.join(formats)}; with =FILE to a file. Repeatable.  [default: text]",
        ),
    )


def _checked(_: click.Context, parameter: click.Parameter, value: tuple[Output, ...]) -> tuple[Output, ...]:
    places: dict[str, Output] = {}
    for each in value:
        first = places.setdefault(each.file, each)
        if first is not each:
            where = each.file or "standard output"
            message = f"{first.format} and {each.format} both go to {where}; give one of them a file of its own"
            raise click.BadParameter(message, param=parameter)
    return value or (Output("text"),)


def _colour(context: click.Context, _: click.Parameter, value: str) -> None:
    context.color = terminal_wants_colour() if value == "auto" else value == "always"
