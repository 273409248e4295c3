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
    cluster.put(pod("waits", cpu="2"))
    cluster.settle()
    cluster.change(("Namespace", "dev"), {"metadata": {"annotations": {PREFIX + "parentqueue": None}}})
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
