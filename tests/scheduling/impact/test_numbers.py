"""The numbers of a change equal those of new clusters and those that the forest counts."""

from __future__ import annotations

from hypothesis import assume, given

from policies.amounts import quota
from policies.dialects import kueue, read
from policies.impact.quotas import PairQuota, QuotaPair
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import minus
from scheduling.impact.prediction import kueue_quotas, nano_of, predict
from scheduling.simulation.intake import is_played
from scheduling.simulation.simulation import KueueSimulation
from tests.builders import typed, world
from tests.policies.oracle_world import Edit, Key, Manifest, World, applied
from tests.policies.organisations import changes


def played(objects: World) -> dict[Key, Manifest]:
    """What an API server would store and a simulation plays."""
    return {key: it for key, it in objects.items() if is_played(it) and (found := read(it)) and not found.defects}


def at_rest(objects: World) -> KueueSimulation:
    simulation = KueueSimulation()
    simulation.add(objects.values())
    return simulation


def counted(objects: World) -> dict[tuple[Ref, QuotaPair], PairQuota]:
    """The same, from the sums that the forest keeps."""
    forest = world(*objects.values())
    return {
        (node.ref, QuotaPair(*name.split("/", 1))): _counted(forest, node.ref, name)
        for node in forest.nodes()
        if isinstance(node, kueue.KueueNode) and forest.ends_at_root(node.ref)
        for name in node.terms()
    }


def _counted(forest: Forest, ref: Ref, name: str) -> PairQuota:
    amounts = (
        quota.terms(forest, ref, name).nominal,
        quota.subtree(forest, ref, name),
        minus(quota.subtree(forest, ref, name), quota.lent(forest, ref, name)),
        quota.potential(forest, ref, name).amount,
    )
    return PairQuota(*(nano_of(name.partition("/")[2], amount) for amount in amounts))


@given(changes(sound=False))
def test_numbers_after_a_change_equal_those_of_a_new_cluster(change: tuple[World, Edit]) -> None:
    before, after = played(change[0]), played(applied(*change))
    simulation = at_rest(before)
    deleted = [typed(manifest).ref for key, manifest in before.items() if key not in after]

    found = predict(simulation, [it for key, it in after.items() if before.get(key) != it], deleted)

    assert found.before == kueue_quotas(at_rest(before).world)
    assert found.after == kueue_quotas(at_rest(after).world)


@given(changes(sound=False))
def test_the_engine_and_the_forest_count_the_same(change: tuple[World, Edit]) -> None:
    objects = played(change[0])
    nodes = [node for node in world(*objects.values()).nodes() if isinstance(node, kueue.KueueNode)]
    assume(all(len([*node.quotas()]) == len(node.terms()) for node in nodes))  # a pair listed twice has no one amount
    found = kueue_quotas(at_rest(objects).world)

    assert {(ref, pair): found[ref].of(pair) for ref, pair in counted(objects)} == counted(objects)
