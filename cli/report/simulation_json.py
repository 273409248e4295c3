"""What came of a simulation as JSON. Times are seconds since its start; amounts are written as Kubernetes does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cli.given import Unreadable
from cli.report.usage import QuotasInUse
from cli.simulated import place_json
from cli.tree import node_entry
from cli.trees import cycles, walk
from policies.dialects import kueue
from policies.forest import Forest
from scheduling.cycle.explanation import Explanation, Lack
from scheduling.flavors.messages import written
from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource
from scheduling.simulation.happening import Evicted, Happening, Loan, Placed, Played, Preempted, Reserved
from scheduling.simulation.simulation import Simulation
from scheduling.simulation.standing import Running, Waiting, running, waiting, waits

API_VERSION = "quotree.dev/v1alpha1"


def simulation_json(simulation: Simulation, forest: Forest, unreadable: Sequence[Unreadable]) -> str:
    finished = sorted(key for key, workload in simulation.world.workloads.items() if workload.finished)
    answer = {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "start": times.written(simulation.start),
        "seconds": _seconds(simulation, simulation.now),
        "settled": not simulation.unsettled,
        "fairSharing": simulation.settings.options.fair_sharing,
        "assumptions": simulation.intake.assumptions(),
        "happened": [_happening(simulation, each) for each in simulation.happened],
        "running": [_running(simulation, each) for each in running(simulation)],
        "waiting": [_waiting(simulation, each) for each in waiting(simulation)],
        "finished": [_job(simulation, key) for key in finished],
        "inNoQueue": [{**each.name._asdict(), "reason": each.reason} for each in simulation.left_out.values()],
        "nodes": _nodes(simulation, forest),
        "cycles": [[ref.name for ref in cycle] for cycle in cycles(forest)],
        "unreadable": [{**place_json(item.place), "message": item.message} for item in unreadable],
    }
    return json.dumps(answer, indent=2, ensure_ascii=False)


def why_json(simulation: Simulation, called: str) -> dict[str, Any]:
    """One workload: `state` is waiting, running, finished or inNoQueue. Raises UnknownWorkload."""
    head = {"apiVersion": API_VERSION, "kind": "Explanation"}
    if (left := simulation.left_out_of(called)) is not None:
        return {**head, "state": "inNoQueue", "job": left.name._asdict(), "reason": left.reason}
    key = simulation.key_of(called)
    found = waits(simulation, key)
    if found is not None:
        return {**head, "state": "waiting", **_waiting(simulation, found)}
    for each in running(simulation):
        if each.workload == key:
            return {**head, "state": "running", **_running(simulation, each)}
    return {**head, "state": "finished", "job": _job(simulation, key)}


def _seconds(simulation: Simulation, moment: int) -> int:
    return max(0, moment - simulation.start) // times.SECOND


def _job(simulation: Simulation, key: str) -> dict[str, str]:
    """The job as it was given, with the name of its Workload."""
    return {**simulation.names[key]._asdict(), "workload": key.partition("/")[2]}


def _happening(simulation: Simulation, each: Happening) -> dict[str, Any]:
    told: dict[str, Any] = {"what": _what(each), "at": _seconds(simulation, each.at)}
    if isinstance(each, Played):
        return {**told, "event": each.event}
    told["job"] = _job(simulation, each.workload)
    if isinstance(each, Preempted):
        preemptor = {"for": _job(simulation, each.preemptor), "forQueue": each.preemptor_queue}
        return {**told, "clusterQueue": each.queue, "reason": each.reason, "message": each.message, **preemptor}
    if isinstance(each, Evicted):
        return {**told, "clusterQueue": each.queue, "reason": each.reason, "message": each.message}
    if isinstance(each, Reserved):
        held = {"podSets": list(map(_placed, each.placed)), "borrowed": list(map(_loan, each.loans))}
        return {**told, "clusterQueue": each.queue, **held, "waitsForChecks": list(each.checks)}
    return told


def _what(each: Happening) -> str:
    if isinstance(each, Reserved):
        return "admitted" if each.admitted else "reserved"
    return type(each).__name__.lower()


def _placed(placed: Placed) -> dict[str, Any]:
    return {
        "name": placed.name,
        "count": placed.count,
        "asked": placed.asked,
        "flavors": dict(sorted(placed.flavors.items())),
        "resourceUsage": _amounts(placed.usage),
    }


def _amounts(usage: Mapping[str, int]) -> dict[str, str]:
    return {resource: written(resource, amount) for resource, amount in sorted(usage.items())}


def _loan(loan: Loan) -> dict[str, str]:
    return {**_pair(loan.pair), "amount": written(loan.pair.resource, loan.amount), "from": loan.lender}


def _pair(pair: FlavorResource) -> dict[str, str]:
    return {"flavor": pair.flavor, "resource": pair.resource}


def _running(simulation: Simulation, each: Running) -> dict[str, Any]:
    return {
        "job": _job(simulation, each.workload),
        "clusterQueue": each.queue,
        "admitted": each.admitted,
        "podSets": list(map(_placed, each.placed)),
        "waitsForChecks": list(each.checks),
    }


def _waiting(simulation: Simulation, each: Waiting) -> dict[str, Any]:
    found = each.explanation
    told: dict[str, Any] = {"job": _job(simulation, each.workload), "reason": each.reason, "message": each.message}
    if each.not_before:
        told["notBefore"] = _seconds(simulation, each.not_before)
    if each.behind:
        told["behind"] = _job(simulation, each.behind)
    return told if found is None else {**told, **_explanation(simulation, found)}


def _explanation(simulation: Simulation, found: Explanation) -> dict[str, Any]:
    return {
        "clusterQueue": found.queue,
        "position": found.position,
        "setAside": found.set_aside,
        "lacks": list(map(_lack, found.lacks)),
        "others": list(found.others),
        "leaving": [_job(simulation, key) for key in found.victims],
    }


def _lack(lack: Lack) -> dict[str, Any]:
    def amount(number: int) -> str:
        return written(lack.pair.resource, number)

    obstacle = lack.obstacle
    return {
        "podSet": lack.pod_set,
        **_pair(lack.pair),
        "wanted": amount(lack.wanted),
        "free": amount(lack.free),
        "ever": lack.ever,
        "obstacle": None
        if obstacle is None
        else {
            "kind": "ClusterQueue" if obstacle.is_queue else "Cohort",
            "name": obstacle.node,
            "limit": obstacle.limit,
            "lacking": amount(obstacle.lacking),
        },
        "kept": [
            {"kind": "ClusterQueue" if kept.is_queue else "Cohort", "name": kept.node, "amount": amount(kept.amount)}
            for kept in lack.kept
        ],
        "holders": [
            {"clusterQueue": holder.queue, "used": amount(holder.used), "borrowed": amount(holder.borrowed)}
            for holder in lack.holders
        ],
    }


def _nodes(simulation: Simulation, forest: Forest) -> list[dict[str, Any]]:
    spots = [spot for spot in walk(forest) if spot.ref.group == kueue.GROUP]
    quotas = QuotasInUse(forest, [spot.ref for spot in spots], simulation)
    return [node_entry(forest, quotas, spot) for spot in spots]
