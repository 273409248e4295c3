"""The command `quotree`. It finds its commands by the files in `cli/commands`, and only imports the one that runs."""

from __future__ import annotations

import ast
import errno
import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import click

from cli import commands
from cli.exits import EPILOG, Exit, OutOfReach
from cli.output import SHOW_TRACEBACK, note_internal
from cli.version import VERSION

_INTERRUPTED = 130
"""The exit code that shells use for Ctrl-C. It is not in `Exit`, since nothing was judged."""
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC)
"""Errors that only a write to standard output can raise here: those of connections and files are converted before."""


_EXTRAS = {
    "cryptography": "cluster",
    "kubernetes": "cluster",
    "urllib3": "cluster",
    "flask": "serve",
    "gunicorn": "serve",
    "prometheus_client": "serve",
    "opentelemetry": "otel",
}
"""The optional packages, and the extra of pyproject.toml that installs each."""
_SERVERS = ("serve", "review")


class CommandGroup(click.Group):
    """A group with a command for each module of `cli.commands`, in alphabetical order."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002, click's signature
        return sorted(_modules())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002, click's signature
        module = _modules().get(cmd_name)
        if module is None:
            return None
        command = getattr(import_module(f"{commands.__name__}.{module}"), module)
        assert isinstance(command, click.Command)
        _complete(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command, and suggest a similar one. click itself only suggests commands that are loaded."""
        if args and not args[0].startswith("-") and args[0] not in _modules() and not ctx.resilient_parsing:
            from policies.model.suggestion import close  # here, since only a misspelled command needs it

            near = close(args[0], _modules())
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {near!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                self._failed(ctx, error)
            if ctx.invoked_subcommand in _SERVERS:
                extra = "serve"  # it includes the other extras
            missing = f"the package {error.name} is not installed: this needs a cluster, a certificate or a server"
            raise OutOfReach(f"{missing}; run pip install '.[{extra}]' in a checkout") from error
        except OSError as error:
            if error.errno in _OF_OUTPUT:
                raise  # `main` reports it
            self._failed(ctx, error)
        except Exception as error:  # report one line instead of a traceback, and another exit code than for findings
            self._failed(ctx, error)

    def _failed(self, ctx: click.Context, error: Exception) -> NoReturn:
        note_internal(error)
        ctx.exit(Exit.UNJUDGED)


def summary(command: str) -> str:
    """The first line of the docstring of the command's file, read without importing it."""
    from importlib.abc import InspectLoader  # here, since only help needs it

    spec = find_spec(f"{commands.__name__}.{_modules()[command]}")
    source = spec.loader.get_source(spec.name) if spec and isinstance(spec.loader, InspectLoader) else None
    return (ast.get_docstring(ast.parse(source or "")) or "").partition("\n")[0]


@cache
def _modules() -> dict[str, str]:
    return {
        module.name.rstrip("_").replace("_", "-"): module.name for module in pkgutil.iter_modules(commands.__path__)
    }


def _complete(command: click.Command, epilog: str = EPILOG) -> None:
    """Add -v, and the exit codes below the help, to a command and its subcommands.

    If a command has its own text about exit codes, its subcommands have the same.
    """
    command.epilog = command.epilog or epilog
    if _VERBOSE not in command.params:
        command.params.append(_VERBOSE)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _complete(inner, command.epilog)


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[SHOW_TRACEBACK] = True


_VERBOSE = click.Option(
    ["-v", "--verbose"],
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Print the traceback of an internal error.",
)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "-V", "--version", prog_name="quotree", message="%(prog)s %(version)s")
def quotree() -> None:
    """Guard hierarchical quota on Kubernetes: Kueue cohorts, Volcano queues, YuniKorn namespace quotas.

    \b
    Examples:
      quotree validate trees/
      quotree tree --against cluster
      quotree doctor
    """


_complete(quotree)
