"""Options with the namespaces and names of Quotree and Kueue's manager, for commands that change an installation."""

from __future__ import annotations

import click

from cli.input.grouped import grouped
from policies.takeover.objects import ReleaseNames

DEFAULT = ReleaseNames()
quotree_namespace = click.option(
    "-n", "--namespace", default=DEFAULT.namespace, show_default=True, help="The namespace of Quotree."
)
installed = grouped(
    "names",
    ReleaseNames,
    quotree_namespace,
    click.option(
        "--kueue-namespace",
        default=DEFAULT.kueue_namespace,
        show_default=True,
        help="The namespace of Kueue's manager, if it is installed.",
    ),
    click.option(
        "--kueue-name",
        "kueue",
        default=DEFAULT.kueue,
        show_default=True,
        help="The prefix of the names of Kueue's objects; with Helm, the full name of the release.",
    ),
)
step_timeout = click.option(
    "--timeout",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many seconds a step may wait for its precondition.",
)
