"""Kueue's tables of the pending side: the order, what is set aside, what brings it back, and who waits where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from policies.model.quantity import Quantity
from reconciler.core.decider import SecondPasses
from reconciler.metrics.pending_counts import unadmitted
from scheduling.cycle.second_pass import needs_second_pass
from scheduling.flavors.scan_progress import Progress
from scheduling.objects import times
from scheduling.objects.order import Ordering
from scheduling.objects.queue_settings import (
    STRICT_FIFO,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Workload
from scheduling.queues.consumption import Consumption, UsageDecay
from scheduling.queues.pending import PendingEntry, PendingQueue, Requeue
from scheduling.status.requeue import backoff_over
from scheduling.world.world import World
from tests.conformance.suite import NO_COUNTERPART, Data, Suite, left_out, mismatch, nanoseconds, suite
from tests.scheduling.queues.listed import set_aside, tried

_LEFT_OUT = {
    "TestNewRequeuer": "there is no batch period: all events between two steps are one batch",
    "TestGetNoFitReason": "the reason is kept in the workload's status, not in its queue",
}


def suites(folder: Path) -> Iterator[Suite]:
    for path in sorted((folder / "kueue" / "queue").glob("*.json")):
        check = _CHECKS.get(path.stem)
        if check is None:
            yield left_out("kueue", path, _LEFT_OUT.get(path.stem, NO_COUNTERPART))
        else:
            yield suite("kueue", path, check)


def _now(case: Data) -> int:
    return times.parse(case["given"].get("now") or "2025-01-01T00:00:00Z")


def _entry(workload: Workload, shape: object = "") -> PendingEntry:
    return PendingEntry(workload, shape or workload.key, Ordering().since(workload))


def _named(name: str) -> Workload:
    return Workload(namespace="default", name=name, uid=name)


# --- one queue


def _pushed(case: Data) -> str | None:
    queue, workload, now = PendingQueue(), read_workload(case["given"]["workload"]), _now(case)
    queue.push(_entry(workload), now)
    queue.push(_entry(workload), now)
    head = queue.pop()
    expected = case["expect"].get("workload")
    key = read_workload(expected["workload"]).key if expected else None
    aside = sorted(case["expect"].get("inadmissible") or ())
    return mismatch(key, head.key if head else None) or mismatch(aside, [entry.key for entry in set_aside(queue)])


def _generation_changed(case: Data) -> str | None:
    """A workload that was set aside comes back when its spec changes."""
    after, queue, now = read_workload(case["given"]["updatedWorkload"]), PendingQueue(), _now(case)
    before = Workload(namespace=after.namespace, name=after.name, generation=1, pod_sets=after.pod_sets)
    queue.push(_entry(before), now)
    entry = queue.pop()
    assert entry is not None
    queue.requeue(entry, Requeue.NO_FIT, now)
    queue.push(_entry(after, "another" if after.generation != before.generation else before.key), now)
    expect = case["expect"]
    return mismatch(expect["activeWorkloads"], queue.count_active()) or mismatch(
        expect["inadmissibleWorkloads"], len(set_aside(queue))
    )


def _blocked_shapes(case: Data) -> str | None:
    queue = PendingQueue()
    for shape in case["given"].get("inadmissibleHashes") or ():
        queue.block(shape)
    queue.push(_entry(_named("new"), case["given"].get("pushHash")), 0)
    return _counts(case, queue)


def _record_shape(case: Data) -> str | None:
    queue = PendingQueue()
    for name, shape in (case["given"].get("heapWorkloads") or {}).items():
        queue.push(_entry(_named(name), shape), 0)
    moved = queue.block(case["given"].get("hashToRecord") or "")
    return mismatch(case["expect"]["moved"], moved) or _counts(case, queue)


def _counts(case: Data, queue: PendingQueue) -> str | None:
    expected = (case["expect"]["active"], case["expect"]["inadmissible"])
    return mismatch(expected, (queue.count_active(), len(set_aside(queue))))


def _waited(case: Data) -> str | None:
    return mismatch(case["expect"]["result"], backoff_over(read_workload(case["given"]["workload"]), _now(case)))


def _requeued(strategy: str) -> Callable[[Data], str | None]:
    def check(case: Data) -> str | None:
        queue, given = PendingQueue(strategy), case["given"]
        queue.push(_entry(_named("one")), 0)
        entry = queue.pop()
        assert entry is not None
        tried = (given.get("lastAssignment") or {}).get("lastTriedFlavorIdx")
        entry.progress = Progress(tuple(tried)) if tried else None
        active = queue.requeue(entry, Requeue(given["reason"]), 0)
        expect = case["expect"]
        if "sticky" in expect and (wrong := mismatch(expect["sticky"], queue.sticky == entry.key)):
            return wrong
        return mismatch(expect["inadmissible"], not active)

    return check


def _sets_alike_aside(case: Data) -> str | None:
    queue = PendingQueue()
    for name in ("one", "two"):
        queue.push(_entry(_named(name), "shape"), 0)
    entry = queue.pop()
    assert entry is not None
    queue.requeue(entry, Requeue(case["given"]["reason"]), 0)
    return mismatch(case["expect"]["hash"], not queue.is_active("default/two"))


def _carries_progress(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    queue = PendingQueue(keep_progress=given["preserveProgress"])
    recorded = Progress(tuple(given["recorded"].get("lastTriedFlavorIdx") or ()))
    old, new = _entry(_named("one"), "shape"), _entry(_named("one"), "other" if given["changeShape"] else "shape")
    queue.push(old, 0)
    if given["inadmissible"] or given["inflight"]:
        queue.pop()
    old.progress = recorded
    if given["inadmissible"]:
        queue.requeue(old, Requeue.GENERIC, 0)
    queue.push(new, 0)
    if given["inflight"]:
        queue.requeue(old, Requeue.GENERIC, 0)
    return mismatch(expect["carried"], new.progress == recorded)


def _first(case: Data) -> str | None:
    queue = PendingQueue(STRICT_FIFO)
    for key in ("w1", "w2"):
        queue.push(_entry(read_workload(case["given"][key])), _now(case))
    head = queue.pop()
    return mismatch(case["expect"]["result"], head.workload.name if head else None)


# --- all queues


def _world(case: Data, consumption: Consumption | None = None) -> World:
    given, now = case["given"], _now(case)
    world = World(consumption=consumption)
    manifests = [given["clusterQueue"]] if "clusterQueue" in given else given.get("clusterQueues") or ()
    for manifest in manifests:
        world.put_queue(read_queue_settings(manifest), now)
    for manifest in given.get("cohorts") or ():
        world.put_cohort(read_cohort_settings(manifest), now)
    for manifest in given.get("localQueues") or ():
        settings = read_local_queue_settings(manifest)
        world.put_local_queue(settings, now)
        world.put_namespace(settings.namespace, {})
    for namespace in given.get("namespaces") or ():
        world.put_namespace(namespace["metadata"]["name"], namespace["metadata"].get("labels") or {})
    return world


def _filled(case: Data) -> World:
    world = _world(case)
    for manifest in case["given"].get("workloads") or ():
        world.put_workload(read_workload(manifest), _now(case))
    return world


def _assigned(world: World) -> dict[str, str]:
    """Of every workload that waits, its LocalQueue."""
    return {
        workload.key: f"{workload.namespace}/{workload.queue}"
        for workload in world.workloads.values()
        if f"{workload.namespace}/{workload.queue}" in world.queues.local_queues and workload.queueable
    }


_WORDS = {
    "LocalQueue": "localQueue doesn't exist or inactive",
    "ClusterQueue": "clusterQueue doesn't exist",
}


def _error(world: World, workload: Workload) -> Data | None:
    """Kueue's word for why the workload cannot wait."""
    if not workload.queueable:
        return {"error": "workload is inadmissible and can't be added to a LocalQueue"}
    blocker = world.queues.blocker(workload)
    return {"error": _WORDS[blocker.message.partition(" ")[0]]} if blocker else None


