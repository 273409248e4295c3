"""Waiting and running workloads as JSON, for simulations, live clusters and the reconciler's API.

An explanation must not reveal other users' work, so objects that the caller may not read are left out (`AccessScope`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from policies.model.objects import parted
from scheduling.flavors.messages import amount_text, text
from scheduling.objects.amounts import FlavorResource, minus
from scheduling.objects.workload import Workload
from scheduling.topology.domains import domain_name
from scheduling.topology.workload_places import TopologyShortage
from scheduling.visibility.explanation import Explanation, FlavorLack, KeptBack, QuotaHolders
from scheduling.visibility.places import AdmittedPodSet, PodSetPlaces
from scheduling.visibility.raising import Raise
from scheduling.visibility.remedy import SoleRaise
from scheduling.visibility.workloads import RunningWorkload, WaitingWorkload

JobReference: TypeAlias = Callable[[str], Mapping[str, str]]
"""Describes the job of a workload (`namespace/name`)."""


@dataclass(frozen=True, slots=True)
class AccessScope:
    """The objects that a caller may read.

    namespace: the namespace whose workloads it may read; empty for all.
    queues: whether it may read the names of all queues.
    """

    namespace: str = ""
    queues: bool = True

    def of(self, workload: str) -> bool:
        return not self.namespace or parted(workload)[0] == self.namespace


def job_of(workload: Workload) -> dict[str, str]:
    """The job of the workload: its only owner, or the pod group if many Pods own it."""
    return owners_job([(owner.kind, owner.name) for owner in workload.owners], workload.namespace, workload.name)


def owners_job(owners: Sequence[tuple[str, str]], namespace: str, workload: str) -> dict[str, str]:
    if len(owners) == 1:
        kind, name = owners[0]
    else:
        kind, name = "PodGroup" if {kind for kind, _ in owners} == {"Pod"} else "Workload", workload
    return {"kind": kind, "namespace": namespace, "name": name, "workload": workload}


def running_json(each: RunningWorkload, named: JobReference) -> dict[str, Any]:
    return {
        "job": dict(named(each.workload)),
        "clusterQueue": each.queue,
        "admitted": each.admitted,
        "podSets": list(map(pod_set_json, each.pod_sets)),
        "waitsForChecks": list(each.checks),
    }


def waiting_json(
    each: WaitingWorkload,
    sentence: str,
    named: JobReference,
    moment: Callable[[int], Any],
    scope: AccessScope | None = None,
) -> dict[str, Any]:
    """A waiting workload.

    sentence: why it waits, from `scheduling.visibility.sentence`.
    moment: formats a time for the reader.
    scope: the objects that the caller may read; None for all.
    """
    scope, found = scope or AccessScope(), each.explanation
    content: dict[str, Any] = {"job": dict(named(each.workload)), "sentence": sentence}
    content |= {"reason": each.reason, "message": each.message}
    if each.not_before:
        content["notBefore"] = moment(each.not_before)
    if each.behind and scope.of(each.behind):
        content["behind"] = dict(named(each.behind))
    elif each.behind:
        content["behindAnother"] = True
    if found is None:
        return content
    content |= _explanation(found, named, scope)
    helps = found.remedy if not (each.not_before or each.behind) else None
    return {**content, "remedy": _remedy(found.queue, helps)} if helps is not None else content


def _remedy(queue: str, found: SoleRaise) -> dict[str, Any]:
    """The quota to raise. It is of the workload's own queue, which a caller who may read the workload may read, too."""
    now, needed = (amount_text(found.pair.resource, each) for each in (found.place.now, found.place.needed))
    more = amount_text(found.pair.resource, minus(found.place.needed, found.place.now))
    return {"clusterQueue": queue, **pair_json(found.pair), "from": now, "to": needed, "more": more}


def _explanation(found: Explanation, named: JobReference, scope: AccessScope) -> dict[str, Any]:
    readable = [key for key in found.victims if scope.of(key)]
    content = {
        "clusterQueue": found.queue,
        "position": found.position,
        "setAside": found.inadmissible,
        "lacks": [_lack(lack, found.queue, scope) for lack in found.lacks],
        "others": list(map(text, found.others)),
        "leaving": [dict(named(key)) for key in readable],
    }
    if found.shortages:
        content["domains"] = list(map(_shortage, found.shortages))
    elsewhere = len(found.victims) - len(readable)
    return {**content, "leavingElsewhere": elsewhere} if elsewhere else content


