"""An application of which nothing runs any more goes where its Namespace leads, without a crash as after one."""

from __future__ import annotations

import pytest

from tests.reconciler.controllers.yunikorn.gate_cluster import GateCluster
from tests.reconciler.controllers.yunikorn.gated_objects import TEAMS, pod
from tests.scheduling.yunikorn.manifests import PREFIX, namespace

OTHER = namespace("other", namespace_quota='{"cpu":"3"}', parentqueue="root.team")


@pytest.fixture
def moved() -> GateCluster:
    """Of dev, a runs in the full root.team and has a Pod that waits there, while dev leads elsewhere by now."""
    dev = namespace("dev", namespace_quota='{"cpu":"3"}', parentqueue="root.team")
    cluster = GateCluster(TEAMS, dev, OTHER, pod("runs"), pod("beside", space="other", cpu="2"))
    cluster.settle()
    cluster.add(pod("waits", cpu="2"))
    cluster.settle()
    cluster.edit(("Namespace", "dev"), {"metadata": {"annotations": {PREFIX + "parentqueue": None}}})
    cluster.settle()
    assert cluster.gated() == ["waits"]
    return cluster


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize("how", ["end", "delete"])
def test_who_waits_follows_the_namespace_once_nothing_runs(moved: GateCluster, how: str, crashes: bool) -> None:
    getattr(moved, how)("runs")
    if crashes:
        moved.start()
    moved.settle()
    assert moved.note("waits", "quotree.dev/quota-admitted") == "root.dev"


def test_who_waits_stays_while_another_runs(moved: GateCluster) -> None:
    moved.delete("other/beside")
    moved.settle()
    assert moved.note("waits", "quotree.dev/quota-admitted") == "root.team.dev"


def test_the_quota_of_a_namespace_holds_once_after_it_was_moved(moved: GateCluster) -> None:
    """1 of its 3 cpus runs in the former queue, so 2 are left in the new one."""
    moved.add(pod("fits", app="new", cpu="1"))
    moved.add(pod("over", app="new", cpu="2"))
    moved.settle()
    assert moved.note("fits", "quotree.dev/quota-admitted") == "root.dev"
    assert {*moved.gated()} == {"waits", "over"}
    assert moved.note("over", "quotree.dev/quota-waits") == (
        "NotEnoughQueueQuota in root.dev: Namespace dev lacks cpu=1, asked 2, 2 of 3 in use"
    )
    moved.start()
    moved.settle()
    assert {*moved.gated()} == {"waits", "over"}, "a new process finds the same"

    moved.edit(("Namespace", "dev"), {"metadata": {"annotations": {PREFIX + "namespace.quota": '{"cpu":"4"}'}}})
    moved.settle()
    assert moved.gated() == ["waits"]


def test_the_number_of_applications_holds_once_as_well(moved: GateCluster) -> None:
    moved.edit(("Namespace", "dev"), {"metadata": {"annotations": {PREFIX + "namespace.maxApps": "1"}}})
    moved.add(pod("next", app="new", cpu="1"))
    moved.settle()
    assert moved.note("next", "quotree.dev/quota-waits") == (
        "MaxApplications in root.dev: Namespace dev may run 1 applications"
    )
    moved.delete("waits")
    moved.end("runs")
    moved.settle()
    assert moved.note("next", "quotree.dev/quota-admitted") == "root.dev"
