"""JSON that is nested deeper than can be read."""

from __future__ import annotations

import json

import pytest

from cluster.decoding import DEEPEST, decoded, deeper, shallow


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def depth(obj: object) -> int:
    found = 0
    while isinstance(obj, dict):
        obj, found = obj["a"], found + 1
    return found


@pytest.mark.parametrize("levels", [1, DEEPEST, DEEPEST + 1, 500])
def test_what_can_be_read_is_read_as_it_is(levels: int) -> None:
    assert depth(decoded(nested(levels).encode())) == levels


@pytest.mark.parametrize("levels", [5_000, 100_000])
def test_what_is_too_deep_is_left_out_and_all_beside_it_stays(levels: int) -> None:
    text = f'{{"items": [{{"b": "}}{{\\"["}}, {nested(levels)}, [{nested(levels)}, 2], {{"c": [1, {{}}]}}], "d": "e"}}'
    found = decoded(text.encode())

    assert found["items"][0] == {"b": '}{"['}
    assert depth(found["items"][1]) == DEEPEST - 2
    assert found["items"][2][1] == 2
    assert (found["items"][3], found["d"]) == ({"c": [1, {}]}, "e")


def test_nothing_is_cut_that_is_not_too_deep() -> None:
    text = b'{"a": [[1, "]"], {"b": []}], "c": null}'
    assert shallow(text, 4) == text
    assert json.loads(shallow(text, 3)) == {"a": [[1, "]"], {"b": None}], "c": None}
    assert json.loads(shallow(text, 2)) == {"a": [None, None], "c": None}
    assert json.loads(shallow(text, 1)) == {"a": None, "c": None}


@pytest.mark.parametrize("text", [b"{", b'{"a":' * 5_000, b"]" * 5, b"[" * 5_000 + b"1"])
def test_what_is_no_json_is_said_to_be_none(text: bytes) -> None:
    with pytest.raises(ValueError, match="line 1"):
        decoded(text)


def test_it_can_be_told_how_deep_a_thing_is() -> None:
    obj = decoded(nested(5).encode())
    assert deeper(obj, 4)
    assert not deeper(obj, 5)
    assert deeper([[[]]], 2)
    assert deeper(decoded(f"[[{nested(5_000)}]]".encode()), DEEPEST - 10)
    assert not deeper("text", 1)
