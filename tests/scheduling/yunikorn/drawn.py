"""Queues of YuniKorn from a short text of queues.yaml, and applications in them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from policies.dialects.yunikorn_config.reading import read_config
from scheduling.objects.times import SECOND
from scheduling.yunikorn.application import Application, Ask
from scheduling.yunikorn.scheduler import Allocated, Scheduler
from scheduling.yunikorn.tree import ApplicationTree

TYPES = ("vcore", "memory")
MANY = 10_000
"""Steps after which a run counts as one that never settles."""


def scheduler(queues: str, capacity: Mapping[str, int] | None = None, *, preempts: bool = True) -> Scheduler:
    """`queues` is the YAML of root's queues."""
    lines = "\n".join(f"      {line}" for line in queues.strip("\n").splitlines())
    config = read_config(f"partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n{lines}\n")
    assert not config.problems
    assert config.partition
    return Scheduler(ApplicationTree(config.partition, capacity), preempts=preempts)


def run(
    engine: Scheduler, name: str, leaf: str, pods: int, each: Mapping[str, int], at: int = 0, priority: int = 0
) -> Application:
    """An application with equal Pods, `name-1` and so on. Times are in seconds."""
    found = engine.applications.get(name)
    if found is None:
        found = Application(name, engine.tree.queues[leaf], submitted=at * SECOND)
        engine.submit(found)
    for _ in range(pods):
        number = len(found.allocations) + len(found.pending) + len(found.kept) + 1
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
    return sorted(key for application in engine.applications.values() for key in application.allocations)


# --- random queues


def contended() -> str:
    """Queues with guarantees and without a max: whoever is first takes all, until others want what is theirs."""
    names = ("a", "b", "c")
    return "\n".join(
        f"- name: {name}\n  parent: true\n  resources: {{guaranteed: {{vcore: 3m, memory: 3}}}}\n"
        f"  queues: [{{name: x, resources: {{guaranteed: {{vcore: 2m}}}}}}, {{name: y}}]"
        for name in names
    )


def tree(random: Random) -> str:
    """Up to three levels. Guarantees may well contradict each other: nothing refuses such a tree at run time."""
    lines: list[str] = []

    def queue(name: str, depth: int) -> None:
        pad = "  " * (2 * depth)
        lines.append(f"{pad}- name: {name}")
        parts = {key: amounts(random, most) for key, most in (("max", 12), ("guaranteed", 6)) if random.random() < 0.6}
        if parts:
            texts = ", ".join(f"{key}: {{{text}}}" for key, text in parts.items())
            lines.append(f"{pad}  resources: {{{texts}}}")
        if random.random() < 0.3:
            lines.append(f"{pad}  maxapplications: {random.randint(1, 3)}")
        if random.random() < 0.4:
            lines.append(f"{pad}  properties: {{{properties(random)}}}")
        if random.random() < 0.3:
            lines.append(f"{pad}  limits: [{{limit: l, users: [ann, '*'], maxresources: {{{amounts(random, 8)}}}}}]")
        if depth < 2 and random.random() < 0.7:
            lines.append(f"{pad}  queues:")
            for number in range(random.randint(1, 3)):
                queue(f"{name}{number}", depth + 1)

    for name in "ab"[: random.randint(1, 2)]:
        queue(name, 0)
    return "\n".join(lines)


def amounts(random: Random, most: int) -> str:
    chosen = random.sample(TYPES, random.randint(1, 2))
    return ", ".join(f"{name}: {random.randint(0, most)}{'m' if name == 'vcore' else ''}" for name in chosen)


def properties(random: Random) -> str:
    key, values = random.choice(
        [
            ("application.sort.policy", ["fair", "fifo"]),
            ("application.sort.priority", ["disabled"]),
            ("priority.policy", ["fence"]),
            ("priority.offset", ["'1'", "'-1'"]),
            ("preemption.policy", ["fence", "disabled"]),
            ("preemption.delay", ["1s", "1h"]),
        ]
    )
    return f"{key}: {random.choice(values)}"
