"""Open, close, pause, resume, move and delete Volcano's queues, each with all its descendants."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cli.exits import EXIT_CODES_OF_ACTIONS, EXIT_CODES_OF_PLANS, Exit, Misused
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.input.settings import settings as read_settings
from cli.output import emit
from cli.subcommands import SubCommands
from policies.configuration.settings import Configuration
from policies.dialects.reading import Manifest, metadata
from policies.model.printing import plain
from scheduling.volcano_queues.states import QueueAction

if TYPE_CHECKING:
    from cluster.client import ClusterClient
    from reconciler.controllers.volcano.by_hand import ByHand
    from scheduling.volcano_queues.plans import OperationPlan
    from scheduling.volcano_queues.tree import VolcanoQueueTree

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def _acting(command: F) -> F:
    """The argument and the options of commands that act on a queue and its descendants."""
    return click.argument("name")(_waiting("-n")(command))


def _waiting(*short: str) -> Callable[[F], F]:
    """The options of commands that have a plan and wait for a controller. `short`: short options of the namespace."""
    namespace = click.option(
        *short,
        "--namespace",
        default="default",
        show_default=True,
        help="The namespace in which Commands to the controller are created.",
    )
    return lambda command: _planning(namespace(command))


def _planning(command: F) -> F:
    for option in reversed(
        (
            click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing."),
            click.option(
                "--timeout",
                type=click.FloatRange(0),
                default=60.0,
                show_default=True,
                help="Seconds without progress until it gives up.",
            ),
            login_option,
            click.option("--config", metavar="FILE", help="Default: QUOTREE_CONFIG."),
        )
    ):
        command = option(command)
    return command


@click.group(cls=SubCommands, epilog=EXIT_CODES_OF_PLANS)
def queue() -> None:
    """Open, close, pause, resume, move and delete Volcano's queues, each with all its descendants.

    What will be done is printed first. A controller carries it out: Volcano's, or quotree serve reconciler with the
    dialect volcano. An operation that was interrupted goes on when the same command is run again.

    \b
    Examples:
      quotree queue list
      quotree queue pause research --dry-run
      quotree queue move vision --to research
    """


@queue.command("open")
@_acting
def open_queue(name: str, **options: Any) -> None:
    """Open the queue NAME, and the descendants that it had closed.

    \b
    Examples:
      quotree queue open research
    """
    from scheduling.volcano_queues import plans

    _run(name, partial(plans.open_, name=name), **options)


@queue.command("close")
@_acting
def close_queue(name: str, **options: Any) -> None:
    """Close the queue NAME and its descendants; what runs goes on.

    \b
    Examples:
      quotree queue close research --dry-run
      quotree queue close research
    """
    from scheduling.volcano_queues import plans

    _run(name, partial(plans.close, name=name), **options)


@queue.command("pause")
@_acting
def pause_queue(name: str, **options: Any) -> None:
    """Close the queue NAME and its descendants, and record which of them took work.

    \b
    Examples:
      quotree queue pause research
    """
    from scheduling.volcano_queues import plans

    _run(name, partial(plans.pause, name=name), **options)


@queue.command("resume")
@_acting
def resume_queue(name: str, **options: Any) -> None:
    """Open exactly those queues that took work when NAME was paused, or when its deletion began.

    \b
    Examples:
      quotree queue resume research
    """
    from scheduling.volcano_queues import plans

    _run(name, partial(plans.resume, name=name), **options)


@queue.command("move")
@click.option("--to", "target", metavar="PARENT", required=True, help="The new parent.")
@_acting
def move_queue(name: str, target: str, config: str | None, **options: Any) -> None:
    """Move the queue NAME with its descendants and their work under another parent.

    The rules judge it before the first step and after each. While it moves the queue takes no work.

    \b
    Examples:
      quotree queue move vision --to research --dry-run
      quotree queue move vision --to root
    """
    from scheduling.volcano_queues import plans

    configuration = read_settings(config, [])
    _run(name, partial(plans.move, name=name, target=target, configuration=configuration), config=config, **options)


def _run(
    name: str,
    planned: Callable[[VolcanoQueueTree], OperationPlan],
    *,
    dry_run: bool,
    timeout: float,
    namespace: str,
    login: ClusterLogin,
    config: str | None,
    confirmed: Callable[[], bool] = lambda: True,
) -> None:
    """Print the plan and carry it out. `confirmed`: asked in between."""
    from reconciler.controllers.volcano.by_hand import ByHand  # here, since it takes long to load

    configuration = read_settings(config, [])
    with login.connected() as cluster:
        hand = ByHand(cluster, configuration, namespace, timeout, lambda step: emit(plain(f"{step} ...")))
        tree = hand.read()
        plan = planned(tree)
        emit("\n".join(map(plain, [*plan.lines, *(f"refused: {each}" for each in plan.refusals)])))
        if plan.refusals:
            click.get_current_context().exit(Exit.FINDINGS)
        if not dry_run and confirmed():
            _carry_out(hand, tree, name, plan)


def _carry_out(hand: ByHand, tree: VolcanoQueueTree, name: str, plan: OperationPlan) -> None:
    from scheduling.volcano_queues.operations import OperationKind

    if plan.command is not None:
        hand.command(tree.queues[name], plan.command)
        emit("done")
    elif plan.operation is not None:
        hand.carry_out(name, plan.operation)
        found = hand.read(work=False).queues.get(name)
        refused = ""
        if plan.operation.kind is OperationKind.MOVE and (found is None or found.parent != plan.operation.target):
            refused = f"{name} is back below {plan.operation.source}" if found is not None else f"{name} is gone"
        elif plan.operation.kind is OperationKind.DELETE and found is not None:
            refused = f"another operation ended the deletion of {name}"
        emit(f"refused: {plain(refused)}" if refused else "done")
        if refused:
            click.get_current_context().exit(Exit.FINDINGS)


# -- as vcctl has them -------------------------------------------------------------------------------------------------


@contextmanager
def _asked(login: ClusterLogin, request: Callable[[], T]) -> Iterator[tuple[ClusterClient, T]]:
    """The cluster and what is asked of it. Raises Misused for what vcctl refuses, before anything is opened."""
    from scheduling.volcano_queues.vcctl import BadRequest

    try:
        wanted = request()
    except BadRequest as error:
        raise Misused(str(error)) from error
    with login.connected() as cluster:
        yield cluster, wanted


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
    from scheduling.volcano_queues.vcctl import children_of

    _table(login, lambda queues: queues if children is None else children_of(queues, children), children or "")


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
    _table(login, lambda queues: [each for each in queues if metadata(each).get("name") == name], name)


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
    from scheduling.volcano_queues.vcctl import drawn

    with login.connected() as cluster:
        queues = _queues(cluster, name)
    emit("\n".join(map(plain, drawn(queues, name))))


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
    from cluster.actions import Create
    from cluster.apply import perform
    from reconciler.controllers.volcano.kinds import QUEUES
    from reconciler.controllers.volcano.queue_writers import FIELD_MANAGER
    from scheduling.volcano_queues.vcctl import new_queue

    with _asked(login, partial(new_queue, name, weight, parent)) as (cluster, body):
        perform(cluster, Create(QUEUES, body, FIELD_MANAGER))


def _queues(cluster: ClusterClient, needed: str) -> list[Manifest]:
    """All queues of the cluster. `needed`: one that must exist, if it is not root. Raises Misused."""
    from reconciler.controllers.volcano.kinds import QUEUES

    found: list[Manifest] = list(cluster.list(QUEUES))
    if needed not in ("", "root", *(metadata(each).get("name") for each in found)):
        raise Misused(f"queue {needed} does not exist; `quotree queue list` lists the queues")
    return found


def _table(login: ClusterLogin, chosen: Callable[[list[Manifest]], list[Manifest]], needed: str) -> None:
    """Print these queues as vcctl does."""
    from reconciler.controllers.volcano.kinds import POD_GROUP
    from scheduling.volcano_queues.vcctl import counts_by_queue, listed

    with login.connected() as cluster:
        text = listed(chosen(_queues(cluster, needed)), counts_by_queue(cluster.list(POD_GROUP.resource)))
    emit("\n".join(map(plain, text.splitlines())))


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
    from cluster.apply import perform
    from reconciler.controllers.volcano.by_hand import ByHand
    from reconciler.controllers.volcano.queue_writes import patch
    from scheduling.volcano_queues.vcctl import requested

    with _asked(login, partial(requested, name, action, weight)) as (cluster, wanted):
        if isinstance(wanted, QueueAction):
            hand = ByHand(cluster, Configuration(), "default", 0, emit)
            found = hand.read().queues.get(name)
            if found is None:
                raise Misused(f"queue {name} does not exist; `quotree queue list` lists the queues")
            hand.give(found, wanted)
        else:
            perform(cluster, patch(name, {"spec": {"weight": wanted}}, ""))


@queue.command("delete", epilog=EXIT_CODES_OF_PLANS)
@click.option("-n", "--name", default="", help="The queue.")
@click.option("--cascade", is_flag=True, help="Delete its descendants first.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the plan is carried out.")
@_waiting()
def delete_queue(
    name: str, cascade: bool, yes: bool, dry_run: bool, timeout: float, namespace: str, login: ClusterLogin, **rest: Any
) -> None:
    """Delete a queue, as vcctl queue delete does; with --cascade also all its descendants.

    With --cascade the plan is shown first. All these queues are closed. Each is deleted after its children, once it has
    no PodGroups. `quotree queue resume` ends a deletion, and opens the queues that are left and that took work before.

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
        _delete_one(name, login)


def _delete_all(name: str, yes: bool, *, dry_run: bool, **options: Any) -> None:
    from scheduling.volcano_queues import plans

    if not name:
        raise Misused("queue name must be specified")
    if not (dry_run or yes or sys.stdin.isatty()):
        raise Misused(
            "standard input is not a terminal, so there is no prompt: add --yes, or --dry-run to see the plan"
        )

    def confirmed() -> bool:
        return yes or click.confirm("Carry this out?", err=True)

    _run(name, partial(plans.delete, name=name), dry_run=dry_run, confirmed=confirmed, **options)


def _delete_one(name: str, login: ClusterLogin) -> None:
    from cluster.actions import Delete
    from cluster.apply import perform
    from reconciler.controllers.volcano.kinds import QUEUES
    from scheduling.volcano_queues.vcctl import check_name

    with _asked(login, partial(check_name, name)) as (cluster, _):
        perform(cluster, Delete(QUEUES, None, name))
