"""What a change does, as JSON. Its schema is docs/schemas/diff.schema.json; a change of meaning needs a new apiVersion.

Amounts are written as Kubernetes does; null stands for unlimited.
"""

from __future__ import annotations

from typing import Any

from analysis.impact import Impact
from cli.report.as_json import place_json
from policies.impact.differences import NodeChange, PairChange
from policies.impact.quotas import NodeQuotas, PairQuota, QuotaPair, amount_text
from policies.model.objects import Ref, parted
from scheduling.simulation.trace import Evicted, Preempted
from scheduling.visibility.workloads import holding

API_VERSION = "quotree.dev/v1alpha1"


def impact_answer(impact: Impact) -> dict[str, Any]:
    change, found = impact.change, impact.prediction
    return {
        "apiVersion": API_VERSION,
        "kind": "Diff",
        "comparedWith": change.was,
        "applied": len(change.applied.objects) + len(change.applied.rest),
        "deleted": [_ref(each.ref) for each in change.deleted],
        "stillInUse": [
            {
                **_ref(each.ref),
                "jobs": [_job(impact, key) for key in each.workloads],
                "clusterQueues": [*each.queues],
            }
            for each in found.in_use
        ],
        "nodes": [_node(each) for each in impact.nodes],
        "overQuota": [
            {**_ref(each.ref), **_pair(each.pair), **_amounts(each.pair, used=each.used, limit=each.limit)}
            for each in impact.over
        ],
        "lost": [_loss(impact, each) for each in found.lost],
        "restarted": [_loss(impact, each) for each in found.restarted],
        "admitted": [_admitted(impact, key) for key in found.admitted],
        "couldBePreempted": [
            {
                **_ref(each.borrowing.ref),
                **_pair(each.borrowing.pair),
                **_amounts(each.borrowing.pair, used=each.borrowing.used, nominal=each.borrowing.nominal),
                "jobs": [_job(impact, key) for key in each.workloads],
            }
            for each in found.at_risk
        ],
        "elsewhere": [
            {"name": each.name, "queue": each.queue, "podsBefore": each.before, "podsAfter": each.after}
            for each in impact.work_elsewhere
        ],
        "settled": impact.settled,
        "assumptions": [*impact.simulation.intake.assumptions(), *impact.files.assumptions()],
        "unreadable": [{**place_json(item.place), "message": item.message} for item in impact.files.left_out],
    }


def _ref(ref: Ref) -> dict[str, str]:
    return {"group": ref.group, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def _node(node: NodeChange) -> dict[str, Any]:
    return {
        **_ref(node.ref),
        "effect": str(node.effect),
        "parent": {"before": _parent(node.before), "after": _parent(node.after)},
        "quota": [_quotas(each) for each in node.pairs],
    }


def _parent(node: NodeQuotas | None) -> str | None:
    """The parent of a node; empty for a root, null if the node does not exist."""
    return node.parent if node is not None else None


def _quotas(each: PairChange) -> dict[str, Any]:
    return {**_pair(each.pair), "before": _quota(each.pair, each.before), "after": _quota(each.pair, each.after)}


def _quota(pair: QuotaPair, quota: PairQuota) -> dict[str, str | None]:
    return _amounts(pair, **quota._asdict())


def _amounts(pair: QuotaPair, **amounts: int | None) -> dict[str, str | None]:
    return {word: None if amount is None else amount_text(pair.resource, amount) for word, amount in amounts.items()}


def _pair(pair: QuotaPair) -> dict[str, str]:
    return {"flavor": pair.flavor, "resource": pair.resource}


def _loss(impact: Impact, each: Evicted | Preempted) -> dict[str, Any]:
    found = {
        "what": each.what,
        "job": _job(impact, each.workload),
        "clusterQueue": each.queue,
        "reason": each.reason,
        "message": each.message,
    }
    if isinstance(each, Preempted):
        found |= {"for": _job(impact, each.preemptor), "forQueue": each.preemptor_queue}
    return found


def _admitted(impact: Impact, key: str) -> dict[str, Any]:
    world = impact.simulation.world
    held = holding(world, world.workloads[key])
    placed = [
        {"podSet": pod_set.name, **each._asdict(), "values": list(each.values)}
        for pod_set in held.pod_sets
        for each in (pod_set.places.domains if pod_set.places is not None else ())
    ]
    domains = {"domains": placed} if placed else {}
    return {"job": _job(impact, key), "clusterQueue": held.queue, **domains}


def _job(impact: Impact, key: str) -> dict[str, str]:
    """The job as the files name it, with the name of its Workload."""
    return {**impact.simulation.names[key]._asdict(), "workload": parted(key)[1]}
