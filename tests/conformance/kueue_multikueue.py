"""Kueue's tables of MultiKueue: where workloads are placed, who is nominated, and what is cleaned up.

Kueue's reconciler does several writes in one go, ours one step at a time: a case is played until nothing is written any
more. What only ours writes (the condition PlacedOn, why nobody admitted it) is left out of the comparison.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from policies.configuration.kueue.durations import duration
from policies.dialects.kueue_jobs import IDENTIFIERS
from policies.dialects.reading import Manifest, mapping
from reconciler.jobs.batch_job import BATCH
from reconciler.multikueue.copies import (
    clone_change,
    clone_of,
    job_copy,
    owner_job,
    remote_job,
    status_for,
    unsupported,
)
from scheduling.objects import times
from scheduling.objects.queue_settings import read_check_settings
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import ORIGIN, Condition, Owner, Workload
from scheduling.placement import decisions
from scheduling.placement.gates import with_open_gate
from scheduling.placement.group import PLACED_ON, Group, OwnerJob, PlacementRefusal, WorkerCluster
from scheduling.placement.objects import multikueue_state
from scheduling.placement.place import place
from scheduling.placement.settings import REJECT, PlacementSettings
from scheduling.status.eviction import target_for_deactivation
from scheduling.status.writing import written_status
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Data, Suite, mismatch, nanoseconds

NOW = times.parse("2025-01-01T00:00:00Z")
_ELASTIC, _GATED = "ElasticJobsViaWorkloadSlices", "MultiKueueOrchestratedPreemption"
_AUTOMATED = "MultiKueueManagerQuotaAutomation"
_ORDERED = "MultiKueueIncrementalDispatcherRespectConfigOrder"
GATES = frozenset({_ELASTIC, _GATED, _ORDERED, _AUTOMATED, IDENTIFIERS})
_COMPARED = ("worker1Workloads", "worker1Jobs", "worker2Workloads", "worker2Jobs", "managersWorkloads", "managersJobs")


def suites(folder: Path) -> Iterator[Suite]:
    path = folder / "kueue" / "multikueue" / "TestWlReconcile.json"
    if path.is_file():
        yield gated(path, _placed, GATES)


# -- the main table ----------------------------------------------------------------------------------------------------


class _Played:
    """The manager's objects and those of its workers; `events` are what people were told."""

    def __init__(self, case: Data) -> None:
        self.given = case["given"]
        self.gates = case.get("featureGates") or {}
        self.name = self.given["reconcileFor"]
        self.now = times.parse(self.given.get("now")) or NOW
        self.check = read_check_settings(self.given["admissionCheck"])
        self.placing = placing_of(case)
        self.local = _named(self.given.get("managersWorkloads"), self.name)
        self.deleted = _named(self.given.get("managersDeletedWorkloads"), self.name)
        self.jobs = {each["metadata"]["name"]: copy.deepcopy(each) for each in self.given.get("managersJobs") or ()}
        self.workers = {
            number: {
                kind: {
                    each["metadata"]["name"]: copy.deepcopy(each)
                    for each in self.given.get(f"worker{number}{kind}") or ()
                }
                for kind in ("Workloads", "Jobs")
            }
            for number in ((1, 2) if self.given.get("useSecondWorker") else (1,))
        }
        self.events: list[tuple[str, str]] = []

    def play(self) -> None:
        if self.local is None and self.deleted is None:
            return  # it never was here: what is left of it is collected later
        for _ in range(12):
            steps = [step for step in place(self._group()) if not isinstance(step, decisions.Again)]
            written = [self._write(step) for step in steps]
            if not any(written) or any(map(_ends, steps)):
                return
        raise AssertionError("it came to no end")

    @property
    def _owner(self) -> Owner | None:
        local = read_workload(self.local or self.deleted or {})
        return local.owners[0] if local.owners else None

    @property
    def _job_name(self) -> str:
        return self._owner.name if self._owner is not None else ""

    def _group(self) -> Group:
        local = read_workload(self.local) if self.local is not None else None
        state = multikueue_state(local.checks, {self.check.name: self.check}) if local is not None else None
        workers = tuple(self._worker(number, name) for number, name in self._names())
        return Group(local, state, self._owner_job(), workers, self.now, self.placing, owned=self._owner is not None)

    def _owner_job(self) -> OwnerJob | None:
        """The table knows Jobs alone."""
        if self._owner is not None and self._owner.group_kind != BATCH.shape.kind:
            return unsupported(self._owner)
        job = self.jobs.get(self._job_name)
        return owner_job(BATCH, job) if job is not None else None

    def _names(self) -> list[tuple[int, str]]:
        configured = self.given["multiKueueConfig"]["spec"]["clusters"]
        return [(number, f"worker{number}") for number in self.workers if f"worker{number}" in configured]

    def _worker(self, number: int, name: str) -> WorkerCluster:
        held = self.workers[number]
        clone, job = held["Workloads"].get(self.name), held["Jobs"].get(self._job_name)
        lost = self.given.get(f"{name}Reconnecting") or self.given.get(f"{name}OnGetError")
        origin = self.placing.origin
        foreign = any(each is not None and not ours(each, origin) for each in (clone, job))
        return WorkerCluster(
            name,
            reachable=not lost,
            lost_since=times.parse(self.given.get(f"{name}DisconnectedSince")),
            workload=read_workload(clone) if clone is not None and ours(clone, origin) and not lost else None,
            job=remote_job(BATCH, self.jobs.get(self._job_name), job)
            if job and ours(job, origin) and not lost
            else None,
            rejection=PlacementRefusal("NameTaken", "has an object of this name") if foreign else None,
        )

    def _write(self, step: Any) -> bool:
        """Whether it was carried out."""
        if isinstance(step, decisions.SetCheck) and step.event:
            self.events.append(("Warning" if step.warning else "Normal", step.message))
        if isinstance(
            step,
            decisions.Nominate
            | decisions.SetClusterName
            | decisions.ClearClusterName
            | decisions.SetCheck
            | decisions.Finish,
        ):
            assert self.local is not None
            before = read_workload(self.local)
            after = decisions.applied(before, self.check.name, step, self.now)
            self.local = {**self.local, "status": written_status(after)}
            return after != before
        if isinstance(step, decisions.CopyStatus):
            job, remote = self.jobs[self._job_name], self.workers[int(step.cluster[-1])]["Jobs"][self._job_name]
            job["status"] = dict(status_for(BATCH, job, remote) or {})
            return True
        return not isinstance(step, decisions.ReportStopped) and self._write_there(step)

    def _write_there(self, step: Any) -> bool:
        number = int(step.cluster[-1])
        workloads, jobs = self.workers[number]["Workloads"], self.workers[number]["Jobs"]
        assert self.local is not None or isinstance(step, decisions.DeleteClone | decisions.DeleteJob)
        match step:
            case decisions.CreateClone():
                if self.given.get(f"{step.cluster}OnCreateError") or self.name in workloads:
                    return False
                workloads[self.name] = clone_of(self.local or {}, self.placing.origin, gated=self.placing.gated)
            case decisions.UpdateClone():
                clone = workloads[self.name]
                clone["spec"] = {**clone["spec"], **clone_change(self.local or {}, clone)}
            case decisions.DeleteClone():
                if self.given.get(f"{step.cluster}OnDeleteError"):
                    return False
                del workloads[self.name]
            case decisions.CreateJob():
                jobs[self._job_name] = job_copy(BATCH, self.jobs[self._job_name], self.name, self.placing)
            case decisions.DeleteJob():
                del jobs[self._job_name]
            case decisions.EvictRemote():
                remote = read_workload(workloads[self.name])
                left = target_for_deactivation(remote, "EvictedOnManagerCluster", step.message, self.now)
                workloads[self.name]["status"] = written_status(left)
            case decisions.OpenGate():
                remote = read_workload(workloads[self.name])
                opened = replace(remote, gate_states=with_open_gate(remote, self.now))
                workloads[self.name]["status"] = written_status(opened)
        return True

    def after(self) -> Data:
        found: Data = {
            "managersWorkloads": [self.local] if self.local is not None else [],
            "managersJobs": [*self.jobs.values()],
        }
        for number, held in self.workers.items():
            for kind, objects in held.items():
                found[f"worker{number}{kind}"] = [*objects.values()]
        return found


