"""Computes the effect of a change set: on quota by the engine and the dialects, on work by simulations."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.context import ChangeSet
from analysis.elsewhere import ManifestsElsewhere
from analysis.simulation import SimulatedFiles, other_simulations
from policies.configuration.settings import Configuration
from policies.dialects import core, volcano
from policies.dialects.core import CONFIG_MAP
from policies.dialects.declared import DECLARED
from policies.impact.quotas import Effect, Excess, NodeChange, Quotas, differences
from policies.impact.volcano_quotas import resources, volcano_quotas
from policies.impact.yunikorn_quotas import yunikorn_quotas
from policies.model.forest import Forest
from policies.model.objects import KubeObject
from scheduling.impact.elsewhere import Elsewhere, OtherSimulation, WorkChange, predict_elsewhere
from scheduling.impact.prediction import Prediction, predict
from scheduling.simulation.settings import SimulationSettings
from scheduling.simulation.simulation import KueueSimulation, begin
from scheduling.volcano.play.simulation import VolcanoSimulation
from scheduling.world.world import World
from scheduling.yunikorn.simulation import YuniKornSimulation

_OTHER_TREES = frozenset({volcano.QUEUE, core.NAMESPACE, CONFIG_MAP})
"""The kinds that make the trees of Volcano and YuniKorn."""
_NOTHING = ManifestsElsewhere()


@dataclass(frozen=True, slots=True)
class Impact:
    """The effect of a change.

    nodes: the nodes whose quota changes: of Kueue, then of Volcano and YuniKorn.
    prediction: the effect on work of Kueue.
    simulation: the simulation of Kueue after the change.
    others: the simulations of Volcano and YuniKorn after the change.
    elsewhere: the effect on work of Volcano and YuniKorn.
    quotas: the quotas of all nodes before and after the change.
    """

    change: ChangeSet
    nodes: tuple[NodeChange, ...]
    prediction: Prediction
    simulation: KueueSimulation
    files: SimulatedFiles
    others: tuple[OtherSimulation, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    quotas: tuple[Quotas, Quotas] = ({}, {})

    @property
    def over(self) -> tuple[Excess, ...]:
        """The nodes that exceed their quota after the change, but not before it."""
        return (*self.prediction.over, *(excess for each in self.elsewhere for excess in each.over))

    @property
    def work_elsewhere(self) -> tuple[WorkChange, ...]:
        return tuple(change for each in self.elsewhere for change in each.work)

    @property
    def settled(self) -> bool:
        return self.prediction.settled and all(each.settled for each in self.elsewhere)


def effect_text(node: NodeChange) -> str:
    """The effect on a node, as the verb of a sentence."""
    if node.before is None:
        return "is created"
    if node.after is None:
        return "is deleted"
    verb = "gains and loses" if node.effect is Effect.MIXED else str(node.effect)
    if not node.moved:
        return verb
    way = f"moves from {node.before.parent or 'no parent'} to {node.after.parent or 'no parent'}"
    return way if node.effect is Effect.MOVES else f"{way} and {verb}"


def impact(
    change: ChangeSet,
    configuration: Configuration,
    decisions: SimulationSettings,
    world: World | None,
    elsewhere: ManifestsElsewhere | None = None,
) -> Impact:
    """Simulate the change and compare the states before and after it.

    world: the engine's state of the cluster; None for files.
    elsewhere: the work of Volcano and YuniKorn in the cluster.
    """
    files = SimulatedFiles(configuration, trees=False)
    if world is not None:
        simulation = of_cluster(world, change.cluster.world, decisions, files)
        simulation.add(files.accept(change.before))
        found = elsewhere or _NOTHING
        return played(change, simulation, files, _of_cluster(found, files, simulation.now), found)
    manifests = files.accept(change.before)
    applied = (placed.document.manifest for placed in change.applied.objects.values())
    simulation = KueueSimulation(decisions, begin([*manifests, *applied]))
    simulation.add(manifests)
    return played(change, simulation, files, _beside(simulation, files))


def played(
    change: ChangeSet,
    simulation: KueueSimulation,
    files: SimulatedFiles,
    others: Sequence[OtherSimulation] = (),
    there: ManifestsElsewhere = _NOTHING,
) -> Impact:
    """The impact of the change on a settled simulation, which continues.

    others: the simulations of Volcano and YuniKorn.
    there: their work in a cluster. It is not changed if its manifest is applied again.
    """
    manifests, deleted = files.accept(change.applied), [each.ref for each in change.deleted]
    prediction = predict(simulation, manifests, deleted)
    applied = there.without(files.take_others())
    elsewhere = tuple(predict_elsewhere(each, applied, deleted) for each in others)
    before, after = _other_quotas(change, files.configuration.yunikorn.version)
    nodes = differences(prediction.before, prediction.after) + differences(before, after)
    quotas = ({**prediction.before, **before}, {**prediction.after, **after})
    return Impact(change, tuple(nodes), prediction, simulation, files, tuple(others), elsewhere, quotas)


def _beside(kueue: KueueSimulation, files: SimulatedFiles) -> list[OtherSimulation]:
    """The simulations of Volcano's and YuniKorn's queues, settled before the change."""
    return _at_rest(other_simulations(kueue.start, files.configuration), files)


def _of_cluster(found: ManifestsElsewhere, files: SimulatedFiles, now: int) -> list[OtherSimulation]:
    """The same simulations for the work of a cluster, with YuniKorn's own handling of unreadable quota annotations."""
    version = files.configuration.yunikorn.version
    volcanos, yunikorns = VolcanoSimulation(now), YuniKornSimulation(now, strict=False, version=version)
    volcanos.change(found.volcano)
    yunikorns.change(found.yunikorn)
    return _at_rest((volcanos, yunikorns), files)


def _at_rest(others: Iterable[OtherSimulation], files: SimulatedFiles) -> list[OtherSimulation]:
    manifests = files.take_others()
    made = [*others]
    for each in made:
        each.change(manifests)
        each.settle()
    return made


def of_cluster(world: World, forest: Forest, settings: SimulationSettings, files: SimulatedFiles) -> KueueSimulation:
    """A simulation that starts with the current state of the cluster. `settings`: those of `world`."""
    files.forest = forest.knowing(DECLARED)
    return KueueSimulation(settings, time.time_ns(), world)


def _other_quotas(change: ChangeSet, yunikorn_version: tuple[int, int]) -> tuple[Quotas, Quotas]:
    """The quota of Volcano's and YuniKorn's queues before and after."""
    before = Forest.of(filter(_is_other, change.existing()))
    applied = (placed.obj for placed in change.applied.objects.values())
    after = before.drop_all(each.ref for each in change.deleted).put_all(filter(_is_other, applied))
    listed = resources(before) | resources(after)
    return (
        {**volcano_quotas(before, listed), **yunikorn_quotas(before, yunikorn_version)},
        {**volcano_quotas(after, listed), **yunikorn_quotas(after, yunikorn_version)},
    )


def _is_other(found: KubeObject) -> bool:
    return found.ref.group_kind in _OTHER_TREES
