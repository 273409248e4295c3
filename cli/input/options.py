"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from cli.exits import Misused
from cli.input.against import Against, AgainstType, reached
from cli.input.login import LOGIN, login_options
from policies.model.findings import Profile

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The options that decide how scheduling works: configuration files, and options that override them.

    `config`, `profile`: Quotree's configuration. `kueue_config`: Kueue's Configuration.
    """

    config: str | None = None
    profile: str | None = None
    kueue_config: str | None = None
    fair_sharing: bool = False


filename_option = click.option(
    "-f",
    "--filename",
    "filenames",
    metavar="FILE",
    multiple=True,
    help="A file or folder, repeatable; - is standard input.",
)


def inputs(command: F) -> F:
    """Add PATH... and -f to a command, as in kubectl."""
    return filename_option(click.argument("paths", metavar="[PATH]...", nargs=-1)(command))


def input_paths(paths: Sequence[str], filenames: Sequence[str]) -> list[str]:
    """The inputs in their order, each once. Raises Misused if there are none."""
    every = list(dict.fromkeys([*paths, *filenames]))
    if not every:
        raise Misused("no input: name files or folders, or -f - for standard input")
    return every


Default = str | Callable[[Mapping[str, Any]], str]


def against_of(default: Default, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --against and the options of a login to a command, which gets an `against` with its login.

    `default`: the default value, which may depend on the other parameters. `text`: the help text.
    """
    fixed = default if isinstance(default, str) else None

    def with_option(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_against(*arguments: Any, **options: Any) -> Any:
            if options["against"] is None and not isinstance(default, str):
                options["against"] = Against(default(options))
            options["against"] = reached(options["against"], options)
            return command(*arguments, **{key: value for key, value in options.items() if key not in LOGIN})

        option = click.option("--against", type=AgainstType(), default=fixed, show_default=bool(fixed), help=text)
        return option(login_options(with_against))

    return with_option


against = against_of("nothing", "What exists besides the input files; they override it.")


def output(command: F) -> F:
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="The output format.",
    )(command)


def configured(command: F) -> F:
    """Add --config and --profile to a command, for `cli.input.settings`."""
    command = click.option(
        "--profile", type=click.Choice([it.value for it in Profile]), help="Overrides the profile of the configuration."
    )(command)
    return click.option(
        "--config",
        metavar="FILE",
        help="Quotree's configuration. Default: QUOTREE_CONFIG, then .quotree.yaml or quotree.yaml upward from the"
        " first input.",
    )(command)


def engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of EngineOptions to a command, which gets them as `engine`."""

    @wraps(command)
    def with_engine(
        *arguments: Any,
        config: str | None,
        profile: str | None,
        kueue_config: str | None,
        fair_sharing: bool,
        **others: Any,
    ) -> Any:
        return command(*arguments, engine=EngineOptions(config, profile, kueue_config, fair_sharing), **others)

    for option in (
        click.option(
            "--kueue-config",
            metavar="FILE",
            help="Kueue's Configuration: fairSharing, resources, waitForPodsReady, featureGates.",
        ),
        click.option("--fair-sharing", is_flag=True, help="Enable fair sharing with Kueue's defaults."),
    ):
        with_engine = option(with_engine)
    return configured(with_engine)


def namespace(command: F) -> F:
    return click.option("-n", "--namespace", metavar="NAMESPACE", help="The namespace. Default: the context's.")(
        command
    )


def namespaces(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -n and -A to a command, which gets them as `namespace` and `everywhere`."""

    @wraps(command)
    def with_namespaces(*arguments: Any, namespace: str | None, everywhere: bool, **others: Any) -> Any:
        if namespace is not None and everywhere:
            raise Misused("-n names one namespace, -A means all of them; keep one")
        return command(*arguments, namespace=namespace, everywhere=everywhere, **others)

    everywhere = click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces.")
    return namespace(everywhere(with_namespaces))
