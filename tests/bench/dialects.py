"""Rows about the decisions for queues of Volcano and of YuniKorn, in processor time: no API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

from scheduling.objects.times import SECOND
from scheduling.volcano.objects import Status
from scheduling.volcano.reading import group_of, read_machine, read_pod_group, read_queue, read_task
from scheduling.volcano.setup import Cluster, engine
from scheduling.yunikorn.simulation import Simulation
from tests.bench.organisation import queue_config
from tests.bench.stopwatch import Stopwatch

Manifest = dict[str, Any]
_NOW = 1_800_000_000 * SECOND
_TEAMS, _MEMBERS = 100, 99
_SHAPES = 20
_ACTIONS = ("enqueue", "allocate")
_LAPS = 100


def rows(queues: int = 10_000, work: int = 50_000) -> None:
    """Half of the work runs; of the rest some fits, and most does not."""
    print(f"\n{f'{queues} queues, {work} units of work':40} {'ready s':>8} {'first s':>8} {'none us':>8}", end="")
    print(f" {'submit us':>10} {'finish us':>10}")
    _row("Volcano: PodGroups of one Pod", *_volcano(queues, work))
    _row("YuniKorn: applications of one Pod", *_yunikorn(queues, work))


def _row(name: str, ready: float, first: float, none: float, submit: float, finish: float) -> None:
    print(f"{name:40} {ready:8.1f} {first:8.1f} {none:8.0f} {submit:10.0f} {finish:10.0f}", flush=True)


def _volcano(queues: int, work: int) -> tuple[float, float, float, float, float]:
    names = [f"team-{team}-{member}" for team in range(queues // _TEAMS) for member in range(_MEMBERS)]
    nodes = queues // 10
    every = [*_volcano_queues(queues)], [*_nodes(nodes)], [*_pod_groups(names, work, nodes)]
    start = Stopwatch()
    with start.lap():
        groups = [read_pod_group(group, {}) for group, _ in every[2]]
        tasks = [read_task(pod, group_of(pod) or "", {}) for _, pod in every[2]]
        found = engine(Cluster([*map(read_queue, every[0])], groups, tasks, [*map(read_machine, every[1])]))
    first = _settled(lambda: bool(found.decide(_ACTIONS).phases))
    world, numbers = found.world, count(work)
    running = iter([task for task in tasks if task.status is Status.RUNNING])

    def submit() -> None:
        group, pod = _pod_group(next(numbers), names[7], "")
        world.put_group(read_pod_group(group, {}))
        world.put_task(read_task(pod, group_of(pod) or "", {}))
        found.decide(_ACTIONS)

    def finish() -> None:
        task = next(running)
        world.drop_task(task.name)
        world.drop_group(task.group)
        found.decide(_ACTIONS)

    return start.micros / 1e6, first, *_laps(lambda: found.decide(_ACTIONS), submit, finish)


def _yunikorn(queues: int, work: int) -> tuple[float, float, float, float, float]:
    names = [f"root.team-{team}.queue-{child}" for team in range(queues // _TEAMS) for child in range(_MEMBERS)]
    nodes = queues // 10
    every = [queue_config(queues, most=10, rule={"name": "provided"}), *_nodes(nodes)]
    pods = [_yunikorn_pod(turn, names, f"node-{turn % nodes}" * (turn < work // 2)) for turn in range(work)]
    found, start = Simulation(_NOW), Stopwatch()
    with start.lap():
        found.change([*every, *pods])
    first = _settled(lambda: bool(found.settle()))
    numbers, running = count(work), iter([*found.intake.pods])

    def submit() -> None:
        found.change([_yunikorn_pod(next(numbers), names[7:8], "")])
        found.settle()

    return start.micros / 1e6, first, *_laps(found.settle, submit, lambda: found.finish(next(running)))


def _settled(step: Callable[[], bool]) -> float:
    """Seconds until a step has nothing more to do."""
    watch = Stopwatch()
    with watch.lap():
        while step():
            pass
    return watch.micros / 1e6


def _laps(*events: Callable[[], object]) -> Iterable[float]:
    """The median microseconds of each event, with the decisions that follow."""
    for event in events:
        watch = Stopwatch()
        for _ in range(_LAPS):
            with watch.lap():
                event()
        yield watch.micros


# --- manifests


def _volcano_queues(queues: int) -> Iterator[Manifest]:
    """In parents of 99 children, each of which may use 10 cpu."""
    yield _manifest("Queue", "root", {})
    for team in range(queues // _TEAMS):
        yield _manifest("Queue", f"team-{team}", {"deserved": {"cpu": str(5 * _MEMBERS)}})
        for member in range(_MEMBERS):
            spec = {"parent": f"team-{team}", "deserved": {"cpu": "5"}, "capability": {"cpu": "10"}}
            yield _manifest("Queue", f"team-{team}-{member}", spec)


def _nodes(nodes: int) -> Iterator[Manifest]:
    for place in range(nodes):
        allocatable = {"cpu": "100", "memory": "1Ti", "pods": "110"}
        yield {"apiVersion": "v1", **_manifest("Node", f"node-{place}", {}), "status": {"allocatable": allocatable}}


def _pod_groups(names: list[str], work: int, nodes: int) -> Iterator[tuple[Manifest, Manifest]]:
    for turn in range(work):
        node = f"node-{turn % nodes}" if turn < work // 2 else ""
        yield _pod_group(turn, names[turn % len(names)], node)


def _pod_group(turn: int, queue: str, node: str) -> tuple[Manifest, Manifest]:
    spec = {"queue": queue, "minMember": 1, "minResources": {"cpu": "3"}}
    group = _manifest("PodGroup", f"job-{turn}", spec, status={"phase": "Running" if node else "Pending"})
    return group, _pod(turn, node, annotations={"scheduling.k8s.io/group-name": f"job-{turn}"})


def _yunikorn_pod(turn: int, names: list[str], node: str) -> Manifest:
    labels = {"applicationId": f"job-{turn}", "queue": names[turn % len(names)]}
    return _pod(turn, node, scheduler="yunikorn", labels=labels, uid=f"uid-{turn}")


def _pod(turn: int, node: str, scheduler: str = "volcano", **notes: object) -> Manifest:
    """Of one of 20 shapes."""
    requests = {"cpu": "3", "memory": f"{1 + turn % _SHAPES}Gi"}
    spec = {
        "schedulerName": scheduler,
        "nodeName": node,
        "containers": [{"name": "main", "image": "train", "resources": {"requests": requests}}],
    }
    pod = _manifest("Pod", f"job-{turn}", spec, status={"phase": "Running" if node else "Pending"})
    return {"apiVersion": "v1", **pod, "metadata": {**pod["metadata"], **notes}}


def _manifest(kind: str, name: str, spec: Manifest, **more: object) -> Manifest:
    metadata = {"namespace": "team", "name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"kind": kind, "metadata": metadata, "spec": spec, **more}
