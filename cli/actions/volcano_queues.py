"""Opens, closes, pauses, resumes, moves and deletes Volcano's queues: prints the plan, and carries it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from cli.exits import Exit
from cli.input.login import ClusterLogin
from cli.input.settings import settings as read_settings
from cli.output import emit
from policies.model.printing import plain
from reconciler.controllers.volcano.operation_runner import OperationRunner
from scheduling.volcano_queues import plans
from scheduling.volcano_queues.operations import OperationKind
from scheduling.volcano_queues.plans import OperationPlan
from scheduling.volcano_queues.tree import VolcanoQueueTree

Planner: TypeAlias = Callable[[VolcanoQueueTree, str], OperationPlan]
_PLANNERS: Mapping[str, Planner] = {
    "open": plans.open_,
    "close": plans.close,
    "pause": plans.pause,
    "resume": plans.resume,
    "delete": plans.delete,
}
"""The planner of each command, except `move`, which also needs a target."""


def carry_out(
    act: str,
    name: str,
    *,
    dry_run: bool,
    timeout: float,
    namespace: str,
    login: ClusterLogin,
    config: str | None,
    target: str = "",
    confirmed: Callable[[], bool] = lambda: True,
) -> Exit:
    """Print the plan of a command for the queue and its descendants, and carry it out if `confirmed`.

    `timeout`: the seconds without progress after which it gives up. `namespace`: the namespace for Commands to the
    controller. `target`: the new parent. Raises Misused and OutOfReach.
    """
    configuration = read_settings(config, [])
    with login.connected() as cluster:
        runner = OperationRunner(cluster, configuration, namespace, timeout, lambda step: emit(plain(f"{step} ...")))
        tree = runner.read()
        plan = plans.move(tree, name, target, configuration) if act == "move" else _PLANNERS[act](tree, name)
        emit("\n".join(map(plain, [*plan.lines, *(f"refused: {each}" for each in plan.refusals)])))
        if plan.refusals:
            return Exit.FINDINGS
        return Exit.CLEAN if dry_run or not confirmed() else _done(runner, tree, name, plan)


def _done(runner: OperationRunner, tree: VolcanoQueueTree, name: str, plan: OperationPlan) -> Exit:
    refused = ""
    if plan.command is not None:
        runner.command(tree.queues[name], plan.command)
    elif plan.operation is not None:
        runner.carry_out(name, plan.operation, tree)
        found = runner.read(work=False).queues.get(name)
        if plan.operation.kind is OperationKind.MOVE and (found is None or found.parent != plan.operation.target):
            refused = f"{name} is back below {plan.operation.source}" if found is not None else f"{name} is gone"
        elif plan.operation.kind is OperationKind.DELETE and found is not None:
            refused = f"another operation ended the deletion of {name}"
    else:
        return Exit.CLEAN
    emit(f"refused: {plain(refused)}" if refused else "done")
    return Exit.FINDINGS if refused else Exit.CLEAN