def _added(case: Data) -> str | None:
    world, workload = _world(case), read_workload(case["given"]["workload"])
    world.put_workload(workload, _now(case))
    expect = case["expect"]
    return mismatch(expect.get("error"), _error(world, workload)) or mismatch(
        expect.get("assigned") or {}, _assigned(world)
    )


def _updated(case: Data) -> str | None:
    world, after, expect = _filled(case), read_workload(case["given"]["updatedWorkload"]), case["expect"]
    world.put_workload(after, _now(case))
    order = {name: [entry.key for entry in queue.entries()] for name, queue in world.queues.pending.items()}
    members = {
        key: sorted(workload.key for workload in world.queues.waiting_at(key)) for key in world.queues.local_queues
    }
    return (
        mismatch(expect.get("error"), _error(world, after))
        or mismatch(expect.get("assigned") or {}, _assigned(world))
        or mismatch(_lists(expect.get("queueOrder")), order)
        or mismatch({key: sorted(keys) for key, keys in _lists(expect.get("queueMembers")).items()}, members)
    )


def _lists(found: dict[str, list[str] | None] | None) -> dict[str, list[str]]:
    return {name: keys or [] for name, keys in (found or {}).items()}


def _heads(case: Data) -> str | None:
    world = _filled(case)
    heads = world.queues.heads(lambda name: "active-" in name)
    names = sorted(entry.workload.name for _, entry in heads)
    expect = case["expect"]
    return mismatch(sorted(expect.get("workloads") or ()), names) or mismatch(
        expect.get("assigned") or {}, _assigned(world)
    )


