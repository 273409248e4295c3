"""Why flavors cannot serve a job, apart from quota, and what helps, in words for its owner.

`scheduling.flavors.messages` has Kueue's words for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from policies.dialects.node_affinity import node_affinity
from scheduling.flavors.messages import text
from scheduling.flavors.reasons import (
    FlavorNotAllowed,
    FlavorOfPredecessor,
    ForTopology,
    Missing,
    Reason,
    Undeclared,
    Unselected,
    Untolerated,
    WithoutLevel,
    WithoutTopology,
)
from scheduling.objects.queue_settings import ClusterQueueSettings
from scheduling.objects.requests import total_requests
from scheduling.objects.workload import ALLOWED_FLAVORS, Workload
from scheduling.quota.state import QuotaState
from scheduling.world.world import World

_MOST = 3
"""How many resources, flavors or labels are named in a list, since an Event has at most 1024 characters."""


class Exclusion(NamedTuple):
    """Why a workload cannot use a flavor.

    text: the reason.
    owner: what the owner of the job can do; empty if nothing.
    administrator: what an administrator can do; empty if nothing.
    """

    text: str
    owner: str = ""
    administrator: str = ""


def exclusions(
    world: World, settings: ClusterQueueSettings, workload: Workload, reasons: Iterable[Reason]
) -> list[Exclusion]:
    """The exclusions of flavors in the ClusterQueue with these settings, without repetition."""
    once = tuple(dict.fromkeys(reasons))
    others = [reason for reason in once if not isinstance(reason, Undeclared)]
    found = [_undeclared(settings, _uncovered(world, settings, workload))] if len(others) < len(once) else []
    return [*found, *(_of_flavor(world.state, settings, workload, reason) for reason in others)]


def _uncovered(world: World, settings: ClusterQueueSettings, workload: Workload) -> list[str]:
    """All requested resources without quota. An attempt ends at the first one, so its reasons have only that."""
    requests = total_requests(world.entry(workload).workload, world.counting)
    asked = {resource for each in requests for resource, amount in each.requests.items() if amount}
    return sorted(resource for resource in asked if settings.group_of(resource) is None)


def _undeclared(settings: ClusterQueueSettings, resources: list[str]) -> Exclusion:
    named, queue = _some(resources), f"ClusterQueue {settings.name}"
    covered = _some([*_covered(settings)])
    return Exclusion(
        f"it requests {named}, and {queue} has quota {f'only for {covered}' if covered else 'for nothing'}",
        f"request none of {named}" if len(resources) > 1 else f"request no {named}",
        f"have {named} added to a resource group of {queue}",
    )


def _covered(settings: ClusterQueueSettings) -> Iterator[str]:
    for group in settings.groups:
        yield f"{_some(sorted(group.resources))} of flavor{'s' * (len(group.flavors) > 1)} {_some(group.flavors)}"


def _some(names: Sequence[str]) -> str:
    shown = [*names[:_MOST], *([f"{len(names) - _MOST} more"] if len(names) > _MOST else [])]
    *first, last = shown or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _of_flavor(state: QuotaState, settings: ClusterQueueSettings, workload: Workload, reason: Reason) -> Exclusion:
    match reason:
        case Missing(flavor):
            return Exclusion(f"ResourceFlavor {flavor} does not exist", "", f"have ResourceFlavor {flavor} created")
        case FlavorNotAllowed(flavor):
            return Exclusion(
                f"the annotation {ALLOWED_FLAVORS} does not name flavor {flavor}", f"name {flavor} in the annotation"
            )
        case FlavorOfPredecessor(flavor, held):
            return Exclusion(
                f"flavor {flavor} cannot be used, since the workload that it replaces has flavor {held}",
                f"wait until flavor {held} has room",
            )
        case ForTopology(flavor):
            return Exclusion(
                f"flavor {flavor} is only for pods that request a topology",
                "",
                f"have a flavor without topologyName added to ClusterQueue {settings.name}",
            )
        case WithoutTopology(flavor):
            return Exclusion(
                f"flavor {flavor} has no topology, and its pods request one", "remove the topology request of its pods"
            )
        case WithoutLevel(flavor):
            levels = _some(_levels(state, flavor))
            return Exclusion(
                f"its pods request a level that the topology of flavor {flavor} does not have",
                f"request one of its levels, which are {levels}",
            )
        case Untolerated(flavor, taint):
            named = f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
            return Exclusion(
                f"its pods do not tolerate the taint {named} of flavor {flavor}", f"add a toleration of {named}"
            )
        case Unselected(flavor):
            return _unselected(state, workload, flavor)
        case _:
            return Exclusion(text(reason))


def _levels(state: QuotaState, flavor: str) -> tuple[str, ...]:
    known = state.fleet.flavors.get(flavor) if state.fleet is not None else None
    return known.tree.levels if known is not None else ()


def _unselected(state: QuotaState, workload: Workload, name: str) -> Exclusion:
    """The exclusion by node labels. It names the labels that differ, if they are in the nodeSelector."""
    flavor = state.flavors.get(name)
    labels = flavor.labels if flavor is not None else {}
    selected = {pair for pod_set in workload.pod_sets for pair in node_affinity(pod_set.template.spec).selector}
    apart = sorted(pair for pair in selected if labels.get(*pair) != pair[1])[:_MOST]
    if not apart:
        return Exclusion(
            f"the node affinity of its pods excludes the nodes of flavor {name} ({_listed(sorted(labels.items()))})",
            "change the node affinity of its pods",
        )
    has = sorted({(key, labels[key]) for key, _ in apart})
    return Exclusion(
        f"its pods select nodes with {_listed(apart)}, and those of flavor {name} have {_listed(has)}",
        "change the nodeSelector of its pods",
    )


def _listed(labels: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{key}={value}" for key, value in islice(labels, _MOST))
