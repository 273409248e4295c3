"""Look at a cluster's queues in the browser."""

from __future__ import annotations

import click

from cli.input.against import Against
from cli.input.options import context as context_option
from cli.input.options import kubeconfig as kubeconfig_option
from cli.input.reconciler_api import Server, endpoint
from cli.input.reconciler_api import options as reconciler_options
from cli.output import note


@click.command()
@context_option
@kubeconfig_option
@reconciler_options
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def dashboard(
    context: str | None,
    kubeconfig: str | None,
    reconciler: str | None,
    ca: str | None,
    server_name: str | None,
    token_file: str | None,
    port: int,
    no_browser: bool,
) -> None:
    """Show the trees of your cluster in the browser: quota, use, who waits and why.

    It serves this machine alone, to who has the address that it prints, with the rights of your kubeconfig. Without
    --reconciler it reads the cluster itself, as often as its size allows.

    \b
    Examples:
      quotree dashboard
      quotree dashboard --context prod --no-browser
      quotree dashboard --reconciler https://localhost:8443 --ca ca.crt
    """
    from cli.report.whole_trees import of_cluster  # here, since these take long to load
    from cli.serving.own_dashboard import ReadOnce, run_own
    from cluster.client import Cluster
    from dashboard.login.sessions import cookie_name
    from dashboard.login.ways import ByKey
    from dashboard.reading.remote import Getter
    from dashboard.settings import DashboardSettings

    against = Against("cluster", context or "")
    server = Server(reconciler, ca, server_name, token_file) if reconciler else None

    def v1(cluster: Cluster) -> Getter:
        if server is not None:
            return Cluster(endpoint(server, against, kubeconfig))
        return ReadOnce(cluster, lambda: of_cluster(against, kubeconfig))

    cookie = cookie_name(port, secure=False)
    settings = DashboardSettings(ByKey("", cookie), cookie, port=port)
    connected = run_own(settings, lambda: Cluster.connect(context, kubeconfig), v1, browser=not no_browser, say=note)
    click.get_current_context().exit(connected)
