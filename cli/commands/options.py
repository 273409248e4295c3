"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from cli.exits import Misused
from cli.input.context import AgainstType

F = TypeVar("F", bound=Callable[..., Any])


def inputs(command: F) -> F:
    """PATH... and -f, as kubectl has it."""
    command = click.argument("paths", metavar="[PATH]...", nargs=-1)(command)
    return click.option(
        "-f",
        "--filename",
        "filenames",
        metavar="FILE",
        multiple=True,
        help="A file or folder, repeatable; - is standard input.",
    )(command)


def against(command: F) -> F:
    """--against and what a cluster needs."""
    command = click.option("--kubeconfig", metavar="FILE", help="The kubeconfig for --against cluster.")(command)
    return click.option(
        "--against",
        type=AgainstType(),
        default="nothing",
        show_default=True,
        help="What else there is; the given files override what it holds.",
    )(command)


def output(command: F) -> F:
    return click.option(
        "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The format."
    )(command)


def engine(command: F) -> F:
    """What decisions go by beside the objects."""
    for option in (
        click.option("--profile", type=click.Choice(["strict", "compat"]), help="Overrides that of the configuration."),
        click.option("--config", metavar="FILE", help="Quotree's configuration, as for validate."),
        click.option(
            "--kueue-config",
            metavar="FILE",
            help="Kueue's Configuration: fairSharing, resources, waitForPodsReady, featureGates.",
        ),
        click.option(
            "--fair-sharing", is_flag=True, help="As fairSharing of Kueue's Configuration, with its defaults."
        ),
    ):
        command = option(command)
    return command


def chosen(paths: Sequence[str], filenames: Sequence[str]) -> list[str]:
    """The inputs in their order; each once. Raises Misused where there is none."""
    every = list(dict.fromkeys([*paths, *filenames]))
    if not every:
        raise Misused("nothing is given: name files or folders, or -f - for standard input")
    return every
