"""A quota in the deprecated annotations is logged as a warning, once for each change."""

from __future__ import annotations

import pytest

from policies.configuration.settings import Enforce, YuniKornSettings
from policies.dialects.core import read_namespace
from policies.mutation.quota_gates import quota_label
from reconciler.controllers.yunikorn.comparison import YuniKornJudge
from reconciler.controllers.yunikorn.gates import QuotaGatesController
from reconciler.controllers.yunikorn.kinds import NAMESPACE
from reconciler.core.controller import Controller
from reconciler.core.state import ClusterState
from scheduling.yunikorn.simulation import YuniKornSimulation
from tests.reconciler.controllers.gates.comparing import Comparing
from tests.reconciler.controllers.yunikorn.gate_cluster import GateCluster
from tests.reconciler.controllers.yunikorn.gated_objects import pod
from tests.scheduling.yunikorn.manifests import PREFIX, namespace, queues_yaml
from tests.scheduling.yunikorn.manifests import pod as yunikorn_pod

LOGGER = "reconciler.controllers.yunikorn.gates"
DEPRECATED = (
    "Namespace old: its quota is in deprecated namespace.max.cpu, which YuniKorn 2.0 will not read; "
    "write namespace.quota"
)
OLD = namespace("old", namespace_max_cpu="1")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert all(record.levelname == "WARNING" for record in caplog.records if record.name == LOGGER)
    caplog.clear()
    return found


def test_each_change_of_the_deprecated_annotations_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    cluster = GateCluster(OLD, namespace("dev", namespace_quota='{"cpu":"1"}'), namespace("free"))
    cluster.settle()
    assert said(caplog) == [DEPRECATED]

    cluster.edit(("Namespace", "old"), {"metadata": {"labels": {"team": "a"}}})
    cluster.edit(("Namespace", "old"), {"metadata": {"annotations": {PREFIX + "namespace.max.cpu": "2"}}})
    cluster.settle()
    assert said(caplog) == []

    cluster.edit(("Namespace", "old"), {"metadata": {"annotations": {PREFIX + "namespace.quota": '{"cpu":"1"}'}}})
    cluster.settle()
    assert said(caplog) == ["Namespace old: deprecated namespace.max.cpu has no effect beside namespace.quota"]

    cluster.edit(("Namespace", "old"), {"metadata": {"annotations": {PREFIX + "namespace.max.cpu": None}}})
    cluster.settle()
    assert said(caplog) == []


def test_a_new_process_and_the_observer_log_the_warning_again(caplog: pytest.LogCaptureFixture) -> None:
    cluster = GateCluster(OLD)
    cluster.settle()
    said(caplog)
    cluster.start()
    cluster.settle()
    assert said(caplog) == [DEPRECATED]

    Comparing(YuniKornJudge(YuniKornSettings())).show((NAMESPACE.kind, "old"), read_namespace(OLD))
    assert said(caplog) == [DEPRECATED]


def test_a_namespace_that_is_not_yunikorns_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    cluster = GateCluster(namespace("off", namespace_max_cpu="1", namespace_enableYuniKorn="false"))
    cluster.settle()
    assert said(caplog) == []


class YuniKorn2(GateCluster):
    def _controllers(self, state: ClusterState) -> list[Controller]:
        self.controller = QuotaGatesController(state.records, YuniKornSettings(version=(2, 0), enforce=Enforce.GATES))
        return [self.controller]


@pytest.mark.parametrize(("version", "passed"), [(GateCluster, ["a"]), (YuniKorn2, ["a", "b"])])
def test_yunikorn_2_ignores_the_deprecated_annotations(
    version: type[GateCluster], passed: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    cluster = version(OLD, pod("a", "a", space="old"), pod("b", "b", space="old"))

    cluster.settle()

    assert cluster.passed() == passed
    assert said(caplog) == ([DEPRECATED] if version is GateCluster else [])


@pytest.mark.parametrize(("version", "running"), [((1, 9), 1), ((2, 0), 2)])
def test_the_simulation_reads_the_annotations_like_its_version(version: tuple[int, int], running: int) -> None:
    simulation = YuniKornSimulation(0, version=version)
    simulation.change([queues_yaml(""), OLD, *(yunikorn_pod(name, name, space="old") for name in "ab")])

    simulation.settle()

    assert sum(each.pods for each in simulation.running().values()) == running


@pytest.mark.parametrize(("version", "labelled"), [((1, 9), True), ((2, 0), False)])
def test_a_namespace_gets_no_label_for_a_quota_that_is_not_read(version: tuple[int, int], labelled: bool) -> None:
    assert bool(quota_label(OLD, YuniKornSettings(version=version, enforce=Enforce.GATES))) is labelled
