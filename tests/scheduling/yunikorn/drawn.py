"""Queues of YuniKorn from a short text of queues.yaml, and applications in them."""

from __future__ import annotations

from collections.abc import Mapping

from policies.dialects.yunikorn_config import read_config
from scheduling.objects.times import SECOND
from scheduling.yunikorn.application import Application, Ask
from scheduling.yunikorn.scheduler import Allocated, Scheduler
from scheduling.yunikorn.tree import Tree

MANY = 10_000
"""Steps after which a run counts as one that never settles."""


def scheduler(queues: str, capacity: Mapping[str, int] | None = None, *, preempts: bool = True) -> Scheduler:
    """`queues` is the YAML of root's queues."""
    lines = "\n".join(f"      {line}" for line in queues.strip("\n").splitlines())
    config = read_config(f"partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n{lines}\n")
    assert not config.problems
    assert config.partition
    return Scheduler(Tree(config.partition, capacity), preempts=preempts)


def run(
    engine: Scheduler, name: str, leaf: str, pods: int, each: Mapping[str, int], at: int = 0, priority: int = 0
) -> Application:
    """An application with equal Pods, `name-1` and so on. Times are in seconds."""
    found = engine.applications.get(name)
    if found is None:
        found = Application(name, engine.tree.queues[leaf], submitted=at * SECOND)
        engine.submit(found)
    for _ in range(pods):
        number = len(found.held) + len(found.pending) + len(found.kept) + 1
        engine.add(found, Ask(f"{name}-{number}", each, priority, at * SECOND))
    return found


def settle(engine: Scheduler, at: int = 0) -> list[Allocated]:
    """All decisions until nothing moves."""
    found = []
    for _ in range(MANY):
        decision = engine.step(at * SECOND)
        if decision is None:
            return found
        found.append(decision)
    raise AssertionError("it never settles")


def running(engine: Scheduler) -> list[str]:
    return sorted(key for application in engine.applications.values() for key in application.held)
