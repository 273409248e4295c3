"""Where a workload with a MultiKueue check is offered or runs, and why no worker admits it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from reconciler.api.explanation import explanation_json
from reconciler.controllers.placement import PlacementController
from reconciler.core.core import Core
from scheduling.placement.objects import multikueue_state
from scheduling.placement.refusals import PlacementRefusal
from scheduling.visibility.as_json import AccessScope
from scheduling.world.world import World

Refusals: TypeAlias = Callable[[str], Iterable[tuple[str, PlacementRefusal]]]
"""Why each worker that was asked refuses the workload `namespace/name`."""


def explained(core: Core, key: str, now: int, sight: AccessScope | None = None) -> dict[str, Any]:
    """`explanation_json` with `placement`, which describes other clusters.

    Raises KeyError if the workload does not exist.
    """
    controller = next(
        (controller for controller in core.controllers if isinstance(controller, PlacementController)), None
    )
    return {
        **explanation_json(core.state.world, key, now, sight),
        **placement_json(
            core.state.world, key, partial(controller.refused, now=now) if controller is not None else _nobody
        ),
    }


def placement_json(world: World, key: str, refused: Refusals | None = None) -> dict[str, Any]:
    """The placement of a workload; empty if it stays on this cluster.

    A snapshot has no `refused`: there the message of the check says it all. The message and the refusals say no more
    than the status of the Workload, which the caller may read.
    """
    workload = world.workloads[key]
    state = multikueue_state(workload.checks, world.checks)
    if state is None or workload.finished:
        return {}
    shown: dict[str, Any] = {
        "check": state.name,
        "state": state.state,
        "message": state.message,
        "nominated": list(workload.nominated),
        "cluster": workload.cluster or None,
    }
    if refused is not None:
        shown["refused"] = [{"cluster": name, **_refusal(each)} for name, each in refused(key)]
    return {"placement": shown}


def _refusal(each: PlacementRefusal) -> dict[str, str]:
    return {"reason": each.reason, "message": each.message}


def _nobody(_: str) -> tuple[()]:
    return ()
