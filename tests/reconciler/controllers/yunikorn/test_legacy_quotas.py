"""A quota in the deprecated annotations is a warning in the log, once for each change of them."""

from __future__ import annotations

import pytest

from policies.dialects.core import read_namespace
from reconciler.controllers.yunikorn.comparison import YuniKornJudge
from reconciler.controllers.yunikorn.kinds import NAMESPACE
from tests.reconciler.controllers.gates.comparing import Comparing
from tests.reconciler.controllers.yunikorn.gate_cluster import GateCluster
from tests.scheduling.yunikorn.manifests import PREFIX, namespace

LOGGER = "reconciler.controllers.yunikorn.legacy_quotas"
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


def test_a_new_process_warns_again_and_one_that_observes_does_too(caplog: pytest.LogCaptureFixture) -> None:
    cluster = GateCluster(OLD)
    cluster.settle()
    said(caplog)
    cluster.start()
    cluster.settle()
    assert said(caplog) == [DEPRECATED]

    Comparing(YuniKornJudge("yunikorn")).show((NAMESPACE.kind, "old"), read_namespace(OLD))
    assert said(caplog) == [DEPRECATED]


def test_a_namespace_that_is_not_yunikorns_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    cluster = GateCluster(namespace("off", namespace_max_cpu="1", namespace_enableYuniKorn="false"))
    cluster.settle()
    assert said(caplog) == []
