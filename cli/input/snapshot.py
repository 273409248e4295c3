"""Reads the state that `why` and `pending` explain: of a cluster, a snapshot, or a simulation of files.

The state of a cluster is read in the same way as the reconciler reads it. No reconciler needs to run there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.simulation import OtherQueues
from cli.exits import Exit, Misused
from cli.input import elsewhere, snapshot_file
from cli.input.against import Against
from cli.input.named import NamedWork, workload_of
from cli.input.options import EngineOptions
from cli.input.settings import installed_beside, settings
from cli.input.simulation import engine_settings, note_problems, start
from cli.progress import stage
from scheduling.simulation.settings import SimulationSettings
from scheduling.simulation.submissions import LeftOut
from scheduling.visibility.as_json import job_of
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """The state that a command explains.

    `job`: returns the name of the job of a Workload (`namespace/name`).
    `exit`: the exit code, which says whether everything could be read.
    `others`: the work in the queues of Volcano and YuniKorn; None if it is unknown.
    `left_out`: the jobs of files that are in no queue.
    """

    world: World
    job: Callable[[str], str]
    exit: Exit = Exit.CLEAN
    others: OtherQueues | None = None
    left_out: tuple[LeftOut, ...] = ()


def take(against: Against, engine: EngineOptions) -> LoadedSnapshot:
    """The state of the cluster now, or of the files of a folder after a simulation. Raises Misused, OutOfReach."""
    if against.kind == "files":
        return _of_files(against.name, engine)
    if against.kind == "nothing":
        raise Misused("--against: name a cluster or a snapshot, or files:DIR to simulate the files of a folder")
    configuration = settings(engine.config, (), engine.profile, installed=installed_beside(against))
    world = read(against, engine_settings(engine, configuration))
    others = elsewhere.of_cluster(against, configuration) if against.kind == "cluster" else None
    return _of_cluster(world, others)


def read(against: Against, settings: SimulationSettings | None = None) -> World:
    """The state of a cluster, or of a snapshot of one, as the reconciler reads it. Raises OutOfReach."""
    from reconciler.api.snapshot import of_manifests, snapshot  # here, since these take long to load
    from reconciler.process import DecisionSettings as ReconcilerSettings

    chosen = settings or SimulationSettings()
    decisions = ReconcilerSettings(
        chosen.options, chosen.ordering, chosen.counting, chosen.waiting, topologies=chosen.topologies
    )
    if against.kind == "snapshot":
        return of_manifests(snapshot_file.read(against.name).objects, decisions)
    stage("reading the cluster")
    with against.login.connected(f"cannot read {against}") as cluster:
        return snapshot(cluster, decisions)


def _of_cluster(world: World, others: OtherQueues | None) -> LoadedSnapshot:
    def job(key: str) -> str:
        workload = world.workloads.get(key)
        if workload is None:
            return f"Workload {key}"
        found = job_of(workload)
        return f"{found['kind']} {found['namespace']}/{found['name']}"

    return LoadedSnapshot(world, job, others=others)


def _of_files(folder: str, engine: EngineOptions) -> LoadedSnapshot:
    simulations = start([folder], engine)
    code = note_problems(simulations.files, simulations.kueue, simulations.others)
    simulation = simulations.kueue
    left_out = tuple(simulation.left_out.values())
    return LoadedSnapshot(simulation.world, lambda key: str(simulation.names[key]), code, simulations, left_out)


def key_of(world: World, wanted: NamedWork) -> str:
    """The key `namespace/name` of the Workload that the user means. Raises Misused."""
    there = [each for each in world.workloads.values() if each.namespace == wanted.namespace]
    owners = {each.name: [(owner.kind, owner.name) for owner in each.owners] for each in there}
    finished = {each.name for each in there if each.finished}
    return f"{wanted.namespace}/{workload_of(owners, wanted, finished)}"
