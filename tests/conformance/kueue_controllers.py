"""Kueue's tables of its core controllers: the status of queues, finalizers, and what is worth a look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from policies.configuration.kueue.durations import duration
from policies.dialects.reading import Manifest
from policies.dialects.selectors import LabelSelector
from policies.model.quantity import Quantity
from reconciler.controllers.finalizers import IN_USE, RESOURCE_FLAVOR, finalizers
from reconciler.controllers.local_usage import remember, sample
from reconciler.controllers.queue_status import ACTIVE, status_of_cluster_queue, status_of_local_queue
from reconciler.objects.stored import Stored, read_stored
from scheduling.objects import times
from scheduling.objects.queue_settings import (
    ClusterQueueSettings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.reading import read_workload
from scheduling.queues.consumption import Consumption, UsageDecay
from scheduling.world.readiness import Readiness
from scheduling.world.world import World
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Check, Data, Suite, mismatch, nanoseconds

_NOW = times.parse("2025-01-01T00:00:00Z")


def suites(folder: Path) -> Iterator[Suite]:
    for name, (check, why_not) in _CHECKS.items():
        path = folder / "kueue" / "controller-core" / f"{name}.json"
        if path.is_file():
            yield gated(path, check, why_not=why_not)


def _conditions(status: Data) -> dict[str, tuple[Any, ...]]:
    """Without their times; an observed generation counts where it is told."""
    found = status.get("conditions") or []
    return {each["type"]: tuple(each.get(key) for key in ("status", "reason", "message")) for each in found}


def _counts(status: Data) -> list[int]:
    return [status.get(key, 0) for key in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")]


# -- ClusterQueue ------------------------------------------------------------------------------------------------------


def _cluster_queue(case: Data) -> str | None:
    """The condition is given, the counts follow from what waits."""
    given, expect, world = case["given"], case["expect"], World()
    name = given["clusterQueueName"]
    world.put_namespace("", {})
    world.put_queue(ClusterQueueSettings(name, None, {}, (), selector=LabelSelector()), _NOW)
    world.put_local_queue(read_local_queue_settings(_local_queue(given["lqName"], name)), _NOW)
    for workload in [*((given["defaultWls"] or {}).get("items") or ()), *filter(None, [given.get("newWl")])]:
        world.put_workload(read_workload(workload), _NOW)
    holds = given["newConditionStatus"] == "True"
    world.readiness[name] = Readiness(holds, given["newReason"], given["newMessage"])
    found = status_of_cluster_queue(world, name, Stored(generation=1, status=given["cqStatus"] or {}), _NOW)
    wanted = expect["cqStatus"] or {}
    return mismatch(_conditions(wanted), _conditions(found)) or mismatch(_counts(wanted), _counts(found))


def _local_queue(name: str, queue: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": ""}, "spec": {"clusterQueue": queue}}


def _no_queue(case: Data) -> str:
    return "" if case["given"]["insertCqIntoManager"] else "there is no such ClusterQueue to show"


# -- LocalQueue --------------------------------------------------------------------------------------------------------


def _local(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    now, local = times.parse(given.get("now")) or _NOW, given["localQueue"]
    world, key = _world_of(case), read_local_queue_settings(local).key
    left = sample(world, key, now)
    found = status_of_local_queue(world, key, read_stored(local), now)
    wanted = (expect.get("localQueue") or {}).get("status") or {}
    waits = expect.get("requeueAfter")
    return (
        mismatch(_conditions(wanted), _conditions(found))
        or mismatch(_counts(wanted), _counts(found))
        or mismatch(_consumed(wanted), _consumed(found))
        or (mismatch(nanoseconds(waits), left) if waits else None)
    )


def _world_of(case: Data) -> World:
    given, configured = case["given"], (case.get("config") or {}).get("admissionFairSharing")
    world = World(consumption=_consumption(configured) if configured else None)
    local, queue = given["localQueue"], given["clusterQueue"]
    world.put_namespace(local["metadata"]["namespace"], {})
    if not given.get("deleteClusterQueue"):
        settings = read_queue_settings(queue)
        world.put_queue(settings, _NOW)
        active = _conditions(queue.get("status") or {}).get(ACTIVE, ("False", "", ""))
        world.readiness[settings.name] = Readiness(active[0] == "True", *active[1:])
    world.put_local_queue(read_local_queue_settings(local), _NOW)
    for workload in given.get("runningWls") or ():
        world.put_workload(read_workload(workload), _NOW)
    remember(world, read_local_queue_settings(local).key, local.get("status") or {})
    _known(world, local, given.get("initialConsumedResources") or {})
    return world


def _known(world: World, local: Manifest, record: Data) -> None:
    """What the controller has in its memory."""
    if world.consumption is not None and record.get("StatusAccounted"):
        consumed = {name: _decimal(amount) for name, amount in (record.get("Resources") or {}).items()}
        world.consumption.put(read_local_queue_settings(local).key, consumed, times.parse(record.get("LastUpdate")))


def _consumption(configured: Data) -> Consumption:
    half_life, sampling = configured["usageHalfLifeTime"], configured["usageSamplingInterval"]
    weights = {name: Fraction(weight) for name, weight in (configured.get("resourceWeights") or {}).items()}
    return Consumption(UsageDecay(duration(half_life, "usageHalfLifeTime"), duration(sampling, "sampling"), weights))


def _consumed(status: Data) -> dict[str, Decimal] | None:
    reported = (status.get("fairSharing") or {}).get("admissionFairSharingStatus")
    if reported is None:
        return None
    return {name: _decimal(amount) for name, amount in (reported.get("consumedResources") or {}).items()}


def _decimal(amount: object) -> Decimal:
    return Decimal(Quantity.parse(amount).nano) / 10**9


def _memory(case: Data) -> str:
    """Ours is no more than what is stored, and is shown as soon as it differs."""
    given = case["given"]
    record = given.get("initialConsumedResources") or {}
    if not record.get("StatusAccounted") and record.get("Resources"):
        return "usage is known before the LocalQueue is read"
    reported = ((given["localQueue"].get("status") or {}).get("fairSharing") or {}).get("admissionFairSharingStatus")
    expected = ((case["expect"].get("localQueue") or {}).get("status") or {}).get("fairSharing")
    if record.get("Resources") and reported is None and expected is None:
        return "Kueue keeps to itself what it knows and the status lacks"
    return ""


# -- the rest ----------------------------------------------------------------------------------------------------------


def _cohort_changed(case: Data) -> str | None:
    given = case["given"]
    changed = read_cohort_settings(given["old"]) != read_cohort_settings(given["new"])
    return mismatch(case["expect"]["result"], changed)


def _two_cohorts(case: Data) -> str:
    return "" if case["given"].get("old") and case["given"].get("new") else "nothing was changed"


def _flavor(case: Data) -> str | None:
    """The flavor's deletion was asked for."""
    given, expect, world = case["given"], case["expect"], World()
    for queue in given.get("clusterQueues") or ():
        world.put_queue(read_queue_settings(queue), _NOW)
    meta = given["flavor"]["metadata"]
    stored = Stored(finalizers=tuple(meta.get("finalizers") or ()), deleting=IN_USE in (meta.get("finalizers") or ()))
    found = finalizers(world, (RESOURCE_FLAVOR, meta["name"]), stored)
    wanted = ((expect.get("flavor") or {}).get("metadata") or {}).get("finalizers") or []
    return mismatch(expect["deleted"], not found) or mismatch(wanted, [*found])


def _not_there(case: Data) -> str:
    if case["given"].get("skipStore") or not case["given"].get("flavor"):
        return "there is no such flavor"
    return "the API server refuses the write" if case["expect"].get("error") else ""


_CHECKS: dict[str, tuple[Check, Callable[[Data], str]]] = {
    "TestUpdateCqStatusIfChanged": (_cluster_queue, _no_queue),
    "TestLocalQueueReconcile": (_local, _memory),
    "TestCohortReconcilerFilters": (_cohort_changed, _two_cohorts),
    "TestResourceFlavorReconcile": (_flavor, _not_there),
}
