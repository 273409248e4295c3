"""Kueue's tables of its cache: the tree, quota arithmetic, usage, and whether a ClusterQueue can admit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from policies.dialects.kueue_flavor import Flavor, read_flavor
from policies.dialects.reading import Manifest
from scheduling.objects.amounts import UNLIMITED, FlavorResource, quantity_of
from scheduling.objects.queue_settings import (
    CheckSettings,
    read_check_settings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.reading import read_workload
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import ClusterQueueState
from scheduling.quota.tree import QuotaTree
from scheduling.topology.fleet import Fleet
from scheduling.world.usage_report import ResourceUsage, local_queue_usage, queue_usage
from scheduling.world.world import World
from tests.conformance.kueue_cache_state import amounts, same_snapshot, same_state, same_workloads
from tests.conformance.suite import NO_COUNTERPART, Data, Suite, left_out, mismatch, suite

_LEFT_OUT = {
    "TestIsBorrowingOn": "",
    "TestDominantResourceShare": "",
    "TestPreciseWeightedShareSerialized": "",
}
"""Tables that another file runs."""


def suites(folder: Path) -> Iterator[Suite]:
    for path in sorted((folder / "kueue" / "cache-scheduler").glob("*.json")):
        if path.stem not in _LEFT_OUT:
            yield _suite(path)


def _suite(path: Path) -> Suite:
    check = _CHECKS.get(path.stem)
    if check is None:
        return left_out("kueue", path, NO_COUNTERPART)
    return suite("kueue", path, check, _out)


def _out(case: Data) -> str:
    """Why the case is left out, empty where it is not."""
    return "" if _workloads_told(case) else "what the API server holds at the start is not told"


def _workloads_told(case: Data) -> bool:
    """Whether every workload that a step ends with is among the objects given."""
    given = case["given"]
    objects = [step.get("object") or {} for step in given.get("operations") or ()] + (given.get("clientObjects") or [])
    known = {read_workload(found).key for found in objects if found.get("kind") == "Workload"}
    states = [step.get("stateAfter") or {} for step in case["expect"].get("steps") or ()]
    held = {
        key
        for state in states
        for queue in (state.get("clusterQueues") or {}).values()
        for key in queue.get("workloads") or ()
    }
    return held <= known


# --- a bare tree


def same_edges(case: Data) -> str | None:
    tree, expect = _replayed(case), case["expect"]
    edges = {node.name: node.parent.name for node in tree.queues.values() if node.parent}
    above = {node.name: node.parent.name for node in tree.cohorts.values() if node.parent}
    return (
        mismatch(sorted(expect.get("clusterQueues") or ()), sorted(tree.queues))
        or mismatch(sorted(expect.get("cohorts") or ()), sorted(tree.cohorts))
        or mismatch(expect.get("cqEdge") or {}, edges)
        or mismatch(expect.get("cohortEdge") or {}, above)
    )


def same_cycles(case: Data) -> str | None:
    tree = _replayed(case)
    found = {name: bool(tree.broken(cohort)) for name, cohort in tree.cohorts.items()}
    return mismatch(case["expect"]["cycles"] or {}, found)


def _replayed(case: Data) -> QuotaTree:
    tree = QuotaTree()
    for step in case["given"]["operations"] or ():
        name, parent = step["name"], step.get("parent") or None
        if step["op"] in ("AddCohort", "UpdateCohortEdge"):
            known = tree.cohorts.get(name)
            keep = known.parent.name if known and known.parent and step["op"] == "AddCohort" else parent
            tree.put_cohort(name, keep, {})
        elif step["op"] in ("AddClusterQueue", "UpdateClusterQueueEdge"):
            tree.put_queue(name, parent, {})
        elif step["op"] == "DeleteCohort":
            tree.drop_cohort(name)
        elif name in tree.queues:
            tree.drop_queue(name)
    return tree


# --- a world


def _world(given: Data) -> World:
    world = World(fleet=Fleet())
    for flavor in given.get("resourceFlavors") or ():
        world.put_flavor(Flavor(flavor, {}) if isinstance(flavor, str) else read_flavor(flavor))
    for check in given.get("admissionChecks") or ():
        if isinstance(check, dict):
            world.put_check(read_check_settings(check))
    queues = [given["clusterQueue"]] if isinstance(given.get("clusterQueue"), dict) else []
    for queue in [*queues, *(given.get("clusterQueues") or ())]:
        world.put_queue(read_queue_settings(queue), 0)
    for cohort in given.get("cohorts") or ():
        world.put_cohort(read_cohort_settings(cohort), 0)
    for local in [given["localQueue"]] if given.get("localQueue") else ():
        world.put_local_queue(read_local_queue_settings(local), 0)
    workloads = given.get("workloads")
    for workload in workloads if isinstance(workloads, list) else ():
        world.put_workload(read_workload(workload), 0)
    return world


def _available(case: Data) -> str | None:
    world, expect = _world(case["given"]), case["expect"]

    def reported(amount: Callable[[QuotaNode, FlavorResource], int]) -> dict[str, dict[str, object]]:
        nodes = world.state.tree.queues.items()
        return {name: {str(pair): amount(node, pair) for pair in node.terms} for name, node in nodes}

    wrong = mismatch(_plain(expect["potentiallyAvailable"]), reported(QuotaNode.potential))
    for name, usage in (case["given"].get("usage") or {}).items():
        pairs = {FlavorResource.parse(pair): amount for pair, amount in usage.items()}
        world.state.tree.add(world.state.tree.queues[name], pairs)
    return wrong or mismatch(_plain(expect["available"]), reported(QuotaNode.free))


def _plain(found: Data | None) -> Data:
    return {
        name: {pair: UNLIMITED if amount == "unlimited" else amount for pair, amount in pairs.items()}
        for name, pairs in (found or {}).items()
    }


def _snapshot(case: Data) -> str | None:
    wrong = _taken(case)
    queues = _world(case["given"]).state.queues
    for name, reported in ((case["expect"]["snapshot"] or {}).get("clusterQueues") or {}).items():
        wrong = wrong or same_workloads(reported, queues[name].reservations)
    return wrong


def _taken(case: Data) -> str | None:
    """Quota and usage after workloads were taken out and put in; the workloads told are those of before."""
    world, given = _world(case["given"]), case["given"]
    known = dict(world.state.reservations)
    for key in given.get("remove") or ():
        world.state.release(key)
    for key in given.get("add") or ():
        if key in known:
            world.state.reserve(known[key])
    return same_snapshot(case["expect"]["snapshot"] or {}, world)


# --- operations one after another


def _steps(case: Data) -> str | None:
    world = World()
    for manifest in case["given"].get("clientObjects") or ():
        _stored(world, manifest)
    for step, reported in zip(case["given"]["operations"] or (), case["expect"]["steps"] or (), strict=True):
        _operate(world, step)
        wrong = same_state(reported["stateAfter"], world) if "stateAfter" in reported else None
        if wrong:
            return f"after {step['op']} {step.get('name') or step.get('object', {}).get('metadata', {})}: {wrong}"
    return None


def _stored(world: World, manifest: Manifest) -> None:
    """An object of the API server that the cache finds when it looks for it."""
    if manifest["kind"] == "LocalQueue":
        world.put_local_queue(read_local_queue_settings(manifest), 0)
    elif manifest["kind"] == "Workload":
        world.put_workload(read_workload(manifest), 0)


def _operate(world: World, step: Data) -> None:
    found: Data = step.get("object") or {}
    name = step.get("name")
    operation = step["op"]
    if operation in ("AddClusterQueue", "UpdateClusterQueue"):
        world.put_queue(read_queue_settings(found), 0)
    elif operation == "DeleteClusterQueue":
        world.drop_queue(name or found["metadata"]["name"], 0)
    elif operation == "AddOrUpdateCohort":
        world.put_cohort(read_cohort_settings(found), 0)
    elif operation == "DeleteCohort":
        world.drop_cohort(name or found["metadata"]["name"], 0)
    elif operation == "AddOrUpdateResourceFlavor":
        world.put_flavor(read_flavor(found))
    elif operation == "AddOrUpdateWorkload":
        world.put_workload(read_workload(found), 0)
    elif operation == "DeleteWorkload":
        world.drop_workload(name or read_workload(found).key)
    else:
        raise ValueError(f"no such operation: {operation}")


def _ancestor_quota(case: Data) -> str | None:
    world = World()
    before, after = case["expect"]["before"] or {}, case["expect"]["after"] or {}
    *first, last = case["given"]["operations"]
    for step in first:
        _operate(world, step)
    cohorts = world.state.tree.cohorts
    wrong = mismatch(before, {name: amounts(cohorts[name].subtree) for name in before})
    _operate(world, last)
    return wrong or mismatch(after, {name: amounts(cohorts[name].subtree) for name in after})


# --- what follows from it


def _ancestors(case: Data) -> str | None:
    world, name = _world(case["given"]), case["given"]["cohortName"]
    return _same_path(case, world, world.state.tree.cohorts.get(name), whole=True)


def _queue_ancestors(case: Data) -> str | None:
    world = _world(case["given"])
    queue = _queue_of(world, case["given"])
    return _same_path(case, world, queue.node.parent if queue else None, whole=False)


def _workload_ancestors(case: Data) -> str | None:
    world = _world(case["given"])
    workload = read_workload(case["given"].get("workload") or {"metadata": {}})
    queue = workload.admission.cluster_queue if workload.admission else ""
    node = world.state.tree.queues.get(queue)
    return _same_path(case, world, node.parent if node else None, whole=True)


def _same_path(case: Data, world: World, node: QuotaNode | None, whole: bool) -> str | None:
    broken = node is not None and bool(world.state.tree.broken(node))
    if case["expect"].get("error"):
        return mismatch(True, broken)
    names = [each.name for each in node.path()] if node else []
    return mismatch(case["expect"].get("ancestors") or [], names if whole else names[:-1])


def _usage(case: Data) -> str | None:
    world, expect = _world(case["given"]), case["expect"]
    queue = _queue_of(world, case["given"])
    if queue is None:
        return mismatch(({}, {}), (_flat(expect["reservedResources"]), _flat(expect["usedResources"])))
    found = queue_usage(queue)
    return (
        mismatch(_flat(expect["reservedResources"]), _listed(found.reserved))
        or mismatch(_flat(expect["usedResources"]), _listed(found.used))
        or mismatch(expect["reservingWorkloads"] or 0, found.reserving)
        or mismatch(expect["admittedWorkloads"] or 0, found.admitted)
    )


def _local_usage(case: Data) -> str | None:
    given = case["given"]
    world, local = _world(given), read_local_queue_settings(given["localQueue"])
    queue = _queue_of(world, given)
    held = local_queue_usage(queue, local.namespace, local.name).reserved if queue else ()
    refused = {f"{local.namespace}/{name}" for name in given.get("inAdmissibleWl") or ()}
    return mismatch(set(), refused & set(world.state.reservations)) or mismatch(
        _flat(case["expect"]["usage"]), _listed(held)
    )


def _queue_of(world: World, given: Data) -> ClusterQueueState | None:
    """The ClusterQueue that the case is about; None where there is none."""
    return world.state.queues.get(given["clusterQueue"]["metadata"]["name"]) if given["clusterQueue"] else None


def _flat(reported: list[Data] | None) -> dict[str, tuple[str, str]]:
    return {
        f"{flavor['name']}/{resource['name']}": (resource.get("total") or "0", resource.get("borrowed") or "0")
        for flavor in reported or ()
        for resource in flavor["resources"]
    }


def _listed(found: Iterable[ResourceUsage]) -> dict[str, tuple[str, str]]:
    return {
        str(entry.pair): (
            str(quantity_of(entry.pair.resource, entry.total)),
            str(quantity_of(entry.pair.resource, entry.borrowed)),
        )
        for entry in found
    }


def _readiness(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    world, name = _world(given), given["clusterQueueName"]
    if given.get("terminate") and name in world.state.queues:
        world.put_queue(world.state.queues[name].settings, 0, terminating=True)
    found = world.can_admit(name)
    reported = (found.active, str(found.active), found.reason, found.message, name in world.terminating)
    wanted = tuple(expect[key] for key in ("active", "status", "reason", "message", "terminating"))
    return mismatch(wanted, reported)


def _with_checks(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    world = World()
    for name, check in (given.get("admissionChecks") or {}).items():
        world.put_check(CheckSettings(name, check["controller"], check["active"]))
    return _status(expect, world, given["clusterQueue"], given.get("cqStatus"))


def _with_flavors(case: Data) -> str | None:
    given = case["given"]
    world = World()
    for flavor in given.get("resourceFlavors") or ():
        world.put_flavor(Flavor(flavor, {}) if isinstance(flavor, str) else read_flavor(flavor))
    return _status(case["expect"], world, given["clusterQueue"], given.get("curStatus"))


def _status(expect: Data, world: World, manifest: Manifest, before: str | None) -> str | None:
    settings = read_queue_settings(manifest)
    world.put_queue(settings, 0, terminating=before == "terminating")
    found = world.can_admit(settings.name)
    status = "terminating" if settings.name in world.terminating else "active" if found.active else "pending"
    wanted = {key: expect[key] for key in ("status", "reason", "message") if key in expect}
    reported = {"status": status, "reason": found.reason, "message": found.message}
    return mismatch(wanted, {key: reported[key] for key in wanted})


def _users_of_flavor(case: Data) -> str | None:
    found = _world(case["given"]).queues_with_flavor("x86")
    return mismatch(sorted(case["expect"].get("inUseClusterQueueNames") or ()), sorted(found))


def _users_of_check(case: Data) -> str | None:
    found = _world(case["given"]).queues_with_check(case["given"]["check"])
    return mismatch(sorted(case["expect"].get("inUseClusterQueueNames") or ()), sorted(found))


def _generation(case: Data) -> str | None:
    """A change of the resource groups makes what was found out void; the count itself is another program's."""
    given = case["given"]
    world = World()
    settings, changed = read_queue_settings(given["clusterQueue"]), read_queue_settings(given["newcq"])
    world.put_queue(settings, 0)
    queue = world.state.queues[settings.name]
    before = world.state.generation(queue)
    world.put_queue(changed, 0)
    grew = case["expect"]["lastAssignmentGeneration"] > 1
    return mismatch(True, world.state.generation(queue) > before) if grew else None


_CHECKS: dict[str, Callable[[Data], str | None]] = {
    "TestAvailable": _available,
    "TestSnapshot": _snapshot,
    "TestSnapshotAddRemoveWorkload": _taken,
    "TestSnapshotAddRemoveWorkloadWithLendingLimit": _taken,
    "TestCohortCycles": _steps,
    "TestDeleteCohortUpdatesAncestorSubtreeQuota": _ancestor_quota,
    "TestCacheClusterQueueOperations": _steps,
    "TestCacheWorkloadOperations": _steps,
    "TestClusterQueueUsage": _usage,
    "TestLocalQueueUsage": _local_usage,
    "TestClusterQueueReadiness": _readiness,
    "TestClusterQueueAncestors": _queue_ancestors,
    "TestWorkloadAncestors": _workload_ancestors,
    "TestAncestors": _ancestors,
    "TestClusterQueuesUsingFlavor": _users_of_flavor,
    "TestClusterQueuesUsingAdmissionChecks": _users_of_check,
    "TestClusterQueueUpdateWithAdmissionCheck": _with_checks,
    "TestClusterQueueUpdateWithFlavors": _with_flavors,
    "TestClusterQueueUpdate": _generation,
}
