"""Rows about the decisions for queues of Volcano and of YuniKorn, in processor time: no API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from policies.configuration.settings import Configuration
from policies.dialects.core import read_namespace
from policies.dialects.volcano_gates import group_of
from policies.dialects.yunikorn_config.configmap import read_config_map
from reconciler.controllers.volcano.kinds import BOUND_POD, POD_GROUP, QUEUE
from reconciler.controllers.volcano.queues import VolcanoQueuesController
from reconciler.objects.observed import Key, Observed
from reconciler.objects.stored import Stored
from reconciler.objects.watched import WatchedKind
from scheduling.objects.times import SECOND
from scheduling.volcano.gates import gatekeeper as volcano
from scheduling.volcano.gates.gated_pod import read_gated_group, read_gated_queue
from scheduling.volcano.gates.gated_pod import read_gated_pod as read_volcano_pod
from scheduling.volcano.objects import Status
from scheduling.volcano.reading import read_machine, read_pod_group, read_queue, read_task
from scheduling.volcano_queues.queue_object import FINALIZER
from scheduling.yunikorn.gates.gated_pod import read_gated_pod
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.gates.queues_in_force import QueuesInForce
from scheduling.yunikorn.simulation import YuniKornSimulation
from tests.bench.organisation import queue_config
from tests.bench.stopwatch import Stopwatch
from tests.scheduling.volcano.drawn import SessionSetup, engine_with
from tests.scheduling.yunikorn.manifests import namespace, queues_yaml

Manifest = dict[str, Any]
_NOW = 1_800_000_000 * SECOND
_TEAMS, _MEMBERS = 100, 99
_SHAPES = 20
_ACTIONS = ("enqueue", "allocate")
_LAPS = 100
_BY_NAMESPACE = "[{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}}]"


def rows(queues: int = 10_000, work: int = 50_000) -> None:
    """Print the rows. Half of the work runs; a little of the rest fits."""
    print(f"\n{f'{queues} queues, {work} units of work':40} {'ready s':>8} {'first s':>8} {'none us':>8}", end="")
    print(f" {'submit us':>10} {'finish us':>10}")
    _row("Volcano: PodGroups of one Pod", *_volcano(queues, work))
    _row("Volcano: states and counts of Queues", *_queue_states(queues, work))
    _row("Volcano: Pods at the gate", *_volcano_gates(queues, work))
    _row("YuniKorn: applications of one Pod", *_yunikorn(queues, work))
    _row("YuniKorn: Pods at the gate", *_gates(queues, work))


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
        setup = SessionSetup([*map(read_queue, every[0])], groups, tasks, [*map(read_machine, every[1])])
        found = engine_with(setup)
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


def _queue_states(queues: int, work: int) -> tuple[float, float, float, float, float]:
    """In `first`, every queue gets its counts. Later events are two seconds apart, so that each leads to writes."""
    names = [f"team-{team}-{member}" for team in range(queues // _TEAMS) for member in range(_MEMBERS)]
    stored: dict[Key, Observed[object]] = {}

    def look(name: str) -> Stored | None:
        found = stored.get((QUEUE.kind, name))
        return found.stored if found is not None else None

    controller, start = (
        VolcanoQueuesController(look, Configuration()),
        Stopwatch(),
    )
    moments = count(_NOW, 2 * SECOND)
    every = [(QUEUE, each) for each in _looked_after(queues)]
    work_of = [*_pod_groups(names, work, queues // 10)]
    every += [(POD_GROUP, group) for group, _ in work_of]
    every += [(BOUND_POD, pod) for _, pod in work_of if pod["spec"]["nodeName"]]

    def observe(watched: WatchedKind, manifest: Manifest, *, gone: bool = False) -> None:
        observed = watched.observed(manifest, stored.get)
        found = replace(observed, value=None) if gone else observed
        stored[found.key] = found
        controller.observe(found)

    def turn() -> None:
        for _ in controller.reconcile(lambda *_: False, next(moments)):
            pass

    with start.lap():
        for watched, manifest in every:
            observe(watched, manifest)
    first = Stopwatch()
    with first.lap():
        turn()
    numbers, groups = count(work), iter(work_of)

    def submit() -> None:
        observe(POD_GROUP, _pod_group(next(numbers), names[7], "")[0])
        turn()

    def finish() -> None:
        observe(POD_GROUP, next(groups)[0], gone=True)
        turn()

    return start.micros / 1e6, first.micros / 1e6, *_laps(turn, submit, finish)


def _volcano_gates(queues: int, work: int) -> tuple[float, float, float, float, float]:
    names = [f"team-{team}-{member}" for team in range(queues // _TEAMS) for member in range(_MEMBERS)]
    keeper, start = volcano.VolcanoGatekeeper(), Stopwatch()
    every = [_pod_group(turn, names[turn % len(names)], "") for turn in range(work)]
    pods = [_at_volcanos_gate(turn, names, gated=turn >= work // 2) for turn in range(work)]

    def observe(pod: Manifest) -> None:
        found = read_volcano_pod(pod)
        keeper.put_pod(found.key, found)

    with start.lap():
        for queue in _volcano_queues(queues):
            keeper.put_queue(queue["metadata"]["name"], read_gated_queue(queue))
        for group, _ in every:
            keeper.put_group(f"team/{group['metadata']['name']}", read_gated_group(group))
        for pod in pods:
            observe(pod)
    first = _settled(lambda: bool(keeper.decide()))
    for turn in [int(key.rpartition("-")[2]) for key in keeper.granted]:
        observe(_at_volcanos_gate(turn, names, gated=False))
    numbers, running = count(work), iter(pods)

    def submit() -> None:
        number = next(numbers)
        keeper.put_group(f"team/job-{number}", read_gated_group(_pod_group(number, names[7], "")[0]))
        observe(_at_volcanos_gate(number, names[7:8], gated=True))
        keeper.decide()

    def finish() -> None:
        observe({**next(running), "status": {"phase": "Succeeded"}})
        keeper.decide()

    return start.micros / 1e6, first, *_laps(keeper.decide, submit, finish)


def _at_volcanos_gate(turn: int, names: list[str], *, gated: bool) -> Manifest:
    notes = {} if gated else {"quotree.dev/quota-admitted": names[turn % len(names)]}
    made = _pod(turn, "", "default-scheduler", uid=f"uid-{turn}", labels={"quotree.dev/quota": "volcano"})
    made["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": f"job-{turn}", **notes}
    made["spec"]["schedulingGates"] = [{"name": "quotree.dev/quota"}] if gated else []
    return made


def _looked_after(queues: int) -> Iterator[Manifest]:
    """Queues with a state and the finalizer."""
    for each in _volcano_queues(queues):
        meta = {"name": each["metadata"]["name"], "finalizers": [FINALIZER], "uid": each["metadata"]["name"]}
        yield {**each, "apiVersion": "scheduling.volcano.sh/v1beta1", "metadata": meta, "status": {"state": "Open"}}


def _yunikorn(queues: int, work: int) -> tuple[float, float, float, float, float]:
    names = [f"root.team-{team}.queue-{child}" for team in range(queues // _TEAMS) for child in range(_MEMBERS)]
    nodes = queues // 10
    every = [queue_config(queues, most=10, rule={"name": "provided"}), *_nodes(nodes)]
    pods = [_yunikorn_pod(turn, names, f"node-{turn % nodes}" * (turn < work // 2)) for turn in range(work)]
    found, start = YuniKornSimulation(_NOW), Stopwatch()
    with start.lap():
        found.change([*every, *pods])
    first = _settled(lambda: bool(found.settle()))
    numbers, running = count(work), iter([*found.intake.pods])

    def submit() -> None:
        found.change([_yunikorn_pod(next(numbers), names[7:8], "")])
        found.settle()

    return start.micros / 1e6, first, *_laps(found.settle, submit, lambda: found.finish(next(running)))


def _gates(queues: int, work: int) -> tuple[float, float, float, float, float]:
    """Each Namespace has a quota of 10 cpu; each parent has 99 of them."""
    parents = "\n".join(f"- {{name: team-{team}, parent: true}}" for team in range(queues // _TEAMS))
    names = [f"ns-{number}" for number in range(queues // _TEAMS * _MEMBERS)]
    spaces = [
        namespace(name, namespace_quota='{"cpu":"10"}', parentqueue=f"root.team-{turn // _MEMBERS}")
        for turn, name in enumerate(names)
    ]
    pods = [_gated_pod(turn, names, gated=turn >= work // 2) for turn in range(work)]
    keeper, start = YuniKornGatekeeper(QueuesInForce("yunikorn")), Stopwatch()
    with start.lap():
        keeper.queues.put("yunikorn-configs", read_config_map(queues_yaml(parents, _BY_NAMESPACE)))
        for space in spaces:
            keeper.put_namespace(space["metadata"]["name"], read_namespace(space))
        for pod in pods:
            _observe(keeper, pod)
    first = _settled(lambda: bool(keeper.decide(_NOW)))
    for turn in [int(key.rpartition("-")[2]) for key in keeper.granted]:
        _observe(keeper, _gated_pod(turn, names, gated=False))
    numbers, running = count(work), iter(pods)

    def submit() -> None:
        _observe(keeper, _gated_pod(next(numbers), names[7:8], gated=True))
        keeper.decide(_NOW)

    def finish() -> None:
        pod = next(running)
        _observe(keeper, {**pod, "status": {"phase": "Succeeded"}})
        keeper.decide(_NOW)

    return start.micros / 1e6, first, *_laps(lambda: keeper.decide(_NOW), submit, finish)


def _observe(keeper: YuniKornGatekeeper, pod: Manifest) -> None:
    found = read_gated_pod(pod)
    keeper.put_pod(found.key, found)


def _settled(step: Callable[[], bool]) -> float:
    """The seconds until `step` has nothing more to do."""
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
    """Volcano queues: parents with 99 children, each of which may use 10 cpu."""
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


def _gated_pod(turn: int, names: list[str], *, gated: bool) -> Manifest:
    name = names[turn % len(names)]
    made = _pod(turn, "", "default-scheduler", uid=f"uid-{turn}")
    notes = {} if gated else {"quotree.dev/quota-admitted": f"root.team-{int(name[3:]) // _MEMBERS}.{name}"}
    labels = {"applicationId": f"job-{turn}", "quotree.dev/quota": "yunikorn"}
    made["metadata"] |= {"namespace": name, "labels": labels, "annotations": notes}
    made["spec"]["schedulingGates"] = [{"name": "quotree.dev/quota"}] if gated else []
    return made


def _pod(turn: int, node: str, scheduler: str = "volcano", **notes: object) -> Manifest:
    """A Pod of one of 20 shapes."""
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
