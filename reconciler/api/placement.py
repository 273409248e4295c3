"""Which workers a workload with a MultiKueue check is offered to, which one runs it, and why no worker admits it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from reconciler.api.explanation import explanation_json
from reconciler.controllers.placement import PlacementController
from reconciler.core.controller import find
from reconciler.core.core import Core
from scheduling.placement.group import PlacementRefusal
from scheduling.placement.objects import multikueue_state
from scheduling.visibility.as_json import AccessScope
from scheduling.world.world import World

Refusals: TypeAlias = Callable[[str], Iterable[tuple[str, PlacementRefusal]]]
"""Returns why nominated workers do not admit the workload `namespace/name`."""


def explained(core: Core, key: str, now: int, sight: AccessScope | None = None) -> dict[str, Any]:
    """`explanation_json` with the field `placement`, which concerns other clusters.

    Raises KeyError if the workload does not exist.
    """
    controller, world = find(core.controllers, PlacementController), core.state.world
    refused: Refusals = partial(controller.refused, now=now) if controller is not None else lambda _: ()
    return {**explanation_json(world, key, now, sight), **placement_json(world, key, refused)}


def placement_json(world: World, key: str, refused: Refusals | None = None) -> dict[str, Any]:
    """The placement of a workload; empty if it stays on this cluster.

    The caller may read the status of the Workload, and this function shows nothing more.

    `refused`: None for a snapshot, which has only the message of the check.
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
        shown["refused"] = [
            {"cluster": name, "reason": each.reason, "message": each.message} for name, each in refused(key)
        ]
    return {"placement": shown}
