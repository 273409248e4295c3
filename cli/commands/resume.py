"""Resume a stopped ClusterQueue, LocalQueue, or single workload."""

from __future__ import annotations

import click

from cli.exits import EXIT_CODES_OF_ACTIONS
from cli.input.login import ClusterLogin
from cli.input.options import namespace as namespace_option
from cli.input.switching import NONE, OfKinds, acting, active, stop_policy, switch
from cli.output import emit
from policies.dialects import kueue


@click.group(cls=OfKinds, epilog=EXIT_CODES_OF_ACTIONS)
def resume() -> None:
    """Resume a ClusterQueue, a LocalQueue or a single workload of Kueue, as kueuectl resume does.

    \b
    Examples:
      quotree resume clusterqueue research
      quotree resume localqueue main -n ml
      quotree resume workload job-train-1a2b3 -n ml
    """


@resume.command("clusterqueue")
@acting
def cluster_queue(name: str, dry_run: str, login: ClusterLogin) -> None:
    """Resume the ClusterQueue NAME, by its spec.stopPolicy.

    \b
    Examples:
      quotree resume clusterqueue research
      quotree resume clusterqueue research --dry-run server
    """
    emit(switch(login, kueue.CLUSTER_QUEUE, name, stop_policy(NONE), dry_run))


@resume.command("localqueue")
@acting
@namespace_option
def local_queue(name: str, dry_run: str, login: ClusterLogin, namespace: str | None) -> None:
    """Resume the LocalQueue NAME, by its spec.stopPolicy.

    \b
    Examples:
      quotree resume localqueue main -n ml
    """
    within = namespace or login.namespace()
    emit(switch(login, kueue.LOCAL_QUEUE, name, stop_policy(NONE), dry_run, within))


@resume.command("workload")
@acting
@namespace_option
def workload(name: str, dry_run: str, login: ClusterLogin, namespace: str | None) -> None:
    """Resume the Workload NAME, or the Workload of the job NAME, by its spec.active.

    NAME may also be KIND/NAME, such as job/train, or NAMESPACE/NAME.

    \b
    Examples:
      quotree resume workload job-train-1a2b3 -n ml
      quotree resume workload job/train -n ml
      quotree resume workload ml/train
    """
    emit(switch(login, kueue.WORKLOAD, name, active(True), dry_run, namespace))
