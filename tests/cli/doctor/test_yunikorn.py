"""Whether YuniKorn can load the queues of its ConfigMaps."""

from __future__ import annotations

import pytest

from cli.doctor.checks.yunikorn import yunikorn_queues
from cli.doctor.target import CheckResult
from tests.cli.doctor.objects import target

TREE = "partitions: [{name: default, queues: [{name: root, queues: [{name: a, %s}]}]}]"
GOOD = TREE % "resources: {max: {vcore: 4}}"


def result(**data: str) -> CheckResult:
    """The only result of a cluster whose ConfigMap yunikorn-configs has these data."""
    held = {"metadata": {"namespace": "yunikorn", "name": "yunikorn-configs"}, "data": data}
    (found,) = yunikorn_queues.run(target({"/api/v1/namespaces/yunikorn/configmaps/yunikorn-configs": held}))
    return found


def test_a_tree_that_yunikorn_loads_is_ok() -> None:
    found = result(**{"queues.yaml": GOOD})

    assert (found.state, found.subject) == ("ok", "ConfigMap yunikorn/yunikorn-configs")


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("partitions: [", "queues.yaml, line 1: ", "correct the YAML in that line"),
        (TREE % "resources: {max: {vcore: 0.5}}", "after a restart", "m"),
        (TREE % "submitacl: 'sue  dev'", "the old tree stays, and after a restart there is none", "write 'sue dev'"),
        (TREE % "resources: {max: {vcore: x, memory: y}}", "; `quotree audit` lists 1 more", ""),
    ],
)
def test_a_tree_that_yunikorn_does_not_load_fails(text: str, message: str, fix: str) -> None:
    found = result(**{"queues.yaml": text})

    assert (found.state, found.subject) == ("failure", "ConfigMap yunikorn/yunikorn-configs")
    assert message in found.message
    assert fix in found.fix


def test_a_setting_that_makes_the_shim_refuse_the_config_map_fails() -> None:
    found = result(**{"queues.yaml": GOOD, "service.schedulingInterval": "often"})

    assert found.state == "failure"
    assert "service.schedulingInterval is 'often', which is not a duration" in found.message


def test_without_a_tree_the_check_is_skipped() -> None:
    found = result(**{"service.policyGroup": "mine", "queues.yaml": GOOD})

    assert (found.state, found.message) == (
        "skipped",
        "no ConfigMap of YuniKorn in the namespace yunikorn has mine.yaml",
    )
