"""Reads the quota trees of a cluster, and their usage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analysis.context import Context
from analysis.simulation import Simulations
from analysis.trees.as_json import trees_as_json
from analysis.trees.usage import UsageSources
from cli.exits import OutOfReach
from cli.input import elsewhere
from cli.input.against import Against
from cli.input.context import load
from cli.input.settings import settings
from cli.output import note
from policies.configuration.settings import YuniKornSettings
from policies.dialects import kueue
from policies.dialects.declared import DECLARED
from policies.model.forest import Forest
from scheduling.quota.state import Options
from scheduling.simulation.settings import SimulationSettings
from scheduling.volcano.world import SessionWorld as Volcano
from scheduling.world.world import World
from scheduling.yunikorn.simulation import YuniKornSimulation as YuniKorn


def of_cluster(against: Against) -> dict[str, Any]:
    """All trees of a cluster with their usage, as JSON. Raises OutOfReach."""
    context = context_of(against)
    return trees_as_json(context.world, context, usage_sources(against, context.world))


def context_of(against: Against) -> Context:
    """The context; empty for files, which are read together with the inputs."""
    if not against.of_cluster:
        return Context(against, Forest(frozenset(DECLARED)))
    configuration = settings(None, (), None)
    return load(against, replace(configuration, yunikorn=YuniKornSettings(follow=False)))  # YuniKorn is not drawn


def usage_sources(against: Against, forest: Forest) -> UsageSources:
    """The sources of the usage in a cluster. Usage that the user may not read is left out."""
    return UsageSources(_usage(against, forest), *_usage_of_others(against))


def simulated_sources(played: Simulations) -> UsageSources:
    """The engines of the projects that have work; YuniKorn's is included if it is configured."""
    world, volcano, yunikorn = played.kueue.world, played.volcano, played.yunikorn
    return UsageSources(
        world if world.workloads else None,
        volcano.engine.world if volcano.has_work else None,
        yunikorn if yunikorn.has_work or yunikorn.intake.configured else None,
    )


def _usage(against: Against, forest: Forest) -> World | None:
    """The usage of Kueue's queues; None if the cluster has none, or if the user may not read it."""
    if against.kind not in ("cluster", "snapshot") or not any(node.ref.group == kueue.GROUP for node in forest.nodes()):
        return None
    from cli.input.snapshot import read  # here, since it takes long to load and files have no usage

    try:
        options = Options(orchestrated=settings(None, (), None).kueue.orchestrated)
        return read(against, SimulationSettings(options))
    except OutOfReach as error:
        note(f"the usage is left out: {error.message}")
        return None


def _usage_of_others(against: Against) -> tuple[Volcano | None, YuniKorn | None]:
    """The usage of Volcano's and YuniKorn's queues; None for a project without work."""
    if against.kind != "cluster":
        return None, None
    found = elsewhere.of_cluster(against, settings(None, (), None))
    return (
        found.volcano.engine.world if found.volcano.has_work else None,
        found.yunikorn if found.yunikorn.has_work else None,
    )
