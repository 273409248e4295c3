"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from cli.exits import Misused
from cli.input.against import Against, AgainstType, reached
from cli.input.grouped import Decorator, grouped, stacked
from cli.input.login import LOGIN, login_options
from policies.model.findings import Profile


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


inputs = stacked(filename_option, click.argument("paths", metavar="[PATH]...", nargs=-1))
"""PATH... and -f, as in kubectl."""


def input_paths(paths: Sequence[str], filenames: Sequence[str]) -> list[str]:
    """The inputs in their order, each once. Raises Misused if there are none."""
    every = list(dict.fromkeys([*paths, *filenames]))
    if not every:
        raise Misused("no input: name files or folders, or -f - for standard input")
    return every


Default = str | Callable[[Mapping[str, Any]], str]


def against_of(default: Default, text: str) -> Decorator:
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


output = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The output format."
)


configured = stacked(
    click.option(
        "--config",
        metavar="FILE",
        help="Quotree's configuration. Default: QUOTREE_CONFIG, then .quotree.yaml or quotree.yaml upward from the"
        " first input.",
    ),
    click.option(
        "--profile", type=click.Choice([it.value for it in Profile]), help="Overrides the profile of the configuration."
    ),
)
"""--config and --profile, for `cli.input.settings`."""
engine = grouped(
    "engine",
    EngineOptions,
    configured,
    click.option("--fair-sharing", is_flag=True, help="Enable fair sharing with Kueue's defaults."),
    click.option(
        "--kueue-config",
        metavar="FILE",
        help="Kueue's Configuration or its ConfigMap: fairSharing, resources, waitForPodsReady, featureGates.",
    ),
)


namespace = click.option("-n", "--namespace", metavar="NAMESPACE", help="The namespace. Default: the context's.")


def namespaces(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -n and -A to a command, which gets them as `namespace` and `everywhere`."""

    @wraps(command)
    def with_namespaces(*arguments: Any, namespace: str | None, everywhere: bool, **others: Any) -> Any:
        if namespace is not None and everywhere:
            raise Misused("-n names one namespace, -A means all of them; keep one")
        return command(*arguments, namespace=namespace, everywhere=everywhere, **others)

    everywhere = click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces.")
    return namespace(everywhere(with_namespaces))