def _listed(case: Data) -> str | None:
    queue = _filled(case).queues.pending.get(case["given"]["clusterQueueName"])
    expected = [entry["workload"] for entry in case["expect"].get("pendingWorkloads") or ()]
    return mismatch(expected, [entry.key for entry in queue.entries()] if queue else [])


def _count(case: Data) -> str | None:
    world = _world(case)
    local = read_local_queue_settings(case["given"]["localQueue"]).key
    for manifest in case["given"].get("workloads") or ():
        world.put_workload(read_workload(manifest), _now(case))
    if local not in world.queues.local_queues:
        return mismatch(bool(case["expect"].get("error")), True)
    return mismatch(case["expect"]["status"], sum(1 for _ in world.queues.waiting_at(local)))


def _may_requeue(case: Data) -> str | None:
    """A workload goes back to its queue where it exists, is not there already, and may wait."""
    world, given = _world(case), case["given"]
    workload = read_workload(given["workload"])
    entry = _entry(workload)
    if given["inQueue"]:
        world.put_workload(workload, 0)
    name = world.queues.queue_of(workload)
    if not given["inClient"] or name is None or not workload.queueable or world.queues.pending[name].get(workload.key):
        return mismatch(case["expect"]["requeued"], False)
    world.queues.requeue(name, entry, Requeue.GENERIC, 0)
    return mismatch(case["expect"]["requeued"], world.queues.pending[name].get(workload.key) is not None)


def _least_used(case: Data) -> str | None:
    given, settings = case["given"], case["config"].get("admissionFairSharing")
    consumption = _consumed(given, settings) if settings is not None else None
    queue = _world(case, consumption).queues.pending[read_queue_settings(given["clusterQueue"]).name]
    for manifest in given.get("workloads") or ():
        queue.push(_entry(read_workload(manifest)), _now(case))
    head = queue.pop()
    return mismatch(read_workload(case["expect"]["workload"]).name, head.workload.name if head else None)


def _consumed(given: Data, settings: Data) -> Consumption:
    weights = {name: Fraction(str(weight)) for name, weight in (settings.get("resourceWeights") or {}).items()}
    consumption = Consumption(UsageDecay(0, 0, weights))
    for queue, amounts in (given.get("initConsumedResources") or {}).items():
        consumption.put(queue, {name: Decimal(Quantity.parse(amount).nano) / 10**9 for name, amount in amounts.items()})
    return consumption


def _flushed(case: Data) -> str | None:
    """Everything is set aside, then the trees of the ClusterQueues named are flushed."""
    world, now = _filled(case), _now(case)
    _set_all_aside(world, now)
    for name in case["given"].get("cqNames") or ():
        world.queues.wake(name)
    moved = world.queues.flush(now)
    expect = case["expect"]
    return (
        mismatch(expect["movedCount"], moved)
        or mismatch(_keys(expect.get("active")), _by_queue(world, tried))
        or mismatch(_keys(expect.get("inadmissible")), _by_queue(world, set_aside))
    )


def _set_all_aside(world: World, now: int) -> None:
    world.queues.flush(now)
    for name, queue in world.queues.pending.items():
        for entry in queue.entries():
            queue.drop(entry.key)
            queue.head()
            world.queues.requeue(name, entry, Requeue.GENERIC, now)


