"""Open, close, pause, resume, move and delete Volcano's queues, each with all its descendants."""

from __future__ import annotations

import sys
from typing import Any

import click

from cli.exits import EXIT_CODES_OF_ACTIONS, EXIT_CODES_OF_PLANS, Misused
from cli.input.grouped import Decorator, stacked
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.subcommands import SubCommands


def _plan_options(*short: str) -> Decorator:
    """Add the options of a command that has a plan and waits for a controller.

    `short`: the short forms of --namespace.
    """
    return stacked(
        click.option("--dry-run", is_flag=True, help="Print the plan, and change nothing."),
        click.option(
            "--timeout",
            type=click.FloatRange(0),
            default=60.0,
            show_default=True,
            help="The seconds without progress after which the command gives up.",
        ),
        login_option,
        click.option("--config", metavar="FILE", help="Default: QUOTREE_CONFIG."),
        click.option(
            *short,
            "--namespace",
            default="default",
            show_default=True,
            help="The namespace in which Commands to the controller are created.",
        ),
    )


_operation_options = stacked(click.argument("name"), _plan_options("-n"))


@click.group(cls=SubCommands, epilog=EXIT_CODES_OF_PLANS)
def queue() -> None:
    """Open, close, pause, resume, move and delete Volcano's queues, each with all its descendants.

    Each command prints its plan first. A controller carries the plan out: Volcano's, or `quotree serve reconciler` with
    the dialect volcano. If an operation is interrupted, run the same command again to continue.

    \b
    Examples:
      quotree queue list
      quotree queue pause research --dry-run
      quotree queue move vision --to research
    """


@queue.command("open")
@_operation_options
def open_queue(name: str, **options: Any) -> None:
    """Open the queue NAME, and the descendants that it had closed.

    \b
    Examples:
      quotree queue open research
    """
    _carry_out("open", name, **options)


@queue.command("close")
@_operation_options
def close_queue(name: str, **options: Any) -> None:
    """Close the queue NAME and its descendants; running work continues.

    \b
    Examples:
      quotree queue close research --dry-run
      quotree queue close research
    """
    _carry_out("close", name, **options)


@queue.command("pause")
@_operation_options
def pause_queue(name: str, **options: Any) -> None:
    """Close the queue NAME and its descendants, and record which of them were open.

    \b
    Examples:
      quotree queue pause research
    """
    _carry_out("pause", name, **options)


@queue.command("resume")
@_operation_options
def resume_queue(name: str, **options: Any) -> None:
    """Open exactly the queues that were open when NAME was paused, or when its deletion began.

    \b
    Examples:
      quotree queue resume research
    """
    _carry_out("resume", name, **options)


@queue.command("move")
@click.option("--to", "target", metavar="PARENT", required=True, help="The new parent.")
@_operation_options
def move_queue(name: str, **options: Any) -> None:
    """Move the queue NAME with its descendants and their work under another parent.

    The rules judge the move before the first step and after each step. The queue takes no work during the move.

    \b
    Examples:
      quotree queue move vision --to research --dry-run
      quotree queue move vision --to root
    """
    _carry_out("move", name, **options)


def _carry_out(operation: str, name: str, **options: Any) -> None:
    from cli.actions.volcano_queues import carry_out  # imported late: see cli/actions

    click.get_current_context().exit(carry_out(operation, name, **options))


# -- the commands of vcctl ---------------------------------------------------------------------------------------------


@queue.command("list", epilog=EXIT_CODES_OF_ACTIONS)
@click.option("--children", metavar="NAME", help="Only the queues directly below this one.")
@login_option
def list_queues(children: str | None, login: ClusterLogin) -> None:
    """List all queues with their PodGroups by phase, as vcctl queue list does.

    \b
    Examples:
      quotree queue list
      quotree queue list --children research
    """
    from cli.actions.vcctl import show_children  # imported late: see cli/actions

    show_children(login, children)


