"""Why a workload waits, in one sentence for its owner: which queue, what is short and by how much, and what helps.

Everyone who may read Events of the namespace can read it. So it names the workload's own queues and flavors and other
LocalQueues of the namespace, but only the number of workloads of others. `scheduling.flavors.messages` has Kueue's
words for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import NamedTuple

from policies.model.suggestion import close
from scheduling.cycle.misconfigured import misconfigured
from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.requests import total_requests
from scheduling.objects.workload import EVICTED, Workload
from scheduling.quota.node import QuotaNode
from scheduling.status.checks import READY
from scheduling.status.unadmitted import DEACTIVATED_MESSAGE
from scheduling.visibility.causes import WaitingCause, cause_at_cluster_queue, cause_at_local_queue, remark
from scheduling.visibility.explanation import KeptBack, QuotaHolders, TreeCache, fits_idle
from scheduling.visibility.workloads import WaitingWorkload, waits
from scheduling.world.world import World

_MOST = 3
"""How many LocalQueues are named."""


class Sentence(NamedTuple):
    """The sentence for a workload.

    make: makes the text. For a stuck workload it also looks for other LocalQueues.
    gist: a key that changes if the cause does, but not with amounts, the number of workloads ahead, or what helps.
    stuck: waiting does not help; the job or a queue has to be changed.
    """

    make: Callable[[], str]
    gist: Hashable
    stuck: bool = False

    @classmethod
    def plain(cls, text: str, gist: Hashable, *, stuck: bool = False) -> Sentence:
        return cls(lambda: text, gist, stuck)

    @property
    def text(self) -> str:
        return self.make()


class CauseOnlyCache(TreeCache):
    """Leaves out the users of a tree, which cost a pass over its queues, and limits to raise.

    Sentences need neither.
    """

    raised = False

    def holders(self, node: QuotaNode, pair: FlavorResource) -> QuotaHolders:  # noqa: ARG002, as it is there
        return QuotaHolders()

    def kept(self, node: QuotaNode, pair: FlavorResource, *, idle: bool = False) -> tuple[KeptBack, ...]:  # noqa: ARG002
        return ()


def why_it_waits(world: World, key: str, now: int) -> Sentence | None:
    """Why the workload `namespace/name` waits; None if it is unknown, or does not wait."""
    workload = world.workloads.get(key)
    if workload is None or workload.finished or workload.deleting:
        return None
    if workload.counts:
        return waits_for_checks(world, workload) if not (workload.admitted or workload.evicted) else None
    found = waits(world, key, now, trees=CauseOnlyCache())
    if found is None or (found.explanation is None and workload.active):
        return None
    return sentence(world, found, times.rfc3339)


def sentence(world: World, found: WaitingWorkload, moment: Callable[[int], object]) -> Sentence:
    """The sentence for a workload that waits. `moment` formats a time for the reader."""
    workload = world.workloads[found.workload]
    if found.explanation is None:
        return _deactivated(workload)
    if missing := missing_queue(world, workload):
        return Sentence.plain(missing[0].upper() + missing[1:], ("", workload.local_queue), stuck=True)
    why, local_queue = found.explanation, f"LocalQueue {workload.local_queue}"
    cause = (
        cause_at_cluster_queue(world, workload, found, why, moment)
        if why.queue
        else cause_at_local_queue(world, workload, why)
    )
    where = f"Waiting in ClusterQueue {why.queue} ({local_queue}): " if why.queue else ""
    return Sentence(
        lambda: f"{where}{_text(world, workload, cause)}", (why.queue, local_queue, *cause.gist), stuck=cause.stuck
    )


def _text(world: World, workload: Workload, cause: WaitingCause) -> str:
    elsewhere = alternatives(world, workload, _MOST) if cause.stuck or cause.administrator else []
    use = [f"use LocalQueue {' or '.join(elsewhere)}"] if elsewhere else []
    ways = list(dict.fromkeys(filter(None, (*cause.owner, *use, *cause.administrator))))
    return "; ".join([*cause.clauses, *([_either(ways)] if ways else [])])


def _either(ways: list[str]) -> str:
    *first, last = ways
    return f"{', '.join(first)}, or {last}" if first else last


def missing_queue(world: World, workload: Workload) -> str:
    """Why the workload's LocalQueue does not exist, in words; empty if it does."""
    if workload.local_queue in world.queues.local_queues:
        return ""
    if not workload.queue:
        return "it names no LocalQueue; name one with the label kueue.x-k8s.io/queue-name"
    return f"LocalQueue {workload.local_queue} does not exist; {_instead(world, workload)}"


def _instead(world: World, workload: Workload) -> str:
    names = sorted(each.name for each in world.queues.local_queues_in(workload.namespace))
    if near := close(workload.queue, names):
        return f"did you mean {near}?"
    if not names:
        return f"Namespace {workload.namespace} has no LocalQueue"
    more = " and others" if len(names) > _MOST else ""
    return f"Namespace {workload.namespace} has {', '.join(names[:_MOST])}{more}"


def _deactivated(workload: Workload) -> Sentence:
    evicted = workload.holding(EVICTED)
    why = evicted.message if evicted is not None and evicted.message != DEACTIVATED_MESSAGE else ""
    resume = f"quotree resume workload {workload.name} -n {workload.namespace}"
    head = f"Workload {workload.name} is deactivated{remark(why)}"
    text = f"{head}; queue it again with `{resume}`, which sets its spec.active to true"
    return Sentence.plain(text, text, stuck=True)


def waits_for_checks(world: World, workload: Workload) -> Sentence | None:
    """The sentence for a workload with quota that waits for admission checks; None if it waits for none."""
    open_ = [each for each in workload.checks if each.state != READY]
    if not open_ or workload.admission is None:
        return None
    named = ", ".join(f"{each.name} is {each.state}{remark(each.message)}" for each in open_)
    queue = workload.admission.cluster_queue
    asked = sorted({found.controller for each in open_ if (found := world.checks.get(each.name)) is not None})
    answers = f"; {' and '.join(asked)} must answer" if asked else ""
    text = f"Quota is reserved in ClusterQueue {queue}; waiting for admission checks: {named}{answers}"
    return Sentence.plain(text, (queue, *((each.name, each.state) for each in open_)))


_MOST_TRIED = 10


def alternatives(world: World, workload: Workload, most: int) -> list[str]:
    """At most `most` other LocalQueues of its namespace in which the workload could run.

    Their ClusterQueues have flavors for it and enough quota, if that were free.
    """
    return list(islice(_alternatives(world, workload), most))


def _alternatives(world: World, workload: Workload) -> Iterator[str]:
    there = sorted(world.queues.local_queues_in(workload.namespace), key=lambda each: each.name)
    others = (each for each in there if each.key != workload.local_queue and not each.stopped)
    ready = (each for each in others if each.cluster_queue in world.state.queues and world.is_ready(each.cluster_queue))
    complete = world.entry(workload).workload
    requests = total_requests(complete, world.counting)
    for local in islice(ready, _MOST_TRIED):
        queue = world.state.queues[local.cluster_queue]
        if misconfigured(world, queue.name, complete) is None and fits_idle(world.state, queue, complete, requests):
            yield local.name
