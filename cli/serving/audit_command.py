"""`quotree serve audit`, with its options."""

from __future__ import annotations

import click

from cli.input.settings import settings as read_settings
from cli.serving.kueue_version import logged
from cli.serving.options import ProcessOptions
from cli.serving.options import process as process_options


@click.command()
@click.option(
    "--interval",
    type=click.FloatRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Audit this often even if nothing changes. After a change, an audit starts within seconds.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="The maximum number of results in one report; the rest are counted.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="Known findings, which are only counted; `quotree audit -o baseline=FILE` writes the file. Read at the start.",
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    default="quotree-system/quotree-audit",
    show_default=True,
    help="The Lease for leader election; only its holder writes reports.",
)
@process_options(port=8083)
@click.option("--config", metavar="FILE", help="Quotree's own Configuration. Default: QUOTREE_CONFIG.")
def audit(
    interval: float, most: int, baseline: str | None, lease: str, process: ProcessOptions, config: str | None
) -> None:
    """Judge the stored queues and what they name, after changes and on a schedule, and report what is wrong.

    \b
    Examples:
      quotree serve audit --kubeconfig admin.conf --api-port 9445
      quotree serve audit --baseline .quotree-baseline.jsonl
    """
    from cli.input.baseline import read as read_baseline  # here, since both take long to load
    from cli.serving.audit import run

    old = read_baseline(baseline).known if baseline is not None else frozenset()
    leased = process.settings(lease)
    configuration = read_settings(config, [], installed=logged(leased.connect))
    click.get_current_context().exit(run(configuration, leased, interval, most, old))