def _ends(step: Any) -> bool:
    """Whether the workload's own controller is next."""
    return isinstance(step, decisions.Finish)


def _placed(case: Data) -> str | None:
    played = _Played(case)
    played.play()
    found, expect = played.after(), case["expect"]
    for key in _COMPARED:
        wrong = mismatch(_compared(expect.get(key)), _compared(found.get(key)))
        if wrong:
            return f"{key}: {wrong}"
    reported = [(event["eventType"], event["message"]) for event in expect.get("events") or ()]
    return mismatch(reported, played.events) if "events" in expect else None


def _compared(objects: list[Data] | None) -> dict[str, Any]:
    return {each["metadata"]["name"]: _essence(each) for each in objects or ()}


def _essence(obj: Data) -> Data:
    """Without times, and what only ours writes. A job here is not started by us while it waits for that on a worker."""
    meta, spec = obj["metadata"], dict(obj.get("spec") or {})
    if obj.get("kind") != "Workload":
        spec.pop("suspend", None)
        status: Data = dict(obj.get("status") or {})
        return {"meta": _told_meta(meta), "spec": spec, "status": status}
    status = written_status(_timeless(read_workload(obj)))
    status.pop("nominatedClusterNames", None)
    return {"meta": _told_meta(meta), "spec": spec, "status": status, "nominated": _nominated(obj)}


