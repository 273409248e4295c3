"""Pods that are done, a job that is over, and what a waiting workload tells."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.objects import times
from scheduling.objects.requests import total_requests
from scheduling.objects.workload import Condition
from scheduling.status.progress import (
    finish,
    limited_to_sizes,
    pod_set_counts,
    with_pod_set_counts,
    with_reclaimable,
    with_resource_requests,
)
from scheduling.status.second_pass import needs_second_pass
from tests.scheduling.manifests import condition, pod_set, workload

NOW = 1000 * times.SECOND
TWO = (pod_set("a", 3, cpu="1"), pod_set("b", 2, cpu="1"))


def test_what_finished_stays_finished_for_its_reason() -> None:
    over = finish(workload(), "Succeeded", "done", NOW)

    assert over.conditions["Finished"] == Condition("True", "Succeeded", "done", NOW)
    assert finish(over, "Failed", "late", NOW + 1) is over


def test_no_more_pods_are_done_than_there_are() -> None:
    assert limited_to_sizes(workload(*TWO), {"a": 9, "b": 1, "gone": 7}) == {"a": 3, "b": 1, "gone": 7}


def test_the_same_pods_done_change_nothing() -> None:
    some = with_reclaimable(workload(*TWO), {"a": 1})

    assert some.reclaimable == {"a": 1}
    assert with_reclaimable(some, {"a": 1}) is some
    assert with_reclaimable(some, {}).reclaimable == {}


def test_counts_are_set_where_they_are_named() -> None:
    work = workload(*TWO)

    assert pod_set_counts(with_pod_set_counts(work, {"b": 5, "x": 1})) == {"a": 3, "b": 5}
    assert with_pod_set_counts(work, {"a": 3}) is work


def test_requests_are_told_once() -> None:
    work = workload(*TWO)

    reported = with_resource_requests(work, total_requests(work))

    assert reported.resource_requests == {"a": {"cpu": 3000}, "b": {"cpu": 2000}}
    assert with_resource_requests(reported, total_requests(reported)) is reported
    assert with_resource_requests(reported, ()).resource_requests == {}


def placed(*conditions: str, state: str = "Ready", delayed: str = "", lost: str = "n", **parts: Any) -> bool:
    slices = [{"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": "n"}]}]
    entry: dict[str, Any] = {"name": "main", "count": 1, "delayedTopologyRequest": delayed or None}
    if not delayed:
        entry["topologyAssignment"] = {"levels": ["kubernetes.io/hostname"], "slices": slices}
    status = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": [entry]},
        "conditions": [condition(kind) for kind in conditions],
        "admissionChecks": [{"name": "c", "state": state}],
        "unhealthyNodes": [{"name": lost}],
        **parts,
    }
    return needs_second_pass(workload(status=status))


@pytest.mark.parametrize("ended", ["Finished", "Evicted"])
def test_places_are_sought_again_only_for_what_runs_on(ended: str) -> None:
    assert placed("QuotaReserved", "Admitted")
    assert not placed("QuotaReserved", "Admitted", ended)
    assert not placed("QuotaReserved")
    assert not placed("QuotaReserved", "Admitted", lost="other")


def test_delayed_places_are_sought_once_all_checks_are_ready() -> None:
    assert placed("QuotaReserved", delayed="Pending")
    assert not placed("QuotaReserved", delayed="Pending", state="Pending")
    assert not placed("QuotaReserved", delayed="Pending", admissionChecks=[])
    assert not placed("QuotaReserved", delayed="Ready")