@queue.command("get", epilog=EXIT_CODES_OF_ACTIONS)
@click.option("-n", "--name", default="", help="The queue.")
@login_option
def get_queue(name: str, login: ClusterLogin) -> None:
    """Show one queue with its PodGroups by phase, as vcctl queue get does.

    \b
    Examples:
      quotree queue get --name research
    """
    if not name:
        raise Misused("name is mandatory to get the particular queue details")
    from cli.actions.vcctl import show_queue  # imported late: see cli/actions

    show_queue(login, name)


@queue.command("tree", epilog=EXIT_CODES_OF_ACTIONS)
@click.argument("name", default="root")
@login_option
def tree_of_queues(name: str, login: ClusterLogin) -> None:
    """Draw the queue NAME (default: root) and its descendants with their states.

    `quotree tree --against cluster` also shows amounts.

    \b
    Examples:
      quotree queue tree
      quotree queue tree research
    """
    from cli.actions.vcctl import draw_tree  # imported late: see cli/actions

    draw_tree(login, name)


@queue.command("create", epilog=EXIT_CODES_OF_ACTIONS)
@click.option("-n", "--name", default="", help="The queue.")
@click.option("-w", "--weight", type=int, default=1, show_default=True, help="Its weight.")
@click.option("--parent", default="", help="Its parent. Default: root.")
@login_option
def create_queue(name: str, weight: int, parent: str, login: ClusterLogin) -> None:
    """Create a queue, as vcctl queue create does; it opens once a controller manages it.

    \b
    Examples:
      quotree queue create --name vision --parent research
    """
    from cli.actions.vcctl import create  # imported late: see cli/actions

    create(login, name, weight, parent)


@queue.command("operate", epilog=EXIT_CODES_OF_ACTIONS)
@click.option("-n", "--name", default="", help="The queue.")
@click.option("-a", "--action", default="", help="open, close or update.")
@click.option("-w", "--weight", type=int, default=0, help="The weight, for update.")
@login_option
def operate_queue(name: str, action: str, weight: int, login: ClusterLogin) -> None:
    """Open or close a queue, or update its weight, as vcctl queue operate does.

    \b
    Examples:
      quotree queue operate --name research --action close
      quotree queue operate --name research --action update --weight 4
    """
    from cli.actions.vcctl import operate  # imported late: see cli/actions

    operate(login, name, action, weight)


@queue.command("delete", epilog=EXIT_CODES_OF_PLANS)
@click.option("-n", "--name", default="", help="The queue.")
@click.option("--cascade", is_flag=True, help="Delete its descendants first.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the plan is carried out.")
@_plan_options()
def delete_queue(
    name: str, cascade: bool, yes: bool, dry_run: bool, timeout: float, namespace: str, login: ClusterLogin, **rest: Any
) -> None:
    """Delete a queue, as vcctl queue delete does; with --cascade also all its descendants.

    With --cascade the plan is shown first. All these queues are closed. Each is deleted after its children, once it has
    no PodGroups. `quotree queue resume` ends a deletion, and opens the remaining queues that were open before.

    \b
    Examples:
      quotree queue delete --name research
      quotree queue delete --name research --cascade --dry-run
      quotree queue delete --name research --cascade --yes
    """
    if cascade:
        _delete_all(name, yes, dry_run=dry_run, timeout=timeout, namespace=namespace, login=login, **rest)
    elif dry_run:
        raise Misused("--dry-run needs --cascade: one queue is deleted without a plan")
    else:
        from cli.actions.vcctl import delete  # imported late: see cli/actions

        delete(login, name)


def _delete_all(name: str, yes: bool, *, dry_run: bool, **options: Any) -> None:
    if not name:
        raise Misused("queue name must be specified")
    if not (dry_run or yes or sys.stdin.isatty()):
        raise Misused(
            "standard input is not a terminal, so there is no prompt: add --yes, or --dry-run to see the plan"
        )

    def confirmed() -> bool:
        return yes or click.confirm("Carry this out?", err=True)

    _carry_out("delete", name, dry_run=dry_run, confirmed=confirmed, **options)
