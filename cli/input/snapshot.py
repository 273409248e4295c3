"""The state that `why` and `pending` explain: of a cluster, as its reconciler would see it, or of a simulation.

No reconciler need run in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cli.exits import Exit, Misused, OutOfReach
from cli.input import elsewhere, snapshot_file
from cli.input.against import Against
from cli.input.options import EngineOptions
from cli.input.settings import settings
from cli.input.simulation import Others, engine_settings, start
from scheduling.objects.times import written
from scheduling.simulation.settings import Settings
from scheduling.visibility.as_json import job_of
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class Names:
    """How texts name the job of a Workload (`namespace/name`), and how they write a time."""

    job: Callable[[str], str]
    time: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`exit` says how well it could be read. `others`: the work in other queues than Kueue's; None if unknown."""

    world: World
    names: Names
    exit: Exit = Exit.CLEAN
    others: Others | None = None


def take(against: Against, kubeconfig: str | None, engine: EngineOptions) -> Snapshot:
    """The cluster now, or the files of a folder once nothing moves any more. Raises Misused, OutOfReach."""
    if against.kind == "files":
        return _of_files(against.name, engine)
    if against.kind == "nothing":
        raise Misused("--against: name a cluster or a snapshot, or files:DIR to simulate the files of a folder")
    configuration = settings(engine.config, (), engine.profile)
    world = read(against, kubeconfig, engine_settings(engine, configuration))
    others = elsewhere.of_cluster(against, kubeconfig, configuration) if against.kind == "cluster" else None
    return _of_cluster(world, others)


def read(against: Against, kubeconfig: str | None, settings: Settings | None = None) -> World:
    """What decisions read, in a cluster or in a snapshot of one. Raises OutOfReach."""
    from cluster.client import Cluster  # here, since these take long to load and files need none of them
    from cluster.errors import ClusterError
    from reconciler.api.snapshot import of_manifests, snapshot
    from reconciler.process import Settings as ReconcilerSettings

    chosen = settings or Settings()
    decisions = ReconcilerSettings(chosen.options, chosen.ordering, chosen.counting, chosen.waiting)
    if against.kind == "snapshot":
        return of_manifests(snapshot_file.read(against.name).objects, decisions)
    try:
        with Cluster.connect(against.name or None, kubeconfig) as cluster:
            return snapshot(cluster, decisions)
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error


def _of_cluster(world: World, others: Others | None) -> Snapshot:
    def job(key: str) -> str:
        workload = world.workloads.get(key)
        if workload is None:
            return f"Workload {key}"
        found = job_of(workload)
        return f"{found['kind']} {found['namespace']}/{found['name']}"

    return Snapshot(world, Names(job, written), others=others)


def _of_files(folder: str, engine: EngineOptions) -> Snapshot:
    simulations = start([folder], engine)
    simulations.note_problems()
    simulation = simulations.kueue
    names = Names(lambda key: str(simulation.names[key]), written)
    return Snapshot(simulation.world, names, simulations.exit, simulations)


def key_of(world: World, name: str) -> str:
    """The Workload `namespace/name`, or that of the job of this name. Raises Misused."""
    namespace, slash, own = name.partition("/")
    if not (namespace and slash and own) or "/" in own:
        raise Misused(f"{name!r} names no workload; write NAMESPACE/NAME")
    if name in world.workloads:
        return name
    there = (each for each in world.workloads.values() if each.namespace == namespace)
    keys = sorted(each.key for each in there if any(owner.name == own for owner in each.owners))
    if len(keys) == 1:
        return keys[0]
    if keys:
        raise Misused(f"{len(keys)} jobs are named {name}; name a Workload instead: {', '.join(keys)}")
    hint = "a job without the label kueue.x-k8s.io/queue-name has no Workload"
    raise Misused(f"there is no Workload {name}, and none of a job with this name; {hint}")
