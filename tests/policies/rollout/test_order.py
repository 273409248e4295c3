"""A safe order of edits: which edit is first, which needs a detour, and which is impossible."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policies.dialects.yunikorn_config.model import amounts
from policies.dialects.yunikorn_config.reading import read_config
from policies.rollout.order import ApplyOrder, arrange
from policies.rollout.queue_configs import with_higher_guarantees, with_lower_guarantees
from policies.rollout.waves import syncs
from policies.text.yaml_values import single
from tests.builders import Manifest, cluster_queue, cohort, config_map, flavor, group, local_queue, namespace, queue
from tests.policies.oracle_world import YUNIKORN, World, key_of
from tests.policies.organisations import queue_text
from tests.policies.queue_oracle import PARENT
from tests.policies.rollout.organisation_changes import edits, played, site, whole


def of(*manifests: Manifest) -> World:
    return {key_of(manifest): manifest for manifest in manifests}


def ordered(before: World, after: World) -> ApplyOrder:
    at, every = site(before), edits(before, after)
    assert whole(at, every) == []
    found = arrange(at, every)
    assert played(at, found.edits)[1] == []
    return found


def names(order: ApplyOrder) -> list[str]:
    return [edit.ref.name for edit in order.edits]


def team(name: str, parent: str, cpu: int) -> Manifest:
    return queue(name, parent, deserved=f"cpu:{cpu}")


ENG = queue("eng", deserved="cpu:10")
OPS = queue("ops", deserved="cpu:10")


def test_queue_that_shrinks_is_applied_before_the_one_that_grows() -> None:
    before = of(ENG, team("a", "eng", 4), team("b", "eng", 6))

    assert names(ordered(before, of(ENG, team("a", "eng", 7), team("b", "eng", 3)))) == ["b", "a"]
    assert names(ordered(before, of(ENG, team("a", "eng", 2), team("b", "eng", 8)))) == ["a", "b"]


def test_a_parent_grows_before_its_children_and_shrinks_after_them() -> None:
    small = of(queue("eng", deserved="cpu:4"), team("a", "eng", 4))
    large = of(queue("eng", deserved="cpu:9"), team("a", "eng", 9))

    assert names(ordered(small, large)) == ["eng", "a"]
    assert names(ordered(large, small)) == ["a", "eng"]


def test_children_are_moved_before_their_parent_is_deleted() -> None:
    before = of(ENG, OPS, team("a", "eng", 4))

    assert names(ordered(before, of(OPS, team("a", "ops", 4)))) == ["a", "eng"]


def test_an_organisation_is_created_from_the_roots() -> None:
    after = of(ENG, team("b", "eng", 2), team("b1", "b", 1), team("a", "eng", 2))

    order = ordered({}, after)

    assert names(order) == ["eng", "a", "b", "b1"]
    (step,) = syncs(site({}).world, order.edits)
    assert [[edit.ref.name for edit in wave] for wave in step.waves] == [["eng"], ["a", "b"], ["b1"]]


def test_independent_trees_share_waves() -> None:
    before, after = of(cohort("x"), cohort("y")), of(cohort("x", "top"), cohort("y", "other"))
    order = ordered(before, after)

    (step,) = syncs(site(before).world, order.edits)
    assert [len(wave) for wave in step.waves] == [2]


def test_exchange_between_full_parents_needs_two_steps_and_reports_the_reason() -> None:
    before = of(ENG, OPS, team("a", "eng", 10), team("b", "ops", 10))
    after = of(ENG, OPS, team("a", "ops", 10), team("b", "eng", 10))

    order = ordered(before, after)
    first, second = syncs(site(before).world, order.edits)

    assert names(order) == ["a", "b", "a"]
    assert [edit.detour for edit in order.edits] == [True, False, False]
    (why,) = order.blocked
    assert why.edit.ref.name == "a"
    assert {judged.rule.id for judged in why.refusals} == {"children-deserved-exceed-parent"}
    assert [[edit.ref.name for edit in wave] for wave in first.waves] == [["a"], ["b"]]
    assert [[edit.ref.name for edit in wave] for wave in second.waves] == [["a"]]


def test_several_queues_take_a_detour_if_a_single_one_is_not_enough() -> None:
    """`e` and `b` change places, `c` and `f` move in beside them, and neither p1 nor p2 has room for three."""
    roots = [queue(name, deserved=f"cpu:{cpu}") for name, cpu in (("p0", 2), ("p1", 5), ("p2", 4))]
    still = [team("a", "p0", 1), team("d", "p0", 1)]
    before = of(*roots, *still, team("e", "p2", 4), team("b", "p1", 4), team("c", "p0", 0), team("f", "p0", 0))
    after = of(*roots, *still, team("e", "p1", 3), team("b", "p2", 3), team("c", "p2", 1), team("f", "p1", 2))

    order = ordered(before, after)

    assert order.stuck == ()
    assert {each.edit.ref.name for each in order.blocked} >= {"b", "e"}


def test_queue_that_needs_contested_room_is_applied_first() -> None:
    """Only `a`, then `b`, then `z` works: `a` leaves room in ops that `b` needs, and `z` would take that in eng."""
    before = of(ENG, OPS, team("a", "ops", 1), team("rest", "ops", 9), team("b", "eng", 3), team("held", "eng", 6))
    after = of(ENG, OPS, team("a", "eng", 1), team("rest", "ops", 7), team("b", "ops", 3), team("held", "eng", 9))

    assert ordered(before, after).stuck == ()


def test_referenced_objects_are_created_first_and_deleted_last() -> None:
    quota = group("cpu", flavor("spot", cpu=4))
    after = of(cluster_queue("q", None, quota), local_queue("l", "q"), {**_flavor("spot")})

    order = ordered({}, after)

    assert names(order) == ["spot", "q", "l"]
    assert names(ordered(after, {})) == ["l", "q", "spot"]


def _flavor(name: str) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}


def test_namespaces_that_exchange_full_queues_need_two_steps() -> None:
    tree = queue_text(*({"name": name, "parent": True, "resources": {"guaranteed": {"vcore": "4"}}} for name in "xy"))

    def placed(name: str, parent: str) -> Manifest:
        notes = {PARENT: f"root.{parent}", YUNIKORN + "guaranteed": '{"cpu": "4"}', YUNIKORN + "quota": '{"cpu": "6"}'}
        return namespace(name, notes)

    before, after = (of(tree, placed("n1", one), placed("n2", two)) for one, two in ("xy", "yx"))

    order = ordered(before, after)

    assert names(order) == ["n1", "n2", "n1"]
    (why,) = order.blocked
    assert {judged.rule.id for judged in why.refusals} == {"namespaces-guaranteed-exceed-queue"}
    detour = order.edits[0].after
    assert detour is not None
    assert detour.manifest == namespace("n1", {PARENT: "root.x", YUNIKORN + "quota": '{"cpu": "6"}'})


def sized(name: str, cpus: int, *queues: Manifest, least: int | None = None) -> Manifest:
    """A queue of YuniKorn, guaranteed all that it may have unless `least` is given."""
    amounts = {"guaranteed": {"vcore": f"{cpus if least is None else least}"}, "max": {"vcore": f"{cpus}"}}
    return {"name": name, "parent": True, "resources": amounts, **({"queues": [*queues]} if queues else {})}


def in_queue(parent: str, **amounts: str) -> Manifest:
    notes = {f"{YUNIKORN}{key}": json.dumps({"cpu": amount}) for key, amount in amounts.items()}
    return namespace("n", {PARENT: f"root.{parent}", **notes})


@pytest.mark.parametrize("promised", [True, False])
def test_a_namespace_moves_to_a_queue_that_grows_from_one_that_shrinks(promised: bool) -> None:
    """Where their parent is guaranteed no more than both have, none of them keeps its guarantee on the way."""

    def state(small: int, large: int, parent: str) -> World:
        if promised:
            return of(queue_text(sized("p", small), sized("r", large)), in_queue(parent, guaranteed="4", quota="4"))
        both = sized("org", 9, sized("p", small), sized("r", large), least=5)
        return of(queue_text(both), in_queue(f"org.{parent}", quota="4"))

    order = ordered(state(4, 1, "p"), state(1, 4, "r"))

    assert [(edit.ref.name, edit.detour) for edit in order.edits] == [
        ("yunikorn-configs", True),
        ("n", False),
        ("yunikorn-configs", False),
    ]
    (blocked,) = order.blocked
    assert blocked.edit.ref.name in ("yunikorn-configs", "n")


def test_a_tree_with_weights_of_nodes_has_intermediate_versions() -> None:
    text = "partitions: [{name: default, nodesortpolicy: {resourceweights: {vcore: 1.5}}, queues: [{name: root}]}]"
    written = config_map("yunikorn-configs", "yunikorn", data={"queues.yaml": text})

    for version in (with_higher_guarantees(written, written), with_lower_guarantees(written, written)):
        assert single(version["data"]["queues.yaml"]) == single(text)


def test_names_and_amounts_of_intermediate_versions_are_those_that_yunikorn_reads() -> None:
    before, after = (
        config_map("yunikorn-configs", "yunikorn", data={"queues.yaml": text})
        for text in (
            "partitions: [{queues: [{name: on, parent: yes, resources: {max: {memory: 010}}}, {name: 1.0}]}]",
            "partitions: [{name: Default, queues: [&o {name: On, resources: {max: {memory: 9}}}, {<<: *o, name: A}]}]",
        )
    )

    config = read_config(with_higher_guarantees(before, after)["data"]["queues.yaml"])

    (partition,) = config.partitions
    assert config.problems == ()
    assert [(path, amounts(queue.maximum)) for path, queue in partition.queues.items()] == [
        ("root", {}),
        ("root.on", {"memory": 10}),
        ("root.a", {"memory": 9}),
        ("root.1.0", {}),
    ]


def test_edits_without_a_possible_order_are_listed_as_stuck() -> None:
    before, after = of(ENG, OPS, team("a", "eng", 4)), of(OPS, team("a", "eng", 3))

    order = arrange(site(before), edits(before, after))

    assert names(order) == ["a"]
    assert [stuck.edit.ref.name for stuck in order.stuck] == ["eng"]
