"""The command `quotree`: its sub-commands are imported when they are asked for, one file each."""

from __future__ import annotations

import traceback
from importlib import import_module
from typing import Any

import click

from cli.exits import EPILOG, Exit
from cli.report.output import note
from cli.version import VERSION

_COMMANDS = {
    "validate": "Judge manifests: the same rules as the webhook, all files as one change.",
    "test": "Run suites of changes with the findings expected of a configuration.",
    "simulate": "Play queues and work from files: who is admitted, who gives way, who waits and why.",
    "why": "Explain why a workload waits.",
    "pending": "List who waits at a queue, in which place, and why.",
    "clusters": "List the clusters that work is sent to: connection, and what runs there.",
    "tree": "Draw the quota trees of manifests or of a cluster.",
    "explain": "Print the page of a rule.",
    "rules": "List the rules.",
    "serve": "Run a server: the admission webhook, or the reconciler that admits workloads.",
    "install": "Write manifests for a cluster: policies for the time the webhook is down.",
    "certs": "Make or inspect the webhook's certificates.",
}
_INTERRUPTED = 130
"""What shells report for Ctrl-C; none of our own codes, since nothing was found out."""


class LazyGroup(click.Group):
    """Knows its commands by name; the module `cli.commands.<name>` has the command under that name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002, click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002, click's signature
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(f"cli.commands.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of commands, without importing one of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except Exception as error:  # the last net: one line instead of a traceback, and a code of its own
            _tell(error, verbose=bool(ctx.meta.get(VERBOSE)))
            ctx.exit(Exit.UNJUDGED)


VERBOSE = "quotree.verbose"


def _tell(error: Exception, verbose: bool) -> None:
    if verbose:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    what = " ".join(str(error).split())
    hint = "" if verbose else "; -v shows where"
    note(f"quotree: internal error: {type(error).__name__}{': ' if what else ''}{what}{hint}")


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[VERBOSE] = True


verbose = click.option(
    "-v", "--verbose", is_flag=True, expose_value=False, callback=_remember, help="Show where an internal error arose."
)


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "-V", "--version", prog_name="quotree", message="%(prog)s %(version)s")
@verbose
def quotree() -> None:
    """Guard hierarchical quota on Kubernetes: Kueue cohorts, Volcano queues, YuniKorn namespace quotas."""
