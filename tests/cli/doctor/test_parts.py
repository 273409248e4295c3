"""The check of shards: of trees, labels and claims, as reconcilers read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.doctor.checks.parts import RunningParts, check_parts
from cli.doctor.part_trees import read_node
from cli.doctor.target import CheckResult, HealthState
from reconciler.objects.stored import Stored
from reconciler.shards.claims import DEFAULT, LABEL, TreeClaim, claim_status
from scheduling.objects.times import of
from tests.builders import cluster_queue, cohort, flavor, group

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIVE = {"default": "pod-1", "batch": "pod-2"}


def labelled(manifest: dict[str, Any], part: str) -> dict[str, Any]:
    manifest["metadata"].setdefault("labels", {})[LABEL] = part
    return manifest


def held(name: str, parent: str, part: str = DEFAULT, asked: str = "", age: float = 1) -> dict[str, Any]:
    """A ClusterQueue as the part that holds it leaves it; `age` is in seconds."""
    manifest = cluster_queue(name, parent)
    if part != DEFAULT or asked:
        since = of(NOW - timedelta(seconds=age))
        manifest["status"] = claim_status(Stored(), TreeClaim(part, asked, in_status=True), since)
    return manifest


def doctor(*manifests: Mapping[str, Any], live: Mapping[str, str] = LIVE, deployed: str = "") -> list[CheckResult]:
    nodes = [read_node(each) for each in manifests]
    found = list(check_parts(nodes, RunningParts(live, frozenset(deployed.split())), NOW))
    assert all(each.fix or each.state in (HealthState.OK, HealthState.SKIPPED) for each in found)
    return found


def said(found: list[CheckResult]) -> list[tuple[str, str]]:
    return [(each.subject, each.state.value) for each in found]


def test_check_is_skipped_without_parts() -> None:
    found = doctor(cohort("lab"), cluster_queue("vision", "lab"), live={"default": "pod-1"})

    assert [each.state for each in found] == [HealthState.SKIPPED]


def test_running_parts_with_the_cluster_queues_of_their_roots_are_ok() -> None:
    found = doctor(
        labelled(cohort("research"), "batch"),
        cohort("team", "research"),
        *(held("vision", "team", "batch"), held("speech", "research", "batch")),
        cluster_queue("alone"),
    )

    assert said(found) == [("part batch", "ok"), ("part default", "ok")]
    assert [each.message for each in found] == [
        "runs (pod-2), and holds 2 ClusterQueues",
        "runs (pod-1), and holds 1 ClusterQueue",
    ]


def test_part_with_cluster_queues_that_does_not_run_fails() -> None:
    names = [f"queue-{number}" for number in range(6)]
    root = labelled(cohort("research"), "batch")

    (batch, _) = doctor(root, *(held(each, "research", "batch") for each in names), live={"default": "pod-1"})

    assert batch.state is HealthState.FAILURE
    assert "holds queue-0, queue-1, queue-2, queue-3 and 2 more: nothing is admitted there" in batch.message
    assert "quotree serve reconciler --part batch" in batch.fix


def test_label_with_a_part_that_does_not_run_is_a_warning() -> None:
    root = labelled(cohort("research"), "batch")

    found = doctor(root, held("vision", "research"), live={"default": "pod-1"})

    assert said(found) == [("part batch", "warning"), ("part default", "ok")]
    assert "kubectl label cohort research quotree.dev/part-" in found[0].fix
    assert said(doctor(root, live={"default": "pod-1"})) == [("part batch", "warning"), ("part default", "ok")]


def test_installed_part_without_a_leader_fails() -> None:
    found = doctor(cluster_queue("alone"), live={"default": "pod-1"}, deployed="batch")

    assert said(found) == [("part batch", "failure"), ("part default", "ok")]


def test_part_without_a_root_is_a_warning() -> None:
    assert said(doctor(cluster_queue("alone"))) == [("part batch", "warning"), ("part default", "ok")]


@pytest.mark.parametrize("label", ["Batch", "a.b", "x" * 41, "under_score"])
def test_invalid_part_label_is_a_warning(label: str) -> None:
    found = doctor(labelled(cohort("research"), label), held("vision", "research"), live={"default": "pod-1"})

    assert said(found) == [("part default", "ok"), ("Cohort research: quotree.dev/part", "warning")]
    assert f"names the part {label}, and no part can have that name" in found[1].message


def test_a_label_below_the_root_has_no_effect() -> None:
    found = doctor(
        cohort("research"), labelled(held("vision", "research"), "batch"), labelled(held("lost", "nowhere"), "batch")
    )

    assert said(found)[2:] == [
        ("ClusterQueue vision: quotree.dev/part", "warning"),
        ("ClusterQueue lost: quotree.dev/part", "warning"),
    ]
    assert "kubectl label clusterqueue vision quotree.dev/part-" in found[2].fix


def test_a_label_on_a_tree_with_topologies_has_no_effect() -> None:
    racks = cluster_queue("vision", "research", group("cpu", flavor("racked", cpu="1")))
    nodes = [read_node(each) for each in (labelled(cohort("research"), "batch"), racks, cluster_queue("alone"))]
    found = list(check_parts(nodes, RunningParts(LIVE), NOW, ["racked", ""]))

    assert said(found) == [
        ("part batch", "warning"),
        ("part default", "ok"),
        ("Cohort research: quotree.dev/part", "warning"),
    ]
    assert found[2].message == (
        "has no effect: ClusterQueue vision has a flavor with a topology, and default decides for such trees"
    )
    assert "kubectl label cohort research quotree.dev/part-" in found[2].fix


def test_cluster_queue_claimed_by_two_parts_fails() -> None:
    root = labelled(cohort("research"), "batch")
    both = held("vision", "research", "batch")
    both["status"]["conditions"] += held("vision", "research", "night")["status"]["conditions"]

    found = doctor(root, both)

    assert said(found) == [
        ("part batch", "ok"),
        ("part default", "ok"),
        ("ClusterQueue vision", "failure"),
    ]
    assert "kubectl edit clusterqueue vision --subresource=status" in found[2].fix


@pytest.mark.parametrize(("age", "state"), [(1, "ok"), (299, "ok"), (301, "warning")])
def test_handover_longer_than_five_minutes_is_a_warning(age: float, state: str) -> None:
    root = labelled(cohort("research"), "batch")

    found = doctor(
        root, held("vision", "research", "default", "batch", age), held("speech", "research", "default", "batch")
    )

    assert said(found)[2:] == [("tree of Cohort research", state)]


def test_running_part_that_does_not_request_its_queues_is_a_warning() -> None:
    found = doctor(labelled(cohort("research"), "batch"), held("vision", "research"))

    assert said(found)[2:] == [("tree of Cohort research", "warning")]
    assert "part batch has not requested every ClusterQueue that default still holds" in found[2].message


def test_merged_trees_below_a_part_that_does_not_run_fail() -> None:
    found = doctor(
        labelled(cohort("research"), "night"), held("vision", "research", "batch"), held("speech", "research")
    )

    assert said(found) == [
        ("part batch", "ok"),
        ("part default", "ok"),
        ("part night", "warning"),
        ("tree of Cohort research", "failure"),
    ]
    assert "parts batch and default hold it, and part night, which its root names, does not run" in found[3].message


def test_part_label_on_a_cycle_is_a_warning() -> None:
    found = doctor(
        labelled(cohort("a", "b"), "batch"),
        cohort("b", "a"),
        *(cohort("c", "b"), held("vision", "c", "batch"), held("speech", "a")),
    )

    assert said(found) == [
        ("part batch", "ok"),
        ("part default", "ok"),
        ("Cohort a: quotree.dev/part", "warning"),
    ]


def test_long_list_of_trees_is_truncated_and_counted() -> None:
    roots = [labelled(cluster_queue(f"queue-{number:02}"), "batch") for number in range(13)]

    found = doctor(*roots)

    assert len(found) == 2 + 11
    assert found[-1].message == "and 3 more like these"
    assert found[-1].state is HealthState.WARNING
