"""Kueue's tables of MultiKueue beside the main one: who is nominated, quota that follows the workers, leftovers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.reading import mapping
from reconciler.jobs.batch_job import BATCH
from reconciler.multikueue.copies import remote_job
from scheduling.objects.amounts import quantity_of
from scheduling.objects.queue_settings import read_check_settings, read_local_queue_settings, read_queue_settings
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.objects.workload import QUOTA_RESERVED, Admission, CheckState, Condition, Workload
from scheduling.placement import decisions
from scheduling.placement.dispatch import nominate
from scheduling.placement.group import NOMINATED, PLACED_ON, Group, OwnerJob, WorkerCluster
from scheduling.placement.objects import config_of, multikueue_state, refers_to, states_of
from scheduling.placement.place import place
from scheduling.placement.settings import INCREMENTAL, ROUND, PlacementSettings
from tests.conformance.kueue_automated_quota import WorkerQueues, automation
from tests.conformance.kueue_gates import gated
from tests.conformance.kueue_multikueue import GATES, NOW, ours, placing_of
from tests.conformance.suite import Data, Suite, mismatch

_MANAGED = OwnerJob("batch/v1, Kind=Job", managed_by=MULTIKUEUE)


def suites(folder: Path) -> Iterator[Suite]:
    for name, (check, why_not) in _CHECKS.items():
        path = folder / "kueue" / "multikueue" / f"{name}.json"
        if path.is_file():
            yield gated(path, check, GATES, why_not)


# -- who is nominated --------------------------------------------------------------------------------------------------


def _dispatched(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    placing = PlacementSettings(dispatcher=given["dispatcherMode"])
    local = Workload(
        namespace="ns",
        name="wl",
        nominated=tuple(given.get("nominatedWorkers") or ()),
        admission=Admission("q"),
        checks=(CheckState("ac", "Pending"),),
        conditions={QUOTA_RESERVED: Condition("True")},
    )
    workers = tuple(
        WorkerCluster(name, workload=Workload(namespace="ns", name="wl") if remote is not None else None)
        for name, remote in (given["remotes"] or {}).items()
    )
    steps = place(Group(local, local.checks[0], _MANAGED, workers, NOW, placing))
    created = sorted(step.cluster for step in steps if isinstance(step, decisions.CreateClone))
    nominated = [step.clusters for step in steps if isinstance(step, decisions.Nominate)]
    wrong = mismatch(sorted(expect.get("created") or []), created)
    if wrong or expect.get("nominatedClusterNames") is None:
        return wrong
    return mismatch(sorted(expect["nominatedClusterNames"]), sorted(nominated[-1] if nominated else local.nominated))


def _incremental(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    placing = replace(placing_of(case), dispatcher=INCREMENTAL)
    local = read_workload(given["workload"])
    if local.nominated:
        began = NOW - (ROUND + SECOND if given["advanceRoundTime"] else SECOND)
        noted = Condition("False", NOMINATED, "round 1", began)
        local = replace(local, conditions={**local.conditions, PLACED_ON: noted})
    workers = tuple(map(WorkerCluster, given["remoteClusters"] or ()))
    found = nominate(Group(local, local.checks[0], _MANAGED, workers, NOW, placing), local)
    nobody = expect.get("error") is not None
    return mismatch(nobody, not found.round and not found.until) or mismatch(
        list(expect["nominatedClusters"] or []), list(found.clusters)
    )


def _dispatcher_waits(case: Data) -> str | None:
    given = case["given"]
    placing = replace(placing_of(case), dispatcher=INCREMENTAL)
    if given.get("workload") is None:
        return mismatch([], place(Group(None, None, None, (), NOW, placing)))
    local = read_workload(given["workload"])
    state = given.get("mkAcState")
    check = CheckState(state["name"], state["state"]) if state else None
    steps = place(Group(local, check, _MANAGED, (WorkerCluster("worker1"),), NOW, placing))
    return mismatch([], [step for step in steps if isinstance(step, decisions.Nominate)])


# -- quota that follows the workers ------------------------------------------------------------------------------------


def _automated(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    queue = read_queue_settings(given["clusterQueue"])
    used = {check.name for check in queue.checks}
    checks = [read_check_settings(each) for each in given.get("acs") or ()]
    check = next((each for each in checks if each.name in used and each.controller == MULTIKUEUE), None)
    if check is None:
        return mismatch(expect.get("condition"), None)
    configs = {each["metadata"]["name"]: each["spec"] for each in given.get("multiKueueConfigs") or ()}
    config = configs.get(config_of(check))
    local = {f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in given.get("localQueues") or ()}
    workers = _queues_of_workers(given, config) if config is not None else None
    wanted = (config or {}).get("quotaManagement") == "Automated"
    found = automation(queue, local, workers, wanted=wanted)
    condition = expect.get("condition") or {}
    reported = (condition.get("status"), condition.get("reason"), condition.get("message"))
    quota = {key: str(quantity_of(key, amount)) for key, amount in (found.quota or {}).items()}
    return mismatch(reported, ("True" if found.holds else "False", found.reason, found.message)) or mismatch(
        expect.get("nominalQuotas") or {}, quota
    )


def _queues_of_workers(given: Data, config: Data) -> list[WorkerQueues]:
    there = given.get("workers") or {}
    connected = [there[name] for name in config["clusters"] if name in there and not there[name].get("inactive")]
    return [
        WorkerQueues(
            {queue.key: queue.cluster_queue for queue in map(read_local_queue_settings, worker.get("lqs") or ())},
            {queue.name: queue for queue in map(read_queue_settings, worker.get("cqs") or ())},
        )
        for worker in connected
    ]


# -- leftovers ---------------------------------------------------------------------------------------------------------


def _collected(case: Data) -> str | None:
    """What is not known here goes, the job first."""
    given = case["given"]
    local = {each["metadata"]["name"] for each in given.get("managersWorkloads") or ()}
    workloads = {each["metadata"]["name"]: each for each in given.get("workersWorkloads") or ()}
    jobs = {each["metadata"]["name"]: each for each in given.get("workersJobs") or ()}
    for name, clone in list(workloads.items()):
        if name in local or not ours(clone):
            continue
        owner = next((each["name"] for each in clone["metadata"].get("ownerReferences") or ()), "")
        job = jobs.get(owner)
        for _ in range(3):
            there = remote_job(BATCH, None, job) if job is not None and ours(job) else None
            worker = WorkerCluster("worker1", workload=read_workload(clone), job=there)
            for step in place(Group(None, None, None, (worker,), NOW)):
                if isinstance(step, decisions.DeleteJob):
                    job = None
                    del jobs[owner]
                elif isinstance(step, decisions.DeleteClone):
                    workloads.pop(name, None)
    expect = case["expect"]
    return mismatch(_names(expect.get("workersWorkloads")), sorted(workloads)) or mismatch(
        _names(expect.get("workersJobs")), sorted(jobs)
    )


def _names(objects: list[Data] | None) -> list[str]:
    return sorted(each["metadata"]["name"] for each in objects or ())


def _unlabelled(case: Data) -> str:
    jobs = case["given"].get("workersJobs") or []
    gone = set(_names(jobs)) - set(_names(case["expect"].get("workersJobs")))
    if any(each["metadata"]["name"] in gone and not ours(each) for each in jobs):
        return "a job without the origin label is to be deleted; ours are told by it"
    return ""


# -- look-ups ----------------------------------------------------------------------------------------------------------


def _by_check(case: Data) -> str | None:
    named = [
        each["metadata"]["name"]
        for each in case["given"].get("workloads") or ()
        if any(check.name == "ac1" for check in read_workload(each).checks)
    ]
    return mismatch(sorted(case["expect"]["list"] or []), sorted(named))


def _config_changed(case: Data) -> str | None:
    given = case["given"]
    before, after = (mapping(given[key]["spec"]).get("clusters") for key in ("oldConfig", "newConfig"))
    name = given["newConfig"]["metadata"]["name"]
    checks = [read_check_settings(each) for each in given.get("admissionChecks") or ()]
    concerned = {check.name for check in checks if config_of(check) == name}
    found = [
        each["metadata"]["name"]
        for each in given.get("workloads") or ()
        if before != after and concerned & {check.name for check in read_workload(each).checks}
    ]
    return mismatch(sorted(case["expect"]["queuedWLs"] or []), sorted(found))


def _state(case: Data) -> str | None:
    given = case["given"]
    checks = {each["metadata"]["name"]: read_check_settings(each) for each in given.get("admissionChecks") or ()}
    states = [CheckState(each["name"], each.get("state", "")) for each in given.get("workloadACS") or ()]
    found = multikueue_state(states, checks)
    wanted = case["expect"]["result"]
    return mismatch(wanted["name"] if wanted else None, found.name if found else None)


def _states(case: Data) -> str | None:
    given = case["given"]
    checks = {each["metadata"]["name"]: read_check_settings(each) for each in given.get("admissionChecks") or ()}
    states = [CheckState(each["name"], each.get("state", "")) for each in given.get("states") or ()]
    controller = given.get("controller") or "test-controller"
    return mismatch(case["expect"]["result"] or [], [each.name for each in states_of(states, checks, controller)])


def _config(case: Data) -> str | None:
    """The table is about provisioning; how a reference is followed is the same."""
    given, wanted = case["given"], case["expect"].get("config")
    check = given.get("admissionCheck")
    found = ""
    if check is not None and check["metadata"]["name"] == given["targetAdmissionCheck"]:
        found = refers_to(read_check_settings(check), "ProvisioningRequestConfig")
    there = [each for each in [given.get("config"), *(given.get("configs") or [])] if each]
    known = {each["metadata"]["name"] for each in there}
    return mismatch(wanted["metadata"]["name"] if wanted else "", found if found in known else "")


def _index(case: Data) -> str | None:
    check = case["given"].get("admissionCheck")
    if check is None:
        return mismatch(case["expect"]["result"] or [], [])
    found = refers_to(read_check_settings(check), "ProvisioningRequestConfig")
    controller = read_check_settings(check).controller == "test-controller"
    return mismatch(case["expect"]["result"] or [], [found] if found and controller else [])


def _everything(_: Data) -> str:
    return ""


_CHECKS: dict[str, tuple[Callable[[Data], str | None], Callable[[Data], str]]] = {
    "TestNominateAndSynchronizeWorkers_MoreCases": (_dispatched, _everything),
    "TestIncrementalDispatcherNominateWorkers": (_incremental, _everything),
    "TestIncrementalDispatcherReconciler_Reconcile": (_dispatcher_waits, _everything),
    "TestCQReconcile": (_automated, _everything),
    "TestRemoteClientGC": (_collected, _unlabelled),
    "TestListWorkloadsWithAdmissionCheck": (_by_check, _everything),
    "TestConfigHandlerUpdate": (_config_changed, _everything),
    "util-TestGetMultiKueueAdmissionCheck": (_state, _everything),
    "util-TestFilterCheckStates": (_states, _everything),
    "util-TestConfigHelper": (_config, _everything),
    "util-TestIndexerFunc": (_index, _everything),
}
