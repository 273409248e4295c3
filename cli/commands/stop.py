"""Stop the admission of a ClusterQueue, a LocalQueue, or a single workload."""

from __future__ import annotations

import click

from cli.exits import EXIT_CODES_OF_ACTIONS
from cli.input.login import ClusterLogin
from cli.input.options import namespace as namespace_option
from cli.input.switching import DRAIN, HOLD, OfKinds, acting, active, stop_policy, switch
from cli.output import emit
from policies.dialects import kueue

_drain = click.option(
    "--drain/--keep-already-running",
    default=True,
    show_default=True,
    help="Evict running workloads, or let them continue.",
)


@click.group(cls=OfKinds, epilog=EXIT_CODES_OF_ACTIONS)
def stop() -> None:
    """Stop a ClusterQueue, a LocalQueue or a single workload of Kueue, as kueuectl stop does.

    Nothing new is admitted afterwards. Running workloads are evicted and requeued, unless --keep-already-running is
    set.

    \b
    Examples:
      quotree stop clusterqueue research --keep-already-running
      quotree stop localqueue main -n ml
      quotree stop workload job-train-1a2b3 -n ml
    """


@stop.command("clusterqueue")
@acting
@_drain
def cluster_queue(name: str, dry_run: str, login: ClusterLogin, drain: bool) -> None:
    """Stop the ClusterQueue NAME, by its spec.stopPolicy.

    \b
    Examples:
      quotree stop clusterqueue research
      quotree stop clusterqueue research --keep-already-running --dry-run server
    """
    emit(switch(login, kueue.CLUSTER_QUEUE, name, stop_policy(DRAIN if drain else HOLD), dry_run))


@stop.command("localqueue")
@acting
@_drain
@namespace_option
def local_queue(name: str, dry_run: str, login: ClusterLogin, drain: bool, namespace: str | None) -> None:
    """Stop the LocalQueue NAME, by its spec.stopPolicy.

    \b
    Examples:
      quotree stop localqueue main -n ml --keep-already-running
    """
    within = namespace or login.namespace()
    emit(switch(login, kueue.LOCAL_QUEUE, name, stop_policy(DRAIN if drain else HOLD), dry_run, within))


@stop.command("workload")
@acting
@namespace_option
def workload(name: str, dry_run: str, login: ClusterLogin, namespace: str | None) -> None:
    """Stop the Workload NAME, or the Workload of the job NAME, by its spec.active.

    NAME may also be KIND/NAME, such as job/train, or NAMESPACE/NAME.

    \b
    Examples:
      quotree stop workload job-train-1a2b3 -n ml
      quotree stop workload job/train -n ml
      quotree stop workload ml/train
    """
    emit(switch(login, kueue.WORKLOAD, name, active(False), dry_run, namespace))