def _told_meta(meta: Data) -> Data:
    return {key: meta[key] for key in ("labels", "annotations") if meta.get(key)}


def _nominated(obj: Data) -> list[str]:
    return sorted(mapping(obj.get("status")).get("nominatedClusterNames") or [])


def _timeless(workload: Workload) -> Workload:
    kept = sorted((kind, found) for kind, found in workload.conditions.items() if kind != PLACED_ON)
    return replace(
        workload,
        conditions={kind: replace_time(found) for kind, found in kept},
        checks=tuple(replace(check, since=0) for check in workload.checks),
        gate_states={name: gate._replace(since=0) for name, gate in workload.gate_states.items()},
    )


def replace_time(condition: Condition) -> Condition:
    return condition._replace(since=0, generation=0)


def ours(obj: Manifest, origin: str = PlacementSettings().origin) -> bool:
    return bool((obj["metadata"].get("labels") or {}).get(ORIGIN) == origin)


def _named(objects: list[Data] | None, name: str) -> Data | None:
    return next((copy.deepcopy(each) for each in objects or () if each["metadata"]["name"] == name), None)


def placing_of(case: Data) -> PlacementSettings:
    configured, gates = (case.get("config") or {}).get("multiKueue") or {}, case.get("featureGates") or {}
    placing = PlacementSettings(without_managed_by=REJECT)
    timeout = configured.get("workerLostTimeout")
    steps = configured.get("incrementalDispatcherConfig") or case["given"].get("incrementalDispatcherConfig") or {}
    return replace(
        placing,
        origin=configured.get("origin") or placing.origin,
        worker_lost=_duration(timeout) if timeout else placing.worker_lost,
        dispatcher=configured.get("dispatcherName") or placing.dispatcher,
        step=steps.get("stepSize") or placing.step,
        by_name=not gates.get(_ORDERED, True),
        elastic=gates.get(_ELASTIC, False),
        gated=gates.get(_GATED, False),
        annotated=gates.get(IDENTIFIERS, True),
    )


def _duration(text: str) -> int:
    return nanoseconds(text) if text.startswith("PT") else duration(text, "workerLostTimeout")
