"""Find out what is wrong with an installation, and how to fix it."""

from __future__ import annotations

import click

from cli.exits import exit_codes
from cli.input.installed import quotree_namespace
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.input.options import output
from policies.takeover.objects import ReleaseNames

_FAILING = {"failure": ("failure",), "warning": ("failure", "warning"), "never": ()}


@click.command(epilog=exit_codes("a check at or above --fail-on"))
@login_option
@quotree_namespace
@click.option(
    "--webhook", metavar="HOST:PORT", help="The webhook's address as reached from here, to check its certificate."
)
@click.option(
    "--metrics", metavar="URL", help="The URL of its metrics as reached from here. Default: the API server's proxy."
)
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="failure",
    show_default=True,
    help="Exit 1 at a check in this state or worse.",
)
@output
def doctor(
    login: ClusterLogin, namespace: str, webhook: str | None, metrics: str | None, fail_on: str, output: str
) -> None:
    """Look at Quotree in a cluster: what works, what does not, and how to fix it.

    Each check has an id and a state: ok, warning, failure, or skipped, with the reason. Nothing is stored: what needs a
    write is tried as a dry run. It works with few rights, and says what it may not read.

    \b
    Examples:
      quotree doctor
      quotree doctor --context prod -o json
      quotree doctor --webhook 127.0.0.1:9443 --metrics http://127.0.0.1:8080/metrics    # with kubectl port-forward
      quotree doctor --fail-on warning
    """
    from cli.actions.doctor import look  # imported late: see cli/actions

    click.get_current_context().exit(
        look(
            login, ReleaseNames(namespace=namespace), webhook, metrics, failing=_FAILING[fail_on], json=output == "json"
        )
    )
