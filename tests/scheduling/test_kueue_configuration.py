"""What decisions take from Kueue's Configuration."""

from __future__ import annotations

from typing import Any

import pytest

from policies.amounts.requests import Transformation
from policies.model.errors import BadConfiguration
from policies.model.quantity import Quantity
from scheduling.objects.order import Ordering
from scheduling.objects.requests import per_pod
from scheduling.objects.template import template
from scheduling.objects.times import SECOND
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.requeue import RequeueBackoff
from scheduling.world.kueue_configuration import duration, read_counting, read_ordering, read_waiting


def test_an_empty_configuration_means_kueue_s_defaults() -> None:
    counting = read_counting({})

    assert (counting.excluded_prefixes, counting.transformations, counting.reclaimable_pods) == ((), {}, True)
    assert read_waiting({}) == WaitForPodsReady(1800, 1800, RequeueBackoff(60, 3600), None)
    assert read_ordering({}) == Ordering(by_eviction=True)


def test_transformations_and_excluded_prefixes_count() -> None:
    entry = {"input": "gpu", "strategy": "Replace", "multiplyBy": "n", "outputs": {"credit": "2"}}
    counting = read_counting({"resources": {"transformations": [entry], "excludeResourcePrefixes": ["net/"]}})

    assert counting.transformations == {"gpu": Transformation({"credit": Quantity.parse("2")}, "n", replace=True)}
    requests = {"gpu": "3", "net/vpc": "1", "cpu": "1"}
    pod = template({"containers": [{"resources": {"requests": requests}}]})
    assert per_pod(pod, counting) == {"cpu": 1000, "credit": 6}


def test_waiting_is_read_in_full() -> None:
    requeuing = {"timestamp": "Creation", "backoffBaseSeconds": 10, "backoffMaxSeconds": 20, "backoffLimitCount": 3}
    section = {"timeout": "5m0s", "recoveryTimeout": "90s", "requeuingStrategy": requeuing}

    assert read_waiting({"waitForPodsReady": section}) == WaitForPodsReady(300, 90, RequeueBackoff(10, 20), 3)
    assert read_ordering({"waitForPodsReady": section}) == Ordering(by_eviction=False)


def test_recovery_takes_as_long_as_the_start_where_it_is_not_told() -> None:
    waiting = read_waiting({"waitForPodsReady": {"timeout": "5m"}})

    assert waiting is not None
    assert waiting.recovery == 300


def test_waiting_can_be_off() -> None:
    assert read_waiting({"waitForPodsReady": {"enable": False}}) is None


@pytest.mark.parametrize(
    ("written", "seconds"), [("1h30m", 5400), ("5m0s", 300), ("1.5s", 1.5), ("250ms", 0.25), ("0", 0), ("0s", 0)]
)
def test_durations_are_those_of_go(written: str, seconds: float) -> None:
    assert duration(written, "x") == int(seconds * SECOND)


@pytest.mark.parametrize("written", ["", "5", "-5s", "5 m", "m", "1d", None, 5, "1h" * 1000, "٣s"])
def test_what_is_no_duration_is_told(written: object) -> None:
    with pytest.raises(BadConfiguration, match="is no duration"):
        duration(written, "waitForPodsReady.timeout")


@pytest.mark.parametrize(
    ("transformations", "place"),
    [
        ([{}], r"resources\.transformations\[0\]\.input"),
        ([{"input": "a", "outputs": {"b": "x"}}], r"resources\.transformations\[0\]\.outputs\.b"),
    ],
)
def test_a_transformation_that_cannot_be_read_is_told_by_its_place(transformations: list[Any], place: str) -> None:
    with pytest.raises(BadConfiguration, match=place):
        read_counting({"resources": {"transformations": transformations}})
