"""Options with the namespaces and names of Quotree and Kueue's manager, for commands that change an installation."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from policies.takeover.objects import ReleaseNames

DEFAULT = ReleaseNames()
quotree_namespace = click.option(
    "-n", "--namespace", default=DEFAULT.namespace, show_default=True, help="The namespace of Quotree."
)


def installed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -n, --kueue-namespace and --kueue-name to a command, which gets them as `names`."""

    @wraps(command)
    def with_names(*arguments: Any, kueue_namespace: str, kueue_name: str, namespace: str, **others: Any) -> Any:
        return command(*arguments, names=ReleaseNames(kueue_namespace, kueue_name, namespace), **others)

    decorated: Callable[..., Any] = with_names
    for option in (
        click.option(
            "--kueue-name",
            default=DEFAULT.kueue,
            show_default=True,
            help="The prefix of the names of Kueue's objects; with Helm, the full name of the release.",
        ),
        click.option(
            "--kueue-namespace",
            default=DEFAULT.kueue_namespace,
            show_default=True,
            help="The namespace of Kueue's manager, if it is installed.",
        ),
        quotree_namespace,
    ):
        decorated = option(decorated)
    return decorated


step_timeout = click.option(
    "--timeout",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many seconds a step may wait for its precondition.",
)
