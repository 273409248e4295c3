"""`quotree serve audit`, with its options."""

from __future__ import annotations

from functools import partial

import click

from cli.input.baseline import read as read_baseline
from cli.input.options import context as context_option
from cli.input.served import Served, served
from cli.input.settings import settings as read_settings


@click.command()
@served(port=8083)
@click.option(
    "--interval",
    type=click.FloatRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Audit so often even if nothing changes; after a change it takes seconds.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="Results in one report; the rest is counted.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="Old findings, which are only counted; `quotree audit -o baseline=FILE` writes them. Read once, at the start.",
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    default="quotree-system/quotree-audit",
    show_default=True,
    help="The Lease for leader election; only its holder writes reports.",
)
@click.option(
    "--kubeconfig", metavar="FILE", help="Default: KUBECONFIG, ~/.kube/config, or in a pod its service account."
)
@context_option
@click.option("--config", metavar="FILE", help="Quotree's own Configuration. Default: QUOTREE_CONFIG.")
def audit(
    served: Served,
    interval: float,
    most: int,
    baseline: str | None,
    lease: str,
    kubeconfig: str | None,
    context: str | None,
    config: str | None,
) -> None:
    """Judge everything that is stored, after changes and on a schedule, and report what is wrong.

    \b
    Examples:
      quotree serve audit --kubeconfig admin.conf --api-port 9445
      quotree serve audit --baseline .quotree-baseline.jsonl
    """
    from cli.serving.api import ApiSettings  # here, since servers take long to load
    from cli.serving.audit import AuditProcess, run
    from cli.serving.certificates import Certificates
    from cluster.client import Cluster

    api = None
    if served.api_port is not None:
        kept = (served.supplied, served.names, served.secret, served.service)
        certificates = Certificates(served.folder, *kept) if served.folder else None
        api = ApiSettings(served.api_host, served.api_port, certificates)
    connect = partial(Cluster.connect, context, kubeconfig)
    old = read_baseline(baseline).known if baseline is not None else frozenset()
    process = AuditProcess(served.host, served.port, lease, interval, most, connect, api, served.metrics_auth, old)
    click.get_current_context().exit(run(read_settings(config, []), process, served.address_file))
