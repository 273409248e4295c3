"""Which nodes differ, and whether they gain or lose quota."""

from __future__ import annotations

import pytest

from policies.dialects.kueue import CLUSTER_QUEUE
from policies.impact.quotas import (
    NO_QUOTA,
    Effect,
    NodeChange,
    NodeQuotas,
    PairChange,
    PairQuota,
    QuotaPair,
    amount_text,
    differences,
)

CPU = QuotaPair("spot", "cpu")
REF = CLUSTER_QUEUE.named("a")


def node(*quota: int | None, parent: str = "org") -> dict[object, NodeQuotas]:
    return {REF: NodeQuotas(REF, parent, {CPU: PairQuota(*quota)} if quota else {})}


def only(found: list[NodeChange]) -> NodeChange:
    (change,) = found
    return change


def test_equal_nodes_do_not_differ() -> None:
    assert differences(node(1, 1, 0, 4), node(1, 1, 0, 4)) == []


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ((1, 1, 0, 4), (2, 2, 0, 4), Effect.GAINS),
        ((1, 1, 0, 4), (1, 1, 0, 3), Effect.LOSES),
        ((1, 1, 0, 4), (2, 2, 0, 3), Effect.MIXED),
        ((0, 0, 0, 4), (0, 0, 0, None), Effect.GAINS),
        ((0, 0, 0, None), (0, 0, 0, 4), Effect.LOSES),
    ],
)
def test_effect_of_a_quota_change_is_gain_loss_or_mixed(
    before: tuple[int | None, ...], after: tuple[int | None, ...], effect: Effect
) -> None:
    found = only(differences(node(*before), node(*after)))

    assert found == NodeChange(
        REF, node(*before)[REF], node(*after)[REF], (PairChange(CPU, PairQuota(*before), PairQuota(*after)),), effect
    )


def test_created_node_gains_and_deleted_node_loses() -> None:
    assert only(differences({}, node(1, 1, 0, 1))).effect is Effect.GAINS
    gone = only(differences(node(1, 1, 0, 1), {}))
    assert (gone.effect, gone.pairs) == (Effect.LOSES, (PairChange(CPU, PairQuota(1, 1, 0, 1), NO_QUOTA),))


def test_move_with_equal_quota_is_neither_gain_nor_loss() -> None:
    found = only(differences(node(1, 1, 1, 1), node(1, 1, 1, 1, parent="other")))

    assert (found.effect, found.moved, found.only_reach) == (Effect.MOVES, True, False)


def test_node_with_a_changed_reach_only_is_flagged() -> None:
    assert only(differences(node(1, 1, 0, 4), node(1, 1, 0, 5))).only_reach
    assert not only(differences(node(1, 1, 0, 4), node(1, 2, 0, 5))).only_reach


@pytest.mark.parametrize(
    ("resource", "nano", "text"),
    [
        ("cpu", 5 * 10**8, "500m"),
        ("memory", 2**30 * 10**9, "1Gi"),
        ("nvidia.com/gpu", 8 * 10**9, "8"),
        ("cpu", None, "unlimited"),
        ("memory", 10**10 * 10**9, "10G"),
        ("memory", 512 * 10**6 * 10**9, "512M"),
        ("memory", 1000 * 2**20 * 10**9, "1000Mi"),
        ("memory", 4000 * 2**10 * 10**9, "4000Ki"),
    ],
)
def test_amounts_are_written_as_kubernetes_does(resource: str, nano: int | None, text: str) -> None:
    assert amount_text(resource, nano) == text
