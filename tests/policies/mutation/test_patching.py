"""JSON Patch as another program applies it."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from policies.mutation.patching import patched

MANIFEST: dict[str, Any] = {"spec": {"a/b": {"~": 1}, "list": [{"x": 1}, {"x": 2}]}}
OPERATIONS: list[dict[str, Any]] = [
    {"op": "add", "path": "/metadata", "value": {}},
    {"op": "add", "path": "/metadata/name", "value": "n"},
    {"op": "add", "path": "/spec/a~1b/~0", "value": 2},
    {"op": "replace", "path": "/spec/list/0/x", "value": [3]},
    {"op": "add", "path": "/spec/list/1", "value": "between"},
    {"op": "add", "path": "/spec/list/-", "value": "last"},
    {"op": "replace", "path": "/spec/list/1", "value": "other"},
    {"op": "remove", "path": "/spec/list/0"},
    {"op": "remove", "path": "/spec/a~1b"},
]


@pytest.mark.parametrize("count", range(len(OPERATIONS) + 1))
def test_it_does_what_another_program_does(count: int) -> None:
    assert patched(MANIFEST, OPERATIONS[:count]) == jsonpatch.apply_patch(MANIFEST, OPERATIONS[:count])


def test_what_was_given_stays_as_it_was() -> None:
    value: dict[str, Any] = {}
    made = patched({"spec": {"list": []}}, [{"op": "add", "path": "/spec/deep", "value": value}])

    made["spec"]["deep"]["x"] = made["spec"]["list"]
    assert value == {}
