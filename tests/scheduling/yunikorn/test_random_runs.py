"""Random trees and runs, compared with a plain recount after each event."""

from __future__ import annotations

from random import Random

import pytest

from policies.dialects.yunikorn_gangs import TaskGroup
from scheduling.objects.times import SECOND
from scheduling.yunikorn.application import Application, Ask
from scheduling.yunikorn.scheduler import Allocated, Scheduler
from scheduling.yunikorn.tree import Tree
from tests.profiles import seeds
from tests.scheduling.yunikorn.drawn import MANY, scheduler
from tests.scheduling.yunikorn.recount import check, used

TYPES = ("vcore", "memory")
USERS = ("ann", "bob", "")


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


class Run:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        nodes = {"vcore": 16, "memory": 16, "pods": 30} if self.random.random() < 0.7 else None
        self.crowded = seed % 2 == 1
        if self.crowded:
            nodes = {"vcore": 9, "memory": 9, "pods": 30}
        self.engine: Scheduler = scheduler(contended() if self.crowded else tree(self.random), nodes)
        self.preemptions = 0
        self.now = 0
        self.pods = 0

    def event(self) -> None:
        if self.random.random() < 0.1:
            self.restart()
        pods = sorted(self.engine.owners)
        self.now += self.random.choice((1, 20, 60)) * SECOND
        if pods and self.random.random() < (0.1 if self.crowded else 0.4):
            for key in self.random.sample(pods, min(len(pods), self.random.randint(1, 3))):
                self.engine.remove(key)
        else:
            self.arrive()
        self.settle()
        check(self.engine)

    def restart(self) -> None:
        """The same work in the same queues, in another scheduler: nothing that it does not know from them."""
        old = self.engine
        self.engine = Scheduler(Tree(old.tree.partition, old.tree.capacity))
        for application in old.applications.values():
            keys = [key for key, owner in old.owners.items() if owner is application]
            self.engine.adopt(application, keys)
        assert self.engine.step(0) is None
        check(self.engine)

    def arrive(self) -> None:
        name = f"app{self.random.randint(1, 8)}"
        application = self.engine.applications.get(name)
        if application is None:
            leaf = self.random.choice([queue for queue in self.engine.tree.queues.values() if queue.is_leaf])
            application = Application(name, leaf, self.random.choice(USERS), submitted=self.now, gang=self.gang())
            self.engine.submit(application)
        each = {kind: self.random.randint(0, 5) for kind in self.random.sample(TYPES, self.random.randint(1, 2))}
        for _ in range(self.random.randint(1, 4)):
            self.pods += 1
            priority = self.random.randint(-1, 1)
            group = self.random.choice(("g", "")) if application.gang else ""
            self.engine.add(application, Ask(f"{name}-{self.pods}", each, priority, self.now, group))

    def gang(self) -> tuple[TaskGroup, ...]:
        if self.random.random() < 0.8:
            return ()
        return (TaskGroup("g", self.random.randint(1, 3), {"pods": 1, "vcore": self.random.randint(0, 3)}),)

    def settle(self) -> None:
        for _ in range(MANY):
            before = {path: used(self.engine, queue) for path, queue in self.engine.tree.queues.items()}
            decision = self.engine.step(self.now)
            if decision is None:
                return
            self.keeps_guarantees(decision, before)
        raise AssertionError("it never settles")

    def keeps_guarantees(self, decision: Allocated, before: dict[str, dict[str, int]]) -> None:
        self.preemptions += bool(decision.victims)
        for path, queue in self.engine.tree.queues.items() if decision.victims else ():
            after = used(self.engine, queue)
            for name, guaranteed in (queue.settings.guaranteed or {}).items():
                assert after.get(name, 0) >= min(guaranteed, before[path].get(name, 0)), (path, name)


@pytest.mark.parametrize("seed", seeds(2))
def test_every_run_keeps_all_limits_and_leaves_nobody_waiting_who_fits(seed: int) -> None:
    run = Run(seed)
    for _ in range(12):
        run.event()


def test_these_runs_do_preempt() -> None:
    runs = [Run(seed) for seed in range(1, 40, 2)]
    for run in runs:
        for _ in range(12):
            run.event()

    assert sum(run.preemptions for run in runs) > 3
