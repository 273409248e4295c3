"""Who waits and who runs, as JSON has it: the same for a simulation, a live cluster and the reconciler's own answers.

What a caller may not see is left out, see `Sight`: a reason must not tell of other people's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from scheduling.cycle.explanation import Explanation, Holder, Kept, Lack
from scheduling.cycle.placed import Placed
from scheduling.cycle.standing import Running, Waiting
from scheduling.flavors.messages import written
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.workload import Workload

Named: TypeAlias = Callable[[str], Mapping[str, str]]
"""A workload (`namespace/name`) as its owner knows it."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller may see: work of one namespace or, with "", of all; other ClusterQueues and Cohorts by name."""

    namespace: str = ""
    queues: bool = True

    def of(self, workload: str) -> bool:
        return not self.namespace or workload.partition("/")[0] == self.namespace


def job_of(workload: Workload) -> dict[str, str]:
    """Its job, by the owner that it names: one that many Pods own stands for their group."""
    kinds = {owner.kind for owner in workload.owners}
    if len(workload.owners) == 1:
        kind, name = workload.owners[0].kind, workload.owners[0].name
    else:
        kind, name = "PodGroup" if kinds == {"Pod"} else "Workload", workload.name
    return {"kind": kind, "namespace": workload.namespace, "name": name, "workload": workload.name}


def running_json(each: Running, named: Named) -> dict[str, Any]:
    return {
        "job": dict(named(each.workload)),
        "clusterQueue": each.queue,
        "admitted": each.admitted,
        "podSets": list(map(placed_json, each.placed)),
        "waitsForChecks": list(each.checks),
    }


def waiting_json(
    each: Waiting, named: Named, moment: Callable[[int], Any], sight: Sight | None = None
) -> dict[str, Any]:
    """`moment` puts a time into the form that the reader expects."""
    sight, found = sight or Sight(), each.explanation
    told: dict[str, Any] = {"job": dict(named(each.workload)), "reason": each.reason, "message": each.message}
    if each.not_before:
        told["notBefore"] = moment(each.not_before)
    if each.behind and sight.of(each.behind):
        told["behind"] = dict(named(each.behind))
    elif each.behind:
        told["behindAnother"] = True
    return told if found is None else {**told, **_explanation(found, named, sight)}


def _explanation(found: Explanation, named: Named, sight: Sight) -> dict[str, Any]:
    seen = [key for key in found.victims if sight.of(key)]
    told = {
        "clusterQueue": found.queue,
        "position": found.position,
        "setAside": found.set_aside,
        "lacks": [_lack(lack, found.queue, sight) for lack in found.lacks],
        "others": list(found.others),
        "leaving": [dict(named(key)) for key in seen],
    }
    elsewhere = len(found.victims) - len(seen)
    return {**told, "leavingElsewhere": elsewhere} if elsewhere else told


def placed_json(placed: Placed) -> dict[str, Any]:
    return {
        "name": placed.name,
        "count": placed.count,
        "asked": placed.asked,
        "flavors": dict(sorted(placed.flavors.items())),
        "resourceUsage": {resource: written(resource, amount) for resource, amount in sorted(placed.usage.items())},
    }


def pair_json(pair: FlavorResource) -> dict[str, str]:
    return {"flavor": pair.flavor, "resource": pair.resource}


def _lack(lack: Lack, queue: str, sight: Sight) -> dict[str, Any]:
    def amount(number: int) -> str:
        return written(lack.pair.resource, number)

    obstacle = lack.obstacle
    return {
        "podSet": lack.pod_set,
        **pair_json(lack.pair),
        "wanted": amount(lack.wanted),
        "free": amount(lack.free),
        "ever": lack.ever,
        "obstacle": None
        if obstacle is None
        else {
            "kind": _kind(obstacle.is_queue),
            "name": obstacle.node,
            "limit": obstacle.limit,
            "lacking": amount(obstacle.lacking),
        },
        **_kept(lack.kept, amount, sight),
        **_holders(lack.holders, queue, amount, sight),
    }


def _kept(kept: Iterable[Kept], amount: Callable[[int], str], sight: Sight) -> dict[str, Any]:
    """What others keep to themselves; where these may not be seen only how much that is in all."""
    if sight.queues:
        named = [{"kind": _kind(each.is_queue), "name": each.node, "amount": amount(each.amount)} for each in kept]
        return {"kept": named}
    total = sum(each.amount for each in kept)
    return {"kept": [], **({"keptByOthers": amount(total)} if total else {})}


def _holders(holders: Iterable[Holder], queue: str, amount: Callable[[int], str], sight: Sight) -> dict[str, Any]:
    named, used = [], 0
    for each in holders:
        if sight.queues or each.queue == queue:
            named.append({"clusterQueue": each.queue, "used": amount(each.used), "borrowed": amount(each.borrowed)})
        else:
            used += each.used
    return {"holders": named, **({"heldByOthers": amount(used)} if used else {})}


def _kind(is_queue: bool) -> str:
    return "ClusterQueue" if is_queue else "Cohort"
