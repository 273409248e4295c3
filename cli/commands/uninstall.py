"""Remove Quotree from a cluster."""

from __future__ import annotations

import sys

import click

from cli.commands.install import carry_out, plan_lines
from cli.exits import EXIT_CODES_OF_PLANS, Exit, Misused
from cli.input.installed import installed, step_timeout
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.output import emit
from policies.takeover.objects import FoundCluster, ReleaseNames, TakeoverPlan
from policies.takeover.removal import Wishes, remove

_SHOWN = 10
"""Writes that the plan lists of one step."""


@click.command(epilog=EXIT_CODES_OF_PLANS)
@click.option("--dry-run", is_flag=True, help="Show the plan; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the plan is carried out.")
@click.option("--resume-jobs", is_flag=True, help="Start the jobs that wait in a queue: they run without quota.")
@click.option("--crds", is_flag=True, help="Delete the definitions that Quotree installed, with all their objects.")
@installed
@login_option
@step_timeout
def uninstall(
    dry_run: bool,
    yes: bool,
    resume_jobs: bool,
    crds: bool,
    names: ReleaseNames,
    login: ClusterLogin,
    timeout: int,
) -> None:
    """Remove Quotree from a cluster, however it was installed.

    The plan is shown first. Running work continues. Pods that wait at a scheduling gate start. Jobs that wait stay
    suspended, unless you add --resume-jobs. Queues and other custom resources stay, unless you add --crds. If the
    command is interrupted, run it again to continue.

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
    from cluster.removal import RemovalReader  # here, since it takes long to load

    wishes = Wishes(resume_jobs, crds)

    def planned(found: FoundCluster) -> TakeoverPlan:
        return remove(found, names, wishes)

    with login.connected() as cluster:
        reader = RemovalReader(cluster, names)
        plan = planned(reader.read())
        emit("\n".join(plan_lines(plan, _SHOWN)))
        if plan.steps and not dry_run and (yes or click.confirm("Carry this out?", err=True)):
            plan = carry_out(cluster, reader.read, planned, float(timeout))
            emit("\n".join(plan_lines(plan)) if plan.refusals else "Quotree is removed")
    click.get_current_context().exit(Exit.FINDINGS if plan.refusals else Exit.CLEAN)
