"""What the queues of queues.yaml and the Namespaces have."""

from __future__ import annotations

import pytest

from policies.dialects.yunikorn import MAX_CPU, PRESENT
from policies.impact.quotas import Effect, NodeQuotas, PairQuota, QuotaPair, differences
from policies.impact.yunikorn_quotas import yunikorn_quotas
from policies.model.forest import Forest
from tests.builders import namespace, world
from tests.policies.oracle_world import YUNIKORN
from tests.policies.organisations import queue_text
from tests.policies.queue_oracle import PARENT

UNIT = 10**9
VCORE = QuotaPair("", "vcore")
TEXT = queue_text(
    {
        "name": "eng",
        "resources": {"max": {"vcore": "10"}},
        "queues": [
            {"name": "a", "resources": {"guaranteed": {"vcore": "2"}, "max": {"vcore": "40"}}},
            {"name": "b", "resources": {"guaranteed": {"vcore": "3"}}},
        ],
    }
)


def quotas(forest: Forest, version: tuple[int, int] = PRESENT) -> dict[str, NodeQuotas]:
    return {ref.name: node for ref, node in yunikorn_quotas(forest, version).items()}


def test_the_lowest_max_on_the_way_up_is_the_reach() -> None:
    found = quotas(world(TEXT))

    assert found["root.eng"].of(VCORE) == PairQuota(10 * UNIT, 5 * UNIT, 0, 10 * UNIT)
    assert found["root.eng.a"].of(VCORE) == PairQuota(40 * UNIT, 2 * UNIT, 2 * UNIT, 10 * UNIT)
    assert found["root.eng.b"].of(VCORE) == PairQuota(None, 3 * UNIT, 3 * UNIT, 10 * UNIT)
    assert found["root.eng.b"].of(QuotaPair("", "memory")) == PairQuota(None, 0, 0, None)


@pytest.mark.parametrize("named", ["root.eng", "eng"])
def test_a_namespace_is_below_the_queue_that_it_names(named: str) -> None:
    notes = {f"{YUNIKORN}quota": '{"cpu": "20"}', PARENT: named}

    found = quotas(world(TEXT, namespace("team", notes)))["team"]

    assert (found.parent, found.of(VCORE)) == ("root.eng", PairQuota(20 * UNIT, 0, 0, 10 * UNIT))


def test_legacy_annotation_is_not_a_quota_in_yunikorn_2_0() -> None:
    forest = world(TEXT, namespace("team", {MAX_CPU: "20"}))

    assert quotas(forest)["team"].of(VCORE).own == 20 * UNIT
    assert "team" not in quotas(forest, (2, 0))


def test_added_limit_is_a_loss_and_removed_limit_a_gain() -> None:
    bare, limited = (
        world(queue_text({"name": "a"})),
        world(queue_text({"name": "a", "resources": {"max": {"vcore": "4"}}})),
    )

    (lost,) = differences(yunikorn_quotas(bare, PRESENT), yunikorn_quotas(limited, PRESENT))
    (gained,) = differences(yunikorn_quotas(limited, PRESENT), yunikorn_quotas(bare, PRESENT))

    assert (lost.effect, gained.effect) == (Effect.LOSES, Effect.GAINS)


def test_a_text_that_cannot_be_read_has_no_queues() -> None:
    broken = queue_text()
    broken["data"]["queues.yaml"] = "partitions: ["

    assert quotas(world(broken)) == {}
