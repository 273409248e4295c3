"""Remove Quotree from a cluster."""

from __future__ import annotations

import sys

import click

from cli.exits import EXIT_CODES_OF_PLANS, Misused
from cli.input.installed import installed, step_timeout
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from policies.takeover.objects import ReleaseNames
from policies.takeover.removal import Wishes


@click.command(epilog=EXIT_CODES_OF_PLANS)
@click.option("--dry-run", is_flag=True, help="Show the plan; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the plan is carried out.")
@click.option("--resume-jobs", is_flag=True, help="Start the jobs that wait in a queue: they run without quota.")
@click.option("--crds", is_flag=True, help="Delete the definitions that Quotree installed, with all their objects.")
@installed
@login_option
@step_timeout
def uninstall(
    dry_run: bool, yes: bool, resume_jobs: bool, crds: bool, names: ReleaseNames, login: ClusterLogin, timeout: int
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
    from cli.actions.takeover import remove  # imported late: see cli/actions

    def confirmed() -> bool:
        return not dry_run and (yes or click.confirm("Carry this out?", err=True))

    click.get_current_context().exit(remove(login, names, float(timeout), Wishes(resume_jobs, crds), confirmed))
