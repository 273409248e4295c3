"""From field paths to positions: the text is walked once for any number of paths."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from policies.text import json_values, yaml_values
from policies.text.field_paths import Region
from policies.text.places import PathStep, Steps
from policies.text.positions import DocumentRoot, TextLines, position
from tests.profiles import each_case


class Counted:
    """The steps of a reader, and how many were taken."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.taken = 0

    def __call__(self, text: str, start: int, end: int) -> Iterator[PathStep]:
        for step in self._steps(text, start, end):
            self.taken += 1
            yield step


def region(text: str, steps: Steps, *, json: bool = False) -> Region:
    root = json_values.read(text) if json else next(yaml_values.read(text))
    assert isinstance(root, DocumentRoot)
    return Region.of(text, steps, root.span, TextLines(text))


@pytest.mark.parametrize("json", [True, False])
def test_thousands_of_positions_are_found_in_one_walk(json: bool) -> None:
    items = ", ".join(f'{{"key": "k{n}"}}' for n in range(1000))
    counted = Counted(json_values.steps if json else yaml_values.steps)
    found = region(f'{{"spec": {{"taints": [{items}]}}}}', counted, json=json)

    columns = [found.locate(f"spec.taints[{n}].key").column for n in range(1000)]

    assert columns == sorted(set(columns))
    assert counted.taken < 6000


def test_thousands_of_aliases_are_located_in_linear_time() -> None:
    lines = "".join(f"k{n}: *a\n" for n in range(1000))
    counted = Counted(yaml_values.steps)
    found = region(f"base: &a {{x: 1}}\n{lines}", counted)

    assert {found.locate(f"k{n}.x") for n in range(1000)} == {found.locate("base.x")}
    assert counted.taken < 6000


def test_the_last_anchor_of_a_name_before_an_alias_counts() -> None:
    text = "one: &a {x: 1}\nfirst: *a\ntwo: &a {x: 2}\nsecond: *a\n"
    found = region(text, yaml_values.steps)

    assert (found.locate("first.x").line, found.locate("second.x").line) == (1, 3)


def test_nested_merges_are_located() -> None:
    lines = "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 13))
    found = region(f"a0: &a0 {{x: 1}}\n{lines}", yaml_values.steps)

    assert found.locate("a12.y").line == 13
    assert found.locate("a12.x").line == 1


@each_case(
    ("path", "line"),
    [
        ("metadata.labels[a.b/c]", 3),
        ("metadata.labels[d]e]", 4),
        ("metadata.labels[d]e].x", 4),
        ("metadata.labels[nothing]", 2),
        ("metadata.labels[a.b/c", 2),
        ("metadata.", 1),
        ("metadata[0]", 1),
        ("list[1]", 7),
        ("list[2]", 5),
        ("list[99999999999]", 5),
        ("", 1),
        ("nothing", 1),
    ],
)
def test_unusual_paths_and_keys_are_located(path: str, line: int) -> None:
    text = 'metadata:\n  labels:\n    a.b/c: x\n    "d]e": y\nlist:\n- 1\n- 2\n'

    assert region(text, yaml_values.steps).locate(path).line == line


def test_positions_agree_with_a_count_from_the_start() -> None:
    text = "\nab\n\nc\n"
    lines = TextLines(text)

    assert [lines.position(n) for n in range(len(text) + 1)] == [position(text, n) for n in range(len(text) + 1)]
