"""Remove Quotree from a cluster."""

from __future__ import annotations

import sys

import click

from cli.commands.install import carry_out, plan_lines
from cli.exits import Exit, Misused, OutOfReach
from cli.input.options import context as context_option
from cli.input.options import kubeconfig
from cli.output import emit
from policies.takeover.objects import Found, Names, Plan
from policies.takeover.removal import Wishes, remove

_SHOWN = 10
"""Writes that the plan lists of one step."""


@click.command()
@click.option("--dry-run", is_flag=True, help="Show the plan; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the plan is carried out.")
@click.option("--resume-jobs", is_flag=True, help="Start the jobs that wait in a queue: they run without quota.")
@click.option("--crds", is_flag=True, help="Delete the definitions that Quotree installed, with all their objects.")
@click.option("--namespace", default="quotree-system", show_default=True, help="Where Quotree is.")
@click.option("--kueue-namespace", default="kueue-system", show_default=True, help="Where a manager of Kueue may be.")
@click.option("--kueue-name", default="kueue", show_default=True, help="What the names of Kueue's objects begin with.")
@context_option
@kubeconfig
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many seconds one step may wait for what it needs.",
)
def uninstall(
    dry_run: bool,
    yes: bool,
    resume_jobs: bool,
    crds: bool,
    namespace: str,
    kueue_namespace: str,
    kueue_name: str,
    context: str | None,
    kubeconfig: str | None,
    timeout: int,
) -> None:
    """Remove Quotree from a cluster, however it was installed.

    The plan is shown first. Work that runs is left running. Pods that wait at a scheduling gate start; jobs that wait
    stay suspended without --resume-jobs. Queues and the like stay without --crds. What was done stays done: call it
    again to go on.

    \b
    Examples:
      quotree uninstall --dry-run
      quotree uninstall --yes
      quotree uninstall --yes --resume-jobs --crds
    """
    if not (dry_run or yes or sys.stdin.isatty()):
        raise Misused(
            "standard input is not a terminal, so there is no prompt: add --yes, or --dry-run to see the plan"
        )
    from cluster.client import Cluster  # here, since these take long to load
    from cluster.errors import ClusterError
    from cluster.removal import RemovalReader

    names = Names(kueue_namespace, kueue_name, namespace)
    wishes = Wishes(resume_jobs, crds)

    def planned(found: Found) -> Plan:
        return remove(found, names, wishes)

    try:
        with Cluster.connect(context, kubeconfig) as cluster:
            reader = RemovalReader(cluster, names)
            plan = planned(reader.read())
            emit("\n".join(plan_lines(plan, _SHOWN)))
            if plan.steps and not dry_run and (yes or click.confirm("Carry this out?", err=True)):
                plan = carry_out(cluster, reader.read, planned, float(timeout))
                emit("\n".join(plan_lines(plan)) if plan.refusals else "Quotree is removed")
    except ClusterError as error:
        raise OutOfReach(str(error)) from error
    click.get_current_context().exit(Exit.FINDINGS if plan.refusals else Exit.CLEAN)
