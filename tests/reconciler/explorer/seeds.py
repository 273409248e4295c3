"""Faults that are put into the transitions of jobs, one at a time: the explorer has to find each of them.

A guard is what stands between a job and quota that nobody counts, or that is counted for nobody. Where one of these
is taken out, or says the opposite, some order of events must break an invariant; if none does, the guard is idle or
the explorer is blind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from reconciler.controllers.jobs import controller, looks
from reconciler.controllers.jobs.kept_pods import KeptPods
from reconciler.controllers.jobs.looks import HiddenLook, JobLook, WorkloadLook
from reconciler.controllers.jobs.record import Event
from reconciler.controllers.jobs.started_pods import StartedPod
from reconciler.controllers.out_of_sight import OutOfSight
from reconciler.jobs import life
from tests.reconciler.explorer.worlds import World

Sow = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Seed:
    """`sow` puts the fault in; in `world` it leads to something wrong that says `symptom`.

    `slow`: that takes two seconds or more to find, and is looked for at night.
    """

    name: str
    sow: Sow
    world: World
    symptom: str
    slow: bool = False


def _guard(table: str, guard: Callable[[Any], bool], instead: bool) -> Sow:
    """In one of the tables this guard always says `instead`."""

    def sow(monkeypatch: pytest.MonkeyPatch) -> None:
        rows = getattr(controller, table)
        assert any(row.guard is guard for row in rows)
        sown = (row._replace(guard=lambda _: instead) if row.guard is guard else row for row in rows)
        monkeypatch.setattr(controller, table, tuple(sown))

    return sow


def _event(event: Event) -> Sow:
    """What hidden jobs do on this event is forgotten."""

    def sow(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(controller, "HIDDEN", tuple(row for row in controller.HIDDEN if row.event is not event))

    return sow


def _step(name: str, instead: object) -> Sow:
    """One step in the life of a job always comes to `instead`."""

    def sow(monkeypatch: pytest.MonkeyPatch) -> None:
        assert hasattr(life._Life, name)
        monkeypatch.setattr(life._Life, name, lambda _: instead)

    return sow


def _replace(held: object, name: str, instead: object) -> Sow:
    """This function always does `instead`."""
    return lambda monkeypatch: monkeypatch.setattr(held, name, instead)


def _both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job that no watch shows is taken for gone."""
    _guard("WORKLOADS", WorkloadLook.undecided, False)(monkeypatch)
    _guard("WORKLOADS", WorkloadLook.job_is_gone, True)(monkeypatch)


def _never_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose Workload has lost it is not asked for."""
    rows = (
        row._replace(writes=JobLook.writes_nothing) if row.writes is JobLook.asks else row for row in controller.SHOWN
    )
    monkeypatch.setattr(controller, "SHOWN", tuple(rows))


_UNCOUNTED, _FOR_EVER = "Pods run for", "is counted for ever"
_RUNS = World(quota=1, jobs=("zza",), acts=1, people=("orphan-delete", "take-away", "evict", "resume"))
_STARTS = World(quota=1, last="zza", acts=1, people=("orphan-delete", "take-away", "move"))
_ALONE = World(quota=1, jobs=("zza",), acts=2, people=("move", "delete", "create"), collects=False)
_DISOWNED = World(quota=1, jobs=("zza",), acts=2, people=("disown", "evict"))
_ENDING = World(quota=1, jobs=("zza",), acts=2, people=("let-go", "suspend", "evict"))
_STOLEN = World(quota=1, jobs=("zza",), acts=2, people=("steal", "orphan-delete"))
_HIDDEN = World(quota=1, jobs=("zza",), acts=2, people=("hide", "delete"))
_GROWS = World(quota=1, jobs=("zza",), acts=1, people=("resize",))
_MISSED = World(quota=0, acts=1, people=("miss",))
_UNSTARTED = World(quota=0, jobs=("zza",), acts=1, people=("resume",))

SEEDS = (
    Seed("a job on its way out whose Pods run", _guard("SHOWN", JobLook.pods_terminate, False), _RUNS, _UNCOUNTED),
    Seed("one whose Pods are not in sight", _guard("SHOWN", JobLook.pods_may_come, False), _STARTS, _UNCOUNTED),
    Seed("a Workload that has lost its job", _never_asks, _DISOWNED, "for ever"),
    Seed("Pods that outlive their job", _guard("WORKLOADS", WorkloadLook.pods_run, False), _RUNS, _UNCOUNTED),
    Seed(
        "and are not in sight", _guard("WORKLOADS", WorkloadLook.pods_may_come, False), _STARTS, _UNCOUNTED, slow=True
    ),
    Seed("a job that may be there", _both, _STARTS, _UNCOUNTED),
    Seed(
        "a Workload that nobody uses",
        _guard("WORKLOADS", WorkloadLook.unused_for_long, False),
        _STARTS,
        _FOR_EVER,
        slow=True,
    ),
    Seed(
        "a job without label that goes",
        _guard("WORKLOADS", WorkloadLook.in_use_for_long, False),
        _ALONE,
        _FOR_EVER,
        slow=True,
    ),
    Seed("a job that nobody asks for", _guard("HIDDEN", HiddenLook.workload_depends, False), _ALONE, _FOR_EVER),
    Seed("the answer that it is not there", _event(Event.NOT_FOUND), _ALONE, _FOR_EVER, slow=True),
    Seed("the answer that another has its name", _event(Event.FOUND_ANOTHER), _ALONE, _FOR_EVER, slow=True),
    Seed("an eviction while Pods run", _step("_stopped", True), _RUNS, _UNCOUNTED),
    Seed("Pods that still end", _replace(JobLook, "_in_use", property(lambda _: False)), _ENDING, _UNCOUNTED),
    Seed("whose Workload it is", _replace(looks, "is_of_another", lambda *_: False), _STOLEN, "for ever", slow=True),
    Seed(
        "a Pod that was taken away", _replace(KeptPods, "_excess", lambda *_: iter(())), _ENDING, "for ever", slow=True
    ),
    Seed("a Pod that hides", _replace(OutOfSight, "seek", lambda *_: None), _HIDDEN, "for ever"),
    Seed("a Pod that grows", _replace(StartedPod, "given_up", property(lambda each: each.let_go)), _GROWS, "for ever"),
    Seed("a job that somebody else starts", _step("_running", None), _UNSTARTED, _UNCOUNTED),
    Seed("a job that the webhook missed", _step("_running", None), _MISSED, _UNCOUNTED),
)
