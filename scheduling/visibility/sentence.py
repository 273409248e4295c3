"""Why a workload waits, in one plain sentence for its owner: which queue, what is short and by how much, what for.

It names the workload's own queues and flavors, and of the work of others no more than a number: everybody who may read
Events of the namespace reads it. `scheduling.flavors.messages` has Kueue's words for the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from policies.model.suggestion import close
from scheduling.flavors.messages import written
from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource, minus
from scheduling.objects.inadmissible_reasons import (
    ADMISSION_GATED,
    EXCEEDS_MAX_QUOTA,
    MISCONFIGURED,
    NO_MATCHING_FLAVOR,
    PENDING_EVALUATION,
    SUSPENDED,
)
from scheduling.objects.queue_settings import ResourceGroup
from scheduling.objects.workload import EVICTED, Workload
from scheduling.quota.node import QuotaNode
from scheduling.status.checks import READY
from scheduling.visibility.explanation import Explanation, Holder, Kept, Lack, TreeCache
from scheduling.visibility.workloads import Waiting, waits
from scheduling.world.world import World

_MOST = 3
"""Flavors, LocalQueues and reasons that are named."""


class Sentence(NamedTuple):
    """`gist` differs where it is news: amounts and the number of those ahead are not in it. `stuck`: time alone does
    not help, somebody has to change the job or a queue."""

    text: str
    gist: Hashable
    stuck: bool = False


class _Nobody(TreeCache):
    """Does without the holders of a tree, which are of no concern here and take a walk through all of its queues."""

    def __init__(self) -> None:
        super().__init__()
        self.lenders = None

    def holders(self, node: QuotaNode, pair: FlavorResource) -> tuple[Holder, ...]:  # noqa: ARG002, as it is there
        return ()

    def kept(self, node: QuotaNode, pair: FlavorResource, *, ever: bool = False) -> tuple[Kept, ...]:  # noqa: ARG002
        return ()


_NOBODY = _Nobody()


def why_it_waits(world: World, key: str, now: int) -> Sentence | None:
    """Of the workload `namespace/name`; None where it is unknown, is about to stop or start, runs, or has ended."""
    workload = world.workloads.get(key)
    if workload is None or workload.finished or workload.deleting:
        return None
    if workload.counts:
        return _checks(workload) if not (workload.admitted or workload.evicted) else None
    found = waits(world, key, now, trees=_NOBODY)
    if found is None:
        return None
    if found.explanation is None:
        return _deactivated(workload) if not workload.active else None
    return _queued(world, workload, found, found.explanation)


def missing_queue(world: World, workload: Workload) -> str:
    """What is wrong with the LocalQueue that it names, where there is none of that name; else empty."""
    if workload.local_queue in world.queues.local_queues:
        return ""
    if not workload.queue:
        return "it names no LocalQueue; name one with the label kueue.x-k8s.io/queue-name"
    return f"LocalQueue {workload.local_queue} does not exist; {_instead(world, workload)}"


def stopped(world: World, queue: str) -> str:
    """Why the ClusterQueue tries nobody, empty where it does. What of its tree is broken is for who may see that."""
    found = world.state.queues[queue]
    if world.stop(found):
        return f"ClusterQueue {queue} admits nothing: something in its tree is marked as broken"
    return f"ClusterQueue {queue} is inactive: {found.inactive}" if found.inactive else ""


def _instead(world: World, workload: Workload) -> str:
    names = sorted(each.key.partition("/")[2] for each in world.queues.local_queues_in(workload.namespace))
    if near := close(workload.queue, names):
        return f"did you mean {near}?"
    if not names:
        return f"there is none in Namespace {workload.namespace}"
    more = " and others" if len(names) > _MOST else ""
    return f"Namespace {workload.namespace} has {', '.join(names[:_MOST])}{more}"


def _deactivated(workload: Workload) -> Sentence:
    evicted = workload.holding(EVICTED)
    why = f" ({evicted.message})" if evicted is not None and evicted.message else ""
    text = f"Workload {workload.name} is deactivated{why}; set its spec.active to true to queue it again"
    return Sentence(text, text, stuck=True)


def _checks(workload: Workload) -> Sentence | None:
    """It has quota, and others have to agree."""
    open_ = [(each.name, each.state) for each in workload.checks if each.state != READY]
    if not open_ or workload.admission is None:
        return None
    named = ", ".join(f"{name} is {state}" for name, state in open_)
    queue = workload.admission.cluster_queue
    text = f"Quota is reserved in ClusterQueue {queue}; waiting for admission checks: {named}"
    return Sentence(text, (queue, *open_))


def _queued(world: World, workload: Workload, found: Waiting, why: Explanation) -> Sentence:
    if missing := missing_queue(world, workload):
        return Sentence(missing[0].upper() + missing[1:], missing, stuck=True)
    local = world.queues.local_queues[workload.local_queue]
    door = f"LocalQueue {workload.local_queue}"
    if why.reason == ADMISSION_GATED:
        return Sentence(f"Waiting at {door}: {why.message}", (door, why.message))
    if not why.queue and local.stopped:
        return Sentence(f"{door} is stopped and admits nothing", (door, local.stopped))
    if not why.queue:
        text = f"{door} leads to ClusterQueue {local.cluster_queue}, which does not exist"
        return Sentence(text, text, stuck=True)
    parts, gist = _parts(world, found, why)
    if why.position is not None and why.position > 1:
        ahead = why.position - 1
        parts.append(f"{ahead} workload{'s are' if ahead > 1 else ' is'} ahead")
    stuck = why.reason in (EXCEEDS_MAX_QUOTA, MISCONFIGURED, NO_MATCHING_FLAVOR)
    return Sentence(
        f"Waiting in ClusterQueue {why.queue} ({door}): {'; '.join(parts)}", (why.queue, door, *gist), stuck
    )


def _parts(world: World, found: Waiting, why: Explanation) -> tuple[list[str], tuple[Hashable, ...]]:
    """What it waits for, and the gist of that."""
    if why.reason == SUSPENDED:
        text = stopped(world, why.queue)
        return [text], (text,)
    if found.not_before:
        return [f"it was evicted ({found.reason}) and is tried again at {times.written(found.not_before)}"], (
            found.reason,
        )
    if found.behind:
        return ["nobody may overtake the workload at the head of this queue"], ("behind",)
    if why.victims:
        count = len(why.victims)
        return [f"room is made for it, {count} workload{'s' * (count > 1)} must end first"], ("victims",)
    if why.lacks or why.others:
        needs = _needs(world.state.queues[why.queue].settings.groups, why.lacks)
        said = [*([f"needs {needs}"] if needs else []), *dict.fromkeys(why.others[:_MOST])]
        return said, (tuple((each.pair, each.ever) for each in why.lacks), why.others)
    text = "it waits for its turn" if why.reason == PENDING_EVALUATION else why.message
    return [text], (why.reason,)


def _needs(groups: Iterable[ResourceGroup], lacks: Iterable[Lack]) -> str:
    """Flavors of one resource group are alternatives; each group must have room. What a pair lacks counts once, since
    each pod set is tried on top of those before it."""
    most = {lack.pair: lack for lack in lacks}
    found = []
    for group in groups:
        by_flavor = {
            flavor: [lack for pair, lack in most.items() if pair.flavor == flavor and pair.resource in group.resources]
            for flavor in group.flavors
        }
        short = [_of_flavor(flavor, those) for flavor, those in by_flavor.items() if those]
        if short:
            more = ", or more of other flavors" if len(short) > _MOST else ""
            found.append(", or ".join(short[:_MOST]) + more)
    return ", and ".join(found)


def _of_flavor(flavor: str, lacks: Iterable[Lack]) -> str:
    return f"{' and '.join(map(_amount, lacks))} of flavor {flavor}"


def _amount(lack: Lack) -> str:
    resource = lack.pair.resource
    more = f"{written(resource, minus(lack.wanted, lack.free))} more {resource}"
    return more if lack.ever else f"{more} than it can ever get"
