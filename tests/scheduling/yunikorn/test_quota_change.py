"""Preemption where a max was lowered below what is in use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.dialects.yunikorn_config.resources import Amounts
from scheduling.objects.times import SECOND
from scheduling.yunikorn.application import Ask
from scheduling.yunikorn.properties import Properties
from scheduling.yunikorn.queue import YuniKornQueue, YuniKornQueueSettings
from scheduling.yunikorn.quota_change import by_leaf, due, excess, victims
from scheduling.yunikorn.victims import Victim
from tests.scheduling.yunikorn.drawn import run, scheduler

DELAYED = YuniKornQueueSettings("root.a", maximum={"memory": 100}, properties=Properties(quota_delay=10 * SECOND))


def using(amounts: Amounts, **more: object) -> YuniKornQueue:
    queue = YuniKornQueue(replace(DELAYED, **more))  # type: ignore[arg-type]
    queue.hold(amounts)
    return queue


@pytest.mark.parametrize(
    ("before", "after", "timer", "expected"),
    [
        ({"memory": 100}, {"memory": 50}, 0, 11),
        ({"memory": 50}, {"memory": 40}, 11, 11),
        ({"memory": 50}, {"memory": 90}, 11, 0),
        ({"memory": 50}, None, 11, 0),
        ({"memory": 100, "vcore": 100}, {"memory": 50, "vcore": 200}, 0, 0),
        (None, {"memory": 50}, 0, 0),
        ({"memory": 100}, {"memory": 50, "vcore": 1}, 0, 0),
    ],
)
def test_only_a_max_that_gets_lower_starts_the_timer(
    before: Amounts | None, after: Amounts | None, timer: int, expected: int
) -> None:
    queue = using({"memory": 80}, maximum=after)

    assert due(queue, replace(DELAYED, maximum=before), timer * SECOND, SECOND) == expected * SECOND


def test_a_longer_delay_shifts_the_timer_and_none_clears_it() -> None:
    longer, none = (Properties(quota_delay=delay * SECOND) for delay in (30, 0))
    before = replace(DELAYED, maximum={"memory": 50})

    assert due(using({"memory": 80}, maximum={"memory": 50}, properties=longer), before, 11 * SECOND, 2) == 31 * SECOND
    assert due(using({"memory": 80}, maximum={"memory": 50}, properties=none), before, 11 * SECOND, 2) == 0


def test_a_restart_above_the_max_starts_it_and_dynamic_queues_have_none() -> None:
    assert due(using({"memory": 120}), None, 0, SECOND) == 11 * SECOND
    assert due(using({"memory": 100}), None, 0, SECOND) == 0
    assert due(using({"memory": 120}, managed=False), None, 0, SECOND) == 0


def test_what_is_guaranteed_on_the_path_stays() -> None:
    engine = scheduler("- {name: p, resources: {guaranteed: {vcore: 7m}}, queues: [{name: a}, {name: b}]}")
    queues = engine.tree.queues
    queues["root.p.a"].hold({"vcore": 10})
    queues["root.p.a"].settings = replace(queues["root.p.a"].settings, maximum={"vcore": 2})

    assert excess(queues["root.p.a"]) == {"vcore": 3}


def test_leaves_give_back_in_proportion_to_what_they_use_above_their_guarantee() -> None:
    engine = scheduler("- {name: p, queues: [{name: a, resources: {guaranteed: {vcore: 2m}}}, {name: b}, {name: c}]}")
    queues = engine.tree.queues
    queues["root.p.a"].hold({"vcore": 6})
    queues["root.p.b"].hold({"vcore": 8, "memory": 5})

    found = by_leaf(queues["root.p"], {"vcore": 7})

    assert found == {queues["root.p.a"]: {"vcore": 2}, queues["root.p.b"]: {"vcore": 4}}


def test_victims_never_exceed_the_amounts() -> None:
    application = run(scheduler("- {name: a}"), "x", "root.a", 0, {})
    asks = [
        Ask("minds", {"vcore": 1}, optional=False),
        Ask("large", {"vcore": 4}, priority=-1),
        Ask("first", {"vcore": 2}),
        Ask("second", {"vcore": 1}, priority=1),
        Ask("other", {"memory": 1}),
        Ask("pinned", {"vcore": 1}, pinned=True),
    ]

    found = victims([Victim(application, ask) for ask in asks], {"vcore": 3})

    assert [victim.ask.key for victim in found] == ["first", "second"]
