"""Look at queues in the browser: of a cluster, or of files."""

from __future__ import annotations

import click

from cli.exits import EXIT_CODES_OF_ACTIONS
from cli.input.against import Against
from cli.input.options import against_of
from cli.input.reconciler_api import Server
from cli.input.reconciler_api import options as reconciler_options


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@against_of("cluster", "What to show: a cluster, or files:DIR, simulated until nothing changes.")
@reconciler_options
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def dashboard(against: Against, reconciler: Server | None, port: int, no_browser: bool) -> None:
    """Show quota trees in the browser: quota, usage, and which workloads wait and why.

    It listens on loopback only. Anybody who has the printed address gets the rights of your kubeconfig. Without
    --reconciler it reads the cluster itself; a large cluster is read less often.

    \b
    Examples:
      quotree dashboard
      quotree dashboard --against cluster:prod --no-browser
      quotree dashboard --against files:trees/
      quotree dashboard --reconciler https://localhost:8443 --ca ca.crt
    """
    from cli.actions.dashboard import show  # imported late: see cli/actions

    click.get_current_context().exit(show(against, reconciler, port, browser=not no_browser))
