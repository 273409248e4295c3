"""Queues drawn as a tree, PodGroups and pods in a line each. All amounts are in base units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scheduling.queue_tree.amounts import Amounts
from scheduling.volcano.engine import PluginEngine
from scheduling.volcano.objects import Machine, PodGroup, Status, Task, VolcanoQueueSettings
from scheduling.volcano.resources import PODS
from scheduling.volcano.session import SchedulingSession, SessionOutcome
from scheduling.volcano.setup import DEFAULT_TIERS, PluginSettings, engine


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """The objects that a session decides about."""

    queues: Sequence[VolcanoQueueSettings] = ()
    groups: Sequence[PodGroup] = ()
    tasks: Sequence[Task] = ()
    machines: Sequence[Machine] = ()


def engine_with(cluster: SessionSetup, tiers: Iterable[Iterable[PluginSettings]] = DEFAULT_TIERS) -> PluginEngine:
    """An engine with the objects of the cluster."""
    made = engine(tiers)
    for machine in cluster.machines:
        made.world.put_machine(machine)
    for queue in cluster.queues:
        made.world.put_queue(queue)
    for group in cluster.groups:
        made.world.put_group(group)
    for task in cluster.tasks:
        made.world.put_task(task)
    return made


def amounts(text: str) -> dict[str, int]:
    """`cpu=4,gpu=1` with gpu short for an extended resource."""
    pairs = (pair.split("=") for pair in text.split(",") if pair)
    return {"vendor/gpu" if name == "gpu" else name: int(amount) for name, amount in pairs}


def queues(drawing: str) -> list[VolcanoQueueSettings]:
    """One queue a line, indented below its parent: `name cap:cpu=4 des:cpu=2 gua:cpu=1 prio:3 Closed kept`."""
    path: list[tuple[int, str]] = []
    found = []
    for line in filter(str.strip, drawing.splitlines()):
        depth = len(line) - len(line.lstrip())
        name, *words = line.split()
        path = [(indent, above) for indent, above in path if indent < depth]
        found.append(_queue(VolcanoQueueSettings(name, parent=path[-1][1] if path else "root"), words))
        path.append((depth, name))
    return found


def _queue(queue: VolcanoQueueSettings, words: Sequence[str]) -> VolcanoQueueSettings:
    for word in words:
        key, _, value = word.partition(":")
        match key:
            case "cap":
                queue = replace(queue, capability=amounts(value))
            case "des":
                queue = replace(queue, deserved=amounts(value))
            case "gua":
                queue = replace(queue, guarantee=amounts(value))
            case "prio":
                queue = replace(queue, priority=int(value))
            case "weight":
                queue = replace(queue, weight=int(value))
            case "kept":
                queue = replace(queue, reclaimable=False)
            case _:
                queue = replace(queue, state=key)
    return queue


def group(name: str, queue: str, phase: str = "Inqueue", minimum: str | None = None, members: int = 1) -> PodGroup:
    least = None if minimum is None else amounts(minimum)
    return PodGroup(f"ns/{name}", queue, phase, members, minimum=least)


def pod(name: str, group: str, request: str, node: str = "", *, preemptable: bool = True) -> Task:
    """It runs if it has a node, else it waits."""
    status = Status.RUNNING if node else Status.PENDING
    return Task(f"ns/{name}", f"ns/{group}", requesting(request), status, node, preemptable=preemptable)


def requesting(text: str) -> Amounts:
    return {**amounts(text), PODS: 1}


def node(name: str, text: str) -> Machine:
    return Machine(name, {**amounts(text), PODS: 110})


def running(name: str, queue: str, request: str, at: str = "n1") -> tuple[PodGroup, Task]:
    """A PodGroup of the same name with one pod that runs."""
    return group(name, queue, "Running"), pod(name, name, request, at)


def work(*parts: PodGroup | Task | tuple[PodGroup, Task]) -> Iterator[PodGroup | Task]:
    for part in parts:
        yield from part if isinstance(part, tuple) else [part]


def cluster(drawing: str, machines: Sequence[Machine], *parts: PodGroup | Task | tuple[PodGroup, Task]) -> SessionSetup:
    """With queue root, drawn or not."""
    drawn = queues(drawing)
    if all(queue.name != "root" for queue in drawn):
        drawn.insert(0, VolcanoQueueSettings("root"))
    found = [*work(*parts)]
    return SessionSetup(
        drawn,
        [part for part in found if isinstance(part, PodGroup)],
        [part for part in found if isinstance(part, Task)],
        machines,
    )


def session(
    drawing: str, machines: Sequence[Machine], *parts: PodGroup | Task | tuple[PodGroup, Task], level: int = 0
) -> SchedulingSession:
    """A session of Volcano's default plugins, with the argument ancestorReclaimLevel."""
    return engine_with(cluster(drawing, machines, *parts), with_level(level)).session()


def with_level(level: int) -> list[list[PluginSettings]]:
    return [
        [
            replace(plugin, arguments={**plugin.arguments, "ancestorReclaimLevel": level})
            if plugin.name == "capacity"
            else plugin
            for plugin in t
        ]
        for t in DEFAULT_TIERS
    ]


def flat(
    *parts: PodGroup | Task | tuple[PodGroup, Task], drawing: str, machines: Sequence[Machine]
) -> SchedulingSession:
    """A session with the plugin `proportion`."""
    tiers = [[PluginSettings("gang"), PluginSettings("proportion"), PluginSettings("predicates")]]
    return engine_with(cluster(drawing, machines, *parts), tiers).session()


def reasons(outcome: SessionOutcome, name: str) -> list[str]:
    """Why the PodGroup or pod got nothing."""
    return [*map(str, outcome.refusals[f"ns/{name}"])]
