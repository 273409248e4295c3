"""Sessions of Volcano's scheduler: what is bound, evicted and enqueued, with the plugins that the case names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

from policies.dialects.volcano_gates import group_of
from scheduling.volcano.actions import run
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import PodGroup, Task
from scheduling.volcano.plugin import Plugin
from scheduling.volcano.queues import share
from scheduling.volcano.reading import (
    read_claim,
    read_machine,
    read_pod_group,
    read_priorities,
    read_queue,
    read_task,
)
from scheduling.volcano.refusal import QueueRefusal
from scheduling.volcano.session import SessionOutcome
from scheduling.volcano.setup import PLUGINS, PluginSettings
from tests.conformance.suite import Data, Suite, mismatch, suite
from tests.scheduling.volcano.drawn import SessionSetup, engine_with

_REJECTED = "pgA"


def suites(folder: Path) -> Iterator[Suite]:
    checks = {
        "capacity": _session,
        "capacity-two-cycles": _cycles,
        "capacity-share": _share,
        "scheduler-other": _session,
    }
    for name, check in checks.items():
        path = folder / "volcano" / f"{name}.json"
        if path.is_file():
            yield suite("volcano", path, partial(check))


class Rejecter(Plugin):
    """The stub of the original tests: it keeps one PodGroup out, after the plugins before it have agreed."""

    answers = frozenset(["jobEnqueueable"])

    def job_enqueueable(self, job: GangJob) -> QueueRefusal | None:
        return QueueRefusal("the test wants it out") if job.name.endswith(f"/{_REJECTED}") else None


def _session(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    return _compare(expect, _run(given, given["actions"] or ()), _tasks(given))


def _run(given: Data, actions: Sequence[str]) -> SessionOutcome:
    with patch.dict(PLUGINS, {"test-rejecter": lambda *_: Rejecter()}):
        session = engine_with(_cluster(given), _tiers(given)).session()
    return run(session, actions)


def _compare(expect: Data, outcome: SessionOutcome, tasks: Mapping[str, Task]) -> str | None:
    phases = expect["podGroupPhases"] or {}
    found = (
        mismatch(expect["binds"] or {}, dict(outcome.binds))
        or mismatch(sorted(expect["evicted"] or ()), [*outcome.evicted])
        or mismatch(phases, {name: outcome.phases.get(name) for name in phases})
    )
    for group, nodes in (expect["pipelined"] or {}).items():
        waiting = {node for name, node in outcome.pipelined.items() if tasks[name].group == group}
        if not found and not (waiting and waiting <= {*nodes}):
            found = f"expected pods of {group} to wait for {nodes}, got {sorted(waiting)}"
    return found


def _cycles(case: Data) -> str | None:
    """Each cycle adds objects; what the cycles before have bound and enqueued stays so."""
    given, objects = case["given"], dict[str, list[Data]]()
    bound: dict[str, str] = {}
    phases: dict[str, str] = {}
    expected = case["expect"].get("cycles", given["cycles"])
    for cycle, wanted in zip(given["cycles"], expected, strict=True):
        for key, added in cycle.items():
            if isinstance(added, list) and added and isinstance(added[0], dict):
                objects[key] = [*objects.get(key, []), *added]
        outcome = _run({**given, **_as_left(objects, bound, phases)}, cycle.get("actions", given.get("actions")))
        bound.update(outcome.binds)
        phases.update(outcome.phases)
        if found := mismatch({*wanted["boundPods"]}, {*bound} & {*wanted["boundPods"]} | {*outcome.binds}):
            return found
    return None


def _as_left(objects: Mapping[str, list[Data]], bound: Mapping[str, str], phases: Mapping[str, str]) -> Data:
    pods, groups = objects.get("pods", []), objects.get("podGroups", [])
    return {
        **objects,
        "pods": [{**pod, "spec": {**pod["spec"], **_node(bound.get(_name(pod)))}} for pod in pods],
        "podGroups": [
            {**group, "status": {"phase": phases[_name(group)]}} if _name(group) in phases else group
            for group in groups
        ],
    }


def _node(name: str | None) -> Data:
    return {} if name is None else {"nodeName": name}


def _name(manifest: Data) -> str:
    return f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}"


def _share(case: Data) -> str | None:
    given = case["given"]
    return mismatch(case["expect"]["share"], share(_base(given["deserved"]), _base(given["allocated"])))


def _base(amounts: Mapping[str, int] | None) -> dict[str, int]:
    names = {"cpu_milli": "cpu", "memory_bytes": "memory"}
    return {names.get(name, name): amount for name, amount in (amounts or {}).items()}


def _tiers(given: Data) -> list[list[PluginSettings]]:
    registered = given["registeredPlugins"] or ()
    return [
        [
            PluginSettings(plugin["name"], frozenset(plugin["enabled"]), plugin.get("arguments") or {})
            for plugin in tier
            if plugin["name"] in registered
        ]
        for tier in given["tiers"] or ()
    ]


def _cluster(given: Data) -> SessionSetup:
    return SessionSetup(
        queues=[read_queue(queue) for queue in given.get("queues") or []],
        groups=_groups(given),
        tasks=[*_tasks(given).values()],
        machines=[read_machine(node) for node in given.get("nodes") or []],
    )


def _groups(given: Data) -> list[PodGroup]:
    priorities = read_priorities(given.get("priorityClasses") or [])
    return [read_pod_group(group, priorities) for group in given.get("podGroups") or []]


def _tasks(given: Data) -> dict[str, Task]:
    claims = dict(read_claim(claim) for claim in given.get("resourceClaims") or [])
    tasks = (read_task(pod, group_of(pod) or "", claims) for pod in given.get("pods") or [])
    return {task.name: task for task in tasks}