def _keys(found: dict[str, list[str]] | None) -> dict[str, list[str]]:
    return {name: sorted(keys) for name, keys in (found or {}).items() if keys}


def _by_queue(world: World, part: Callable[[PendingQueue], list[PendingEntry]]) -> dict[str, list[str]]:
    found = {name: sorted(entry.key for entry in part(queue)) for name, queue in world.queues.pending.items()}
    return {name: keys for name, keys in found.items() if keys}


def _lifecycle(case: Data) -> str | None:
    """Add, requeue, update, delete, and flush where the case says so."""
    given, expect, now = case["given"], case["expect"], _now(case)
    world = _world(case)
    settings = read_queue_settings(given["clusterQueue"])
    queue = world.queues.pending[settings.name]
    for manifest in given.get("workloadsToAdd") or ():
        queue.push(_entry(read_workload(manifest)), now)
    for kind, reason in (
        ("inadmissibleWorkloadsToRequeue", Requeue.GENERIC),
        ("admissibleWorkloadsToRequeue", Requeue.FAILED_AFTER_NOMINATION),
    ):
        for info in given.get(kind) or ():
            if info is not None:
                queue.requeue(_entry(read_workload(info["workload"])), reason, now)
    for manifest in given.get("workloadsToUpdate") or ():
        queue.push(_entry(read_workload(manifest)), now)
    for manifest in given.get("workloadsToDelete") or ():
        queue.drop(read_workload(manifest).key)
    moved = queue.flush(world.queues.serves(settings.name), now) if given.get("queueInadmissibleWorkloads") else 0
    active = sorted(entry.key for entry in tried(queue))
    return (
        mismatch(sorted(expect.get("activeWorkloads") or ()), active)
        or mismatch(expect["pending"], len(queue))
        or mismatch(expect.get("inadmissibleWorkloadsRequeued") or 0, moved)
    )


def _unadmitted(case: Data) -> str | None:
    """Under which labels it is counted while it is not admitted."""
    reported, expected = unadmitted(read_workload(case["given"]["workload"])), case["expect"]["status"]
    return mismatch((expected["Reason"], expected["UnderlyingCause"]), tuple(reported))


def _second_passes(case: Data) -> str | None:
    """Which workloads get their second pass after `passTime`, and whether an update of one begins another wait."""
    given, waits, now = case["given"], SecondPasses(), _now(case)
    due = {each.key: waits.due_at(each.key, now) for each in map(read_workload, given["workloads"])}
    queued = None
    if given.get("updateWorkload"):
        after = read_workload(given["updateWorkload"])
        queued = needs_second_pass(after) and waits.due_at(after.key, now + 1) != due.get(after.key)
        if not needs_second_pass(after):
            waits.end(after.key)
    end = now + nanoseconds(given["passTime"])
    ready = [key for key in due if waits.due_at(key, end) <= end]
    return mismatch(case["expect"].get("ready") or [], ready) or mismatch(case["expect"].get("updateQueued"), queued)


_CHECKS: dict[str, Callable[[Data], Any]] = {
    "TestQueueSecondPassIfNeeded": _second_passes,
    "TestPushOrUpdate": _pushed,
    "TestUpdateUnadmittedWorkload": _unadmitted,
    "TestPushOrUpdateGenerationChanged": _generation_changed,
    "TestPushOrUpdateRespectsInadmissibleHashes": _blocked_shapes,
    "TestRecordInadmissibleHash": _record_shape,
    "TestBackoffWaitingTimeExpired": _waited,
    "TestBestEffortFIFORequeueIfNotPresent": _requeued("BestEffortFIFO"),
    "TestStrictFIFORequeueIfNotPresent": _requeued(STRICT_FIFO),
    "TestRequeueHashTriggerByReason": _sets_alike_aside,
    "TestAddOrUpdateWorkloadCarriesLastAssignment": _carries_progress,
    "TestStrictFIFO": _first,
    "TestAddWorkload": _added,
    "TestUpdateWorkload": _updated,
    "TestHeads": _heads,
    "TestGetPendingWorkloadsInfo": _listed,
    "TestStatus": _count,
    "TestRequeueWorkloadStrictFIFO": _may_requeue,
    "TestFsAdmission": _least_used,
    "TestQueueInadmissibleWorkloads": _flushed,
    "TestClusterQueueImpl": _lifecycle,
}
