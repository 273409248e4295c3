"""What a change set does, computed: quota by the engine and the dialects, work by the simulation."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from cli.input.change_set import ChangeSet
from cli.input.context import DECLARED
from cli.input.given import Given
from cli.input.options import EngineOptions
from cli.input.simulation import SimulatedFiles, engine_settings
from cli.input.snapshot import read
from policies.configuration.settings import Configuration
from policies.dialects import core, volcano
from policies.dialects.yunikorn_config.configmap import CONFIG_MAP
from policies.impact.differences import NodeChange, differences
from policies.impact.quotas import Quotas
from policies.impact.volcano_quotas import resources, volcano_quotas
from policies.impact.yunikorn_quotas import yunikorn_quotas
from policies.model.forest import Forest
from policies.model.objects import KubeObject
from scheduling.impact.prediction import Prediction, predict
from scheduling.simulation.simulation import Simulation, begin

_OTHER_TREES = frozenset({volcano.QUEUE, core.NAMESPACE, CONFIG_MAP})
"""The kinds that make the trees of Volcano and YuniKorn."""


@dataclass(frozen=True, slots=True)
class Impact:
    """`nodes` are those that differ: of Kueue, then of Volcano and YuniKorn."""

    change: ChangeSet
    nodes: tuple[NodeChange, ...]
    prediction: Prediction
    simulation: Simulation
    files: SimulatedFiles


def impact(change: ChangeSet, configuration: Configuration, engine: EngineOptions, kubeconfig: str | None) -> Impact:
    """Raises Misused, and OutOfReach where a cluster cannot be read."""
    files = SimulatedFiles(configuration, trees=False)
    simulation = _existing(change, files, engine, kubeconfig)
    manifests = files.accept(change.applied)
    prediction = predict(simulation, manifests, [each.ref for each in change.deleted])
    nodes = differences(prediction.before, prediction.after) + differences(*_other_quotas(change))
    return Impact(change, tuple(nodes), prediction, simulation, files)


def _existing(change: ChangeSet, files: SimulatedFiles, engine: EngineOptions, kubeconfig: str | None) -> Simulation:
    """What there is before the change, at rest."""
    settings = engine_settings(engine, files.configuration)
    if change.against.of_cluster:
        world = read(change.against, kubeconfig, settings)
        files.forest = change.cluster.world.knowing(DECLARED)
        simulation = Simulation(settings, time.time_ns(), world)
        simulation.add(files.accept(change.before))
        return simulation
    manifests = files.accept(change.before)
    applied = (placed.document.manifest for placed in change.applied.objects.values())
    simulation = Simulation(settings, begin([*manifests, *applied]))
    simulation.add(manifests)
    return simulation


def _other_quotas(change: ChangeSet) -> tuple[Quotas, Quotas]:
    """The quota of Volcano's and YuniKorn's queues before and after."""
    before = Forest.of(filter(_is_other, change.existing()))
    after = before.drop_all(each.ref for each in change.deleted).put_all(filter(_is_other, _objects(change.applied)))
    listed = resources(before) | resources(after)
    return (
        {**volcano_quotas(before, listed), **yunikorn_quotas(before)},
        {**volcano_quotas(after, listed), **yunikorn_quotas(after)},
    )


def _objects(files: Given) -> Iterable[KubeObject]:
    return (placed.obj for placed in files.objects.values())


def _is_other(found: KubeObject) -> bool:
    return found.ref.group_kind in _OTHER_TREES
