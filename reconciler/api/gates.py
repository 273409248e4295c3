"""YuniKorn's queues with their usage, if scheduling gates enforce their quota. Call this in the loop's thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policies.dialects.yunikorn import VCORE
from policies.dialects.yunikorn_config.quotas import queue_amount
from reconciler.controllers.gates.controller import GatesController, K
from reconciler.controllers.yunikorn.gates import QuotaGatesController
from reconciler.core.controller import find
from reconciler.core.core import Core
from scheduling.yunikorn.as_json import queue_node, row
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.usage import Applications, applications_below


class NoGates(LookupError):
    """This process does not enforce the quota. The message names the project."""


def gatekeeper(core: Core, kind: type[GatesController[K]]) -> K | None:
    """The object that enforces a project's quota, up to date; None if this process has none.

    With `--mode observe` there is one as well.
    """
    controller = find(core.controllers, kind)
    if controller is None:
        return None
    controller.keeper.refresh()
    return controller.keeper


def keeper(core: Core) -> YuniKornGatekeeper:
    """The object that enforces YuniKorn's quota. Raises NoGates if there is none."""
    found = gatekeeper(core, QuotaGatesController)
    if found is None:
        raise NoGates("this process does not enforce YuniKorn's quota")
    return found


def queue_counts(core: Core) -> list[tuple[str, Applications]]:
    """The path of each queue with its applications, parents first."""
    scheduler = keeper(core).scheduler
    counts = applications_below(scheduler)
    return [(queue.path, counts[queue]) for queue in scheduler.tree.root.walk()]


def queue_nodes(core: Core, counts: Iterable[tuple[str, Applications]]) -> list[dict[str, Any]]:
    """The JSON of these queues, as far as they still exist."""
    queues = keeper(core).scheduler.tree.queues
    found = ((queues.get(path.lower()), each) for path, each in counts)
    return [queue_node(queue, each) for queue, each in found if queue is not None]


def namespace_names(core: Core) -> list[str]:
    """The Namespaces with a valid quota."""
    return sorted(name for name, _ in keeper(core).spaces.quotas())


def namespace_nodes(core: Core, names: Iterable[str]) -> list[dict[str, Any]]:
    """The JSON of these Namespaces, as far as they still have a quota. Only Pods that have passed the gate count."""
    found = keeper(core)
    return [
        {
            "dialect": "YuniKorn",
            "kind": "Namespace",
            "name": name,
            "parent": found.spaces.parent_of(name) or None,
            "quota": [_row(each, most, found.counts.used(name, each)) for each, most in sorted(quota.items())],
        }
        for name in names
        if (quota := found.spaces.quota(name))
    ]


def _row(resource: str, most: int, used: int) -> dict[str, Any]:
    name = "cpu" if resource == VCORE else resource
    return row(name, {"max": queue_amount(resource, most), "used": queue_amount(resource, used)})
