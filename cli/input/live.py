"""A cluster as the reconciler would know it, for the commands that explain it. No reconciler need run there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cli.commands.simulate import codes, start, tell
from cli.exits import Exit, Misused, OutOfReach, strongest
from cli.input.context import Against
from cli.input.simulation import engine_settings, world
from cli.report.waiting_text import Words
from scheduling.cycle.told import Named, job_of
from scheduling.objects.times import written
from scheduling.simulation.settings import Settings
from scheduling.simulation.simulation import Simulation
from scheduling.simulation.submissions import Name
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class Decided:
    """What a command was told of how the engine decides: see `cli.commands.options.engine`."""

    config: str | None = None
    profile: str | None = None
    kueue_config: str | None = None
    fair_sharing: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A world, how to name its work, and the exit code for how it could be read."""

    world: World
    words: Words
    named: Named
    exit: Exit = Exit.CLEAN


def opened(against: Against, kubeconfig: str | None, decided: Decided) -> Told:
    """The cluster as it is, or the files of a folder at rest. Raises Misused, OutOfReach."""
    if against.kind == "files":
        return of_files(*_played(against, decided))
    if against.kind != "cluster":
        raise Misused("--against: name a cluster, or files:DIR, which plays the files of a folder")
    empty = world(decided.config, (), decided.profile)
    settings = engine_settings(decided.kueue_config, empty.configuration, fair_sharing=decided.fair_sharing)
    return _of_cluster(read(against, kubeconfig, settings))


def read(against: Against, kubeconfig: str | None, settings: Settings | None = None) -> World:
    """Raises OutOfReach."""
    from cluster.client import Cluster  # here, since these take long and files need none of them
    from cluster.errors import ClusterError
    from reconciler.process import Settings as Decisions
    from reconciler.visible.snapshot import snapshot

    chosen = settings or Settings()
    decisions = Decisions(chosen.options, chosen.ordering, chosen.counting, chosen.waiting)
    try:
        with Cluster.connect(against.name or None, kubeconfig) as cluster:
            return snapshot(cluster, decisions)
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error


def _of_cluster(found: World) -> Told:
    def job(key: str) -> Name:
        workload = found.workloads.get(key)
        told = job_of(workload) if workload is not None else None
        namespace, _, name = key.partition("/")
        return Name(told["kind"], namespace, told["name"]) if told else Name("Workload", namespace, name)

    return Told(found, Words(lambda key: str(job(key)), written), _named(job))


def _played(against: Against, decided: Decided) -> tuple[Simulation, Exit]:
    paths = [against.name]
    options = (decided.config, decided.profile, decided.kueue_config)
    given, simulation = start(paths, *options, fair_sharing=decided.fair_sharing)
    tell(given, simulation)
    return simulation, strongest(codes(given, simulation))


def of_files(simulation: Simulation, code: Exit = Exit.CLEAN) -> Told:
    words = Words(lambda key: str(simulation.names[key]), written)
    return Told(simulation.world, words, _named(lambda key: simulation.names[key]), code)


def _named(job: Callable[[str], Name]) -> Named:
    return lambda key: {**job(key)._asdict(), "workload": key.partition("/")[2]}


def key_of(found: World, called: str) -> str:
    """The Workload of that name, `namespace/name`, or of the job of that name. Raises Misused."""
    namespace, slash, name = called.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise Misused(f"{called!r} names no workload; write NAMESPACE/NAME")
    if called in found.workloads:
        return called
    there = (each for each in found.workloads.values() if each.namespace == namespace)
    keys = sorted(each.key for each in there if any(owner.name == name for owner in each.owners))
    if len(keys) == 1:
        return keys[0]
    if keys:
        raise Misused(f"{called} is the name of {len(keys)} jobs; name a Workload: {', '.join(keys)}")
    cure = "a job without the label kueue.x-k8s.io/queue-name has no Workload"
    raise Misused(f"there is no Workload {called}, and none that stands for a job of this name; {cure}")
