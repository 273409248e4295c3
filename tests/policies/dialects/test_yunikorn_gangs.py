"""Task groups of YuniKorn, as its shim reads them."""

from __future__ import annotations

import json

import pytest

from policies.dialects.yunikorn_gangs import (
    PLACEHOLDER,
    TASK_GROUP,
    TASK_GROUPS,
    BadTaskGroups,
    TaskGroup,
    is_placeholder,
    task_group,
    task_groups,
    together,
)
from tests.profiles import each_case

DRIVER = {"name": "driver", "minMember": 1, "minResource": {"cpu": "500m"}}
WORKERS = {"name": "workers", "minMember": 3, "minResource": {"cpu": 1, "memory": "1Gi"}}


def test_groups_have_amounts_in_units_of_yunikorn_and_one_pod_each() -> None:
    groups = task_groups({TASK_GROUPS: json.dumps([DRIVER, WORKERS])})

    assert groups == (
        TaskGroup("driver", 1, {"pods": 1, "vcore": 500}),
        TaskGroup("workers", 3, {"pods": 1, "vcore": 1000, "memory": 2**30}),
    )
    assert together(groups) == {"pods": 4, "vcore": 3500, "memory": 3 * 2**30}


@pytest.mark.parametrize("text", ["", "null", "[]"])
def test_task_groups_may_be_empty(text: str) -> None:
    assert task_groups({TASK_GROUPS: text}) == ()
    assert task_groups({}) == ()


@each_case(
    "groups",
    [
        "{",
        "{}",
        "[1]",
        "[" * 100_000,
        [{**DRIVER, "name": ""}],
        [{**DRIVER, "minMember": 0}],
        [{**DRIVER, "minMember": -1}],
        [{**DRIVER, "minMember": True}],
        [{**DRIVER, "minMember": 2**31}],
        [{**DRIVER, "minResource": None}],
        [{**DRIVER, "minResource": {"cpu": "x"}}],
        [{**DRIVER, "minResource": {"cpu": None}}],
        [{**DRIVER, "minResource": {"cpu": "-1"}}],
        [{**DRIVER, "minResource": {"cpu": "1", "vcore": "1"}}],
        [{**DRIVER, "minResource": {"pods": "1"}}],
        [{**DRIVER, "minMember": 2**31 - 1, "minResource": {"memory": "8Ei"}}],
    ],
)
def test_invalid_task_groups_are_rejected(groups: object) -> None:
    text = groups if isinstance(groups, str) else json.dumps(groups)

    with pytest.raises(BadTaskGroups):
        task_groups({TASK_GROUPS: text})


def test_task_group_and_placeholder_are_read_from_annotations() -> None:
    assert (task_group({TASK_GROUP: "workers"}), task_group({})) == ("workers", "")
    assert [is_placeholder({PLACEHOLDER: text}) for text in ("true", "T", "1", "yes", "false")] == [True] * 3 + [
        False
    ] * 2
    assert not is_placeholder({})
