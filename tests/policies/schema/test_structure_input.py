"""Malformed manifests that no tool writes."""

from __future__ import annotations

import datetime
import decimal
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.objects import Defect
from policies.schema import declarations
from policies.schema.compiled import Compiled, compiled
from policies.schema.structure import defects
from tests.policies.schema.structure_cases import ACCEPTED, NOW, Manifest, queue, refused, workload
from tests.profiles import each_case, times

VERSIONS: dict[tuple[str, str], Compiled] = {
    (f"{declaration['group']}/{version['name']}", declaration["names"]["kind"]): compiled(version)
    for declaration in map(declarations.load, declarations.FILES.values())
    for version in declaration["versions"]
}


def endless() -> Manifest:
    inner: Manifest = {}
    inner["again"] = [inner]
    return inner


def deep(levels: int) -> Manifest:
    inner: Manifest = {}
    for _ in range(levels):
        inner = {"a": inner}
    return inner


def bomb(levels: int) -> Manifest:
    """As YAML aliases make it: each level holds the one below twice."""
    inner: Any = "boom"
    for _ in range(levels):
        inner = {"a": inner, "b": inner}
    assert isinstance(inner, dict)
    return inner


@each_case(
    "bad",
    [
        queue(capability={1: "1"}),
        queue(capability={None: "1"}),
        queue(**{"\ud800": 1}),
        queue(type=b"x"),
        queue(type=datetime.date(2025, 1, 1)),
        queue(type=("a",)),
        queue(weight=float("nan")),
        queue(weight=float("inf")),
        queue(weight=decimal.Decimal("1.5")),
        queue(capability={"cpu": datetime.time(12)}),
        queue(capability=endless()),
        queue(weight=bomb(100)),
        queue(type=[bomb(100), bomb(100)]),
        queue(capability={"cpu": deep(5000)}),
    ],
)
def test_value_outside_json_is_a_defect(bad: Manifest) -> None:
    assert refused(defects(bad)) != []


@pytest.mark.parametrize("inner", [endless(), deep(5000), {1: "a"}, "\ud800"])
def test_values_that_the_schema_leaves_open_are_not_checked(inner: Any) -> None:
    assert defects(workload({"template": {"metadata": {"labels": inner}}})) == ()
    assert refused(defects(workload({"count": -1, "template": {"metadata": {"labels": inner}}}))) != []


def test_value_outside_json_in_a_dropped_status_does_not_hide_other_defects() -> None:
    wrong = {**workload(), "spec": [], "status": {"message": "\ud800"}}

    found = {defect.field: defect.warning for defect in defects(wrong)}

    assert found == {"spec": False, "status.message": True}


def test_key_that_is_not_a_string_is_reported() -> None:
    (defect,) = defects(queue(capability={1: "1"}))
    assert Defect("spec.capability", "the key 1 is not a string; put it in quotes") == defect


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["", "a", "A", "a\n", "1", "1Gi", "Never", "Open", NOW, 0, 1, -1, 1.0]),
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner))


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a manifest."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
    return [place for key in keys for place in ((node, key), *places(node[key]))]


@times(3)
@given(st.sampled_from(ACCEPTED), st.data())
def test_fast_and_full_check_agree(case: tuple[str, Manifest], data: st.DataObject) -> None:
    from policies.schema.messages import explain

    bad = json.loads(json.dumps(case[1]))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(bad)))
        container[key] = data.draw(VALUES)
    version = VERSIONS.get((str(bad.get("apiVersion")), str(bad.get("kind"))))
    if version:
        assert version.is_sound(bad) == (not explain(version.document, bad))
    assert isinstance(defects(bad), tuple)


def test_valid_manifest_does_not_import_jsonschema() -> None:
    script = f"""
import sys
from policies.schema.structure import defects
assert not {{"jsonschema", "jsonschema_rs", "policies.schema.declarations"}} & sys.modules.keys()
assert defects({queue(parent="root")!r}) == ()
assert "jsonschema" not in sys.modules
assert defects({queue(parent="")!r}) != ()
assert "jsonschema" in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