def _shortage(short: TopologyShortage) -> dict[str, Any]:
    values = short.domain.values
    return {
        "podSet": short.pod_set,
        "flavor": short.flavor,
        "level": short.levels[len(values) - 1] if values else None,
        "name": domain_name(short.levels, values) if values else None,
        "values": list(values),
        "room": short.domain.room,
        "needed": short.domain.needed,
        "unit": short.domain.unit,
        "ofSlice": short.domain.of_slice,
        "ever": short.ever,
    }


def pod_set_json(pod_set: AdmittedPodSet) -> dict[str, Any]:
    content = {
        "name": pod_set.name,
        "count": pod_set.count,
        "asked": pod_set.requested,
        "flavors": dict(sorted(pod_set.flavors.items())),
        "resourceUsage": {
            resource: amount_text(resource, amount) for resource, amount in sorted(pod_set.usage.items())
        },
    }
    return {**content, "topology": _places(pod_set.places)} if pod_set.places is not None else content


def _places(places: PodSetPlaces) -> dict[str, Any]:
    return {
        "levels": list(places.levels),
        "level": places.level,
        "domains": [{**each._asdict(), "values": list(each.values)} for each in places.domains],
        "lowest": [{**each._asdict(), "values": list(each.values)} for each in places.lowest],
    }


def pair_json(pair: FlavorResource) -> dict[str, str]:
    return {"flavor": pair.flavor, "resource": pair.resource}


def _lack(lack: FlavorLack, queue: str, scope: AccessScope) -> dict[str, Any]:
    def amount(number: int) -> str:
        return amount_text(lack.pair.resource, number)

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
        **_raises(lack.raises, queue, amount, scope),
        **_kept(lack.kept, amount, scope),
        **_holders(lack.holders, queue, amount, scope),
    }


def _raises(places: Sequence[Raise], queue: str, amount: Callable[[int], str], scope: AccessScope) -> dict[str, Any]:
    """The limits that could be raised. Of limits that the caller may not read, there is only the number."""
    readable = [each for each in places if scope.queues or (each.is_queue and each.node == queue)]
    named = [
        {
            "kind": _kind(each.is_queue),
            "name": each.node,
            "limit": each.limit,
            "from": amount(each.now),
            "to": amount(each.needed),
        }
        for each in readable
    ]
    elsewhere = len(places) - len(readable)
    return {"raise": named, **({"raiseElsewhere": elsewhere} if elsewhere else {})}


def _kept(kept: Iterable[KeptBack], amount: Callable[[int], str], scope: AccessScope) -> dict[str, Any]:
    """The amounts that other nodes withhold. If the caller may not read their names, there is only the total."""
    if scope.queues:
        named = [{"kind": _kind(each.is_queue), "name": each.node, "amount": amount(each.amount)} for each in kept]
        return {"kept": named}
    total = sum(each.amount for each in kept)
    return {"kept": [], **({"keptByOthers": amount(total)} if total else {})}


def _holders(found: QuotaHolders, queue: str, amount: Callable[[int], str], scope: AccessScope) -> dict[str, Any]:
    """The queues that use the quota, and the sums of the rest. The number of unreadable queues is left out."""
    readable = [each for each in found.first if scope.queues or each.queue == queue]
    named = [
        {"clusterQueue": each.queue, "used": amount(each.used), "borrowed": amount(each.borrowed)} for each in readable
    ]
    if scope.queues:
        rest = {"count": found.others, "used": amount(found.used), "borrowed": amount(found.borrowed)}
        return {"holders": named, **({"moreHolders": rest} if found.others else {})}
    used = found.used + sum(each.used for each in found.first) - sum(each.used for each in readable)
    return {"holders": named, **({"heldByOthers": amount(used)} if used else {})}


def _kind(is_queue: bool) -> str:
    return "ClusterQueue" if is_queue else "Cohort"
