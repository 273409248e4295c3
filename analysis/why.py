"""Answers of `quotree why -o json` about simulated queues: why work waits, or which quota it has.

The text output is made from such an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

from analysis.simulation import OtherQueues, Simulations
from policies.dialects.yunikorn_config.quotas import queue_amount
from policies.dialects.yunikorn_config.resources import YuniKornAmounts
from policies.model.objects import parted
from scheduling.objects.times import SECOND, elapsed
from scheduling.queue_tree.amounts import Shortage
from scheduling.simulation.simulation import KueueSimulation, UnknownWorkload
from scheduling.visibility import as_json as kueue_json
from scheduling.visibility.explained import explained
from scheduling.visibility.sentence import sentence
from scheduling.visibility.workloads import waiting as waits_in_kueue
from scheduling.volcano.gates.gate_questions import lack_json
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Status
from scheduling.volcano.play.simulation import VolcanoSimulation
from scheduling.volcano.play.waiting import Holders, WaitingPodGroup, WaitingReason, limited_by
from scheduling.volcano.play.waiting import found as found_in_volcano
from scheduling.volcano.resources import PODS, amount_text
from scheduling.yunikorn.as_json import waiting_json as waiting_allocation
from scheduling.yunikorn.simulation import YuniKornSimulation
from scheduling.yunikorn.waiting import found as found_in_yunikorn

API_VERSION = "quotree.dev/v1alpha1"
Answer: TypeAlias = dict[str, Any]


def explained_work(simulations: Simulations, name: str) -> Answer:
    """The answer about work with this name: in Volcano or YuniKorn if they have such work, else in Kueue.

    Raises UnknownWorkload.
    """
    return elsewhere(simulations, name) or _in_kueue(simulations.kueue, name)


def elsewhere(others: OtherQueues, name: str) -> Answer | None:
    """The answer about work in Volcano's or YuniKorn's queues; None if neither has work with this name."""
    volcano = others.volcano
    answers = {
        "PodGroupExplanation": {
            "running": running_groups(volcano, [job] if (job := _job_of(volcano, name)) is not None else []),
            "waiting": waiting_groups(volcano, found_in_volcano(volcano, name)),
        },
        "ApplicationExplanation": {
            "running": running_allocations(others.yunikorn, name),
            "waiting": list(map(waiting_allocation, found_in_yunikorn(others.yunikorn, name))),
        },
    }
    for kind, answer in answers.items():
        if answer["running"] or answer["waiting"]:
            return {"apiVersion": API_VERSION, "kind": kind, **answer}
    return None


# --- Kueue


def _in_kueue(simulation: KueueSimulation, name: str) -> Answer:
    """The answer about a workload. `state` is waiting, running, finished or inNoQueue. Raises UnknownWorkload."""
    head = {"apiVersion": API_VERSION, "kind": "Explanation"}
    try:
        key = simulation.key_of(name)
    except UnknownWorkload:
        if (left := simulation.left_out_of(name)) is None:
            raise
        return {**head, "state": "inNoQueue", "job": left.name._asdict(), "reason": left.reason}
    words = partial(elapsed, simulation.start)
    named, moment = partial(job_json, simulation), partial(seconds, simulation)
    return {**head, **explained(simulation.world, key, simulation.now, named, moment, words=words)}


def waiting_workloads(simulation: KueueSimulation) -> list[Answer]:
    world, words = simulation.world, partial(elapsed, simulation.start)
    named, moment = partial(job_json, simulation), partial(seconds, simulation)
    return [
        kueue_json.waiting_json(each, sentence(world, each, words).text, named, moment)
        for each in waits_in_kueue(world, simulation.now)
    ]


def seconds(simulation: KueueSimulation, time: int) -> int:
    """The seconds since the start of the simulation."""
    return max(0, time - simulation.start) // SECOND


def job_json(simulation: KueueSimulation, key: str) -> dict[str, str]:
    """The job as the files name it, with the name of its Workload."""
    return {**simulation.names[key]._asdict(), "workload": parted(key)[1]}


# --- Volcano


def running_groups(simulation: VolcanoSimulation, jobs: Iterable[GangJob]) -> list[Answer]:
    """The PodGroups among these that have running Pods, with their allocated amounts."""
    return [
        {
            "podGroup": job.name,
            "for": simulation.display_name(job.name),
            "queue": job.group.queue,
            "pods": running,
            "amounts": {name: amount_text(name, held) for name, held in sorted(job.allocated.items()) if name != PODS},
        }
        for job in jobs
        if (running := job.count(Status.RUNNING))
    ]


def waiting_groups(simulation: VolcanoSimulation, every: Iterable[WaitingPodGroup]) -> list[Answer]:
    holders = Holders(simulation)
    return [
        {
            "podGroup": each.group,
            "for": each.display_name,
            "queue": each.queue,
            "phase": each.phase,
            "waiting": each.waits,
            "pods": each.pods,
            "reasons": [_reason(simulation, holders, reason) for reason in each.reasons],
        }
        for each in every
    ]


def _reason(simulation: VolcanoSimulation, holders: Holders, reason: WaitingReason) -> Answer:
    lacks = [_lack(simulation, holders, each) for each in reason.refusal.shortages]
    return {"message": reason.refusal.reason, "pods": reason.pods, "lacks": lacks}


def _lack(simulation: VolcanoSimulation, holders: Holders, lack: Shortage) -> Answer:
    return {
        **lack_json(lack),
        "limitedBy": limited_by(simulation.engine.world.queues, lack),
        "usedBy": [{"for": name, "amount": amount_text(lack.resource, amount)} for name, amount in holders.of(lack)],
    }


def _job_of(simulation: VolcanoSimulation, name: str) -> GangJob | None:
    """The PodGroup of the Job, the PodGroup or the Pod with this name."""
    world = simulation.engine.world
    task = world.tasks.get(name)
    group = task.group if task is not None else simulation.intake.job_named(name)
    return world.jobs.get(group or "")


# --- YuniKorn


def running_allocations(simulation: YuniKornSimulation, name: str = "") -> list[Answer]:
    """The Pods with an allocation: those with this name, or of the application with this name; all if it is empty."""
    return [
        {"pod": key, "application": each.name, "queue": each.leaf.path, "amounts": yunikorn_amounts(ask.amounts)}
        for each in sorted(simulation.scheduler.applications.values(), key=lambda each: each.name)
        for key, ask in sorted(each.allocations.items())
        if name in ("", key, each.name)
    ]


def yunikorn_amounts(amounts: YuniKornAmounts) -> Mapping[str, str]:
    return {name: queue_amount(name, amount) for name, amount in sorted(amounts.items())}
