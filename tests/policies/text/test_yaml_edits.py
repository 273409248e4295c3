"""Edits of a text by JSON Patch: only the named value changes, to the result of the patch."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from policies.model.fields import pointer
from policies.text import yaml_values
from policies.text.positions import BadText
from policies.text.yaml_edits import NoEdit, edited
from tests.profiles import each_case, times

QUEUE = """\
# the team's queue
spec:   # what it gets
  deserved:
    cpu: "4"      # cores
    memory: 8Gi

  # nobody else lends
  capability: {cpu: '8', memory: 16Gi}
  groups:
    # fast
    - name: a   # first
      x: 1
    # slow
    - name: b
      x: 2
  last: |
    text
"""


def edit(text: str, *operations: dict[str, Any]) -> str:
    return edited(text, 0, len(text), operations)


def add(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def move(old: str, new: str) -> dict[str, Any]:
    return {"op": "move", "from": old, "path": new}


@each_case(
    ("operation", "old", "new"),
    [
        (add("/spec/deserved/cpu", "5"), 'cpu: "4"      # cores', 'cpu: "5"      # cores'),
        (add("/spec/deserved/memory", "9Gi"), "memory: 8Gi\n", "memory: 9Gi\n"),
        (add("/spec/deserved/pods", "10"), "memory: 8Gi\n", 'memory: 8Gi\n    pods: "10"\n'),
        (add("/spec/deserved/a~1b", "x: y"), "memory: 8Gi\n", 'memory: 8Gi\n    a/b: "x: y"\n'),
        (remove("/spec/deserved/cpu"), '    cpu: "4"      # cores\n', ""),
        (remove("/spec/capability/cpu"), "{cpu: '8', memory: 16Gi}", "{memory: 16Gi}"),
        (remove("/spec/capability/memory"), "{cpu: '8', memory: 16Gi}", "{cpu: '8'}"),
        (add("/spec/capability/cpu", "it's"), "{cpu: '8'", "{cpu: 'it''s'"),
        (add("/spec/capability/pods", 3), "memory: 16Gi}", "memory: 16Gi, pods: 3}"),
        (
            add("/spec/more", {"a": "1", "b": {"c": True}}),
            "text\n",
            'text\n  more:\n    a: "1"\n    b:\n      c: true\n',
        ),
        (remove("/spec/groups/0/name"), "- name: a   # first\n      x: 1", None),
        (remove("/spec/groups/1/name"), "- name: b\n      x: 2", "- x: 2"),
        (remove("/spec/last"), "  last: |\n    text\n", ""),
        (add("/spec/last", "texts\n"), "    text\n", "    texts\n"),
        (add("/spec/last", "two\nlines\n"), "    text\n", None),
        (move("/spec/deserved/memory", "/spec/deserved/ram"), "memory: 8Gi\n", "ram: 8Gi\n"),
        (
            move("/spec/groups/1", "/spec/groups/0"),
            "    # fast\n    - name: a   # first\n      x: 1\n    # slow\n    - name: b\n      x: 2\n",
            "    # fast\n    # slow\n    - name: b\n      x: 2\n    - name: a   # first\n      x: 1\n",
        ),
    ],
)
@each_case("newline", ["\n", "\r\n"])
def test_edit_changes_only_the_named_value(operation: dict[str, Any], old: str, new: str | None, newline: str) -> None:
    text = QUEUE.replace("\n", newline)
    assert text.count(old.replace("\n", newline)) == 1
    if new is None:  # a comment would be lost
        with pytest.raises(NoEdit):
            edit(text, operation)
        return

    assert edit(text, operation) == text.replace(old.replace("\n", newline), new.replace("\n", newline))


def test_removing_the_only_key_leaves_an_empty_mapping() -> None:
    assert yaml_values.single(edit("a:\n  b: 1\nc: 2\n", remove("/a/b"))) == {"a": {}, "c": 2}
    assert edit('{"a": {"b": 1}}', remove("/a/b")) == '{"a": {}}'
    assert edit('{"a": {}}', add("/a/b", 1)) == '{"a": {"b": 1}}'


def test_json_keeps_its_lines() -> None:
    text = '{\n  "a": {\n    "b": "1",\n    "c": [\n      1,\n      2\n    ]\n  }\n}\n'

    assert edit(text, add("/a/d", "x")) == text.replace("    ]\n", '    ],\n    "d": "x"\n')
    assert edit(text, move("/a/c/1", "/a/c/0")) == text.replace("1,\n      2", "2,\n      1")
    assert edit(text, remove("/a/b")) == text.replace('"b": "1",\n    ', "")


@pytest.mark.parametrize("text", ['{"a": 1}', "a: 1\n"])
@pytest.mark.parametrize("value", ["\U0001b2fc", "a\u200bb", "\U000e0001", "\U0001f600 \x07"])
def test_unprintable_characters_round_trip(text: str, value: str) -> None:
    after = edit(text, add("/b", value))

    assert yaml_values.single(after) == {"a": 1, "b": value}
    assert yaml.safe_load(after) == {"a": 1, "b": value}
    if text.startswith("{"):
        assert json.loads(after) == {"a": 1, "b": value}


def test_a_text_without_a_last_line_break() -> None:
    assert edit("a: 1", add("/b", 2)) == "a: 1\nb: 2"
    assert edit("a:\n- 1\n- 2", move("/a/1", "/a/0")) == "a:\n- 2\n- 1"


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("a: &x {b: 1}\nc: *x\n", add("/a/b", 2)),
        ("a: &x {b: 1}\nc: *x\n", add("/c/b", 2)),
        ("a: &x 1\nb: *x\n", add("/a", 2)),
        ("a: |\n  x\n", add("/a", "y")),
        ("a:\n", add("/a", "y")),
        ("a: 1\n", remove("/b")),
        ("a: 1\n", add("/b/c", 1)),
        ("a: 1\nb: 2\n", move("/a", "/b")),
        ("a: [1, 2]\n", add("/a/0", 3)),
        ("a: *nobody\n", add("/a/b", 3)),
    ],
)
def test_unsafe_edit_is_rejected(text: str, operation: dict[str, Any]) -> None:
    with pytest.raises(NoEdit):
        edit(text, operation)


TRICKY = ["yes", "1e3", "-", "a: b", "null", "010", "~", "x # y", "'", '"']
SCALARS = st.text(max_size=8) | st.integers(-9, 9) | st.booleans() | st.sampled_from(TRICKY)
KEYS = st.sampled_from(["cpu", "nvidia.com/gpu", "a b", "yes", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
TREES = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
NEW = SCALARS | st.dictionaries(KEYS, SCALARS, min_size=1, max_size=2)


def operations(value: Any, way: tuple[str | int, ...] = ()) -> list[dict[str, Any]]:
    """Every edit of some key of the value."""
    found: list[dict[str, Any]] = []
    if isinstance(value, dict):
        found.append({"op": "add", "path": pointer(*way, "new")})
        for key in value:
            found += [{"op": "add", "path": pointer(*way, key)}, {"op": "remove", "path": pointer(*way, key)}]
            found.append({"op": "move", "from": pointer(*way, key), "path": pointer(*way, "moved")})
            found += operations(value[key], (*way, key))
    if isinstance(value, list):
        found += [{"op": "move", "from": pointer(*way, i), "path": pointer(*way, 0)} for i in range(1, len(value))]
        for at, item in enumerate(value):
            found += operations(item, (*way, at))
    return found


def reads(text: str) -> Any:
    try:
        return yaml_values.single(text)
    except BadText:
        return None


@times(2)
@given(TREES, st.data())
def test_edited_text_has_the_value_of_the_json_patch(tree: dict[str, Any], data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from(
            [
                json.dumps(tree),
                json.dumps(tree, indent=2, ensure_ascii=False),
                yaml.safe_dump(tree, sort_keys=False, allow_unicode=True),
                yaml.safe_dump(tree, sort_keys=False, default_flow_style=False, indent=4),
            ]
        )
    )
    assume(reads(text) == tree)  # PyYAML writes another version of YAML than Kubernetes reads
    operation = data.draw(st.sampled_from(operations(tree)))
    if operation["op"] == "add":
        operation = {**operation, "value": data.draw(NEW)}
    try:
        after = edit(text, operation)
    except NoEdit:
        return

    assert yaml_values.single(after) == jsonpatch.apply_patch(copy.deepcopy(tree), [operation])
