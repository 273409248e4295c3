from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from policies.text.json_members import scan
from policies.text.positions import position
from tests.profiles import each_case

FAULTS = [  # the text, where the reading ends, a word of the message
    ("", 0, "blank"),
    (" \n", 0, "blank"),
    ("[1]", 0, "a list, not an object"),
    (' "x"', 1, "a text, not an object"),
    ("null", 0, "null, not an object"),
    ("cpu=4", 0, "not JSON"),
    ("NaN", 0, "not JSON"),
    ('{"a":Infinity}', 5, "not JSON"),
    ("{'a':'1'}", 1, "double quotes"),
    ("{\"a\":'1'}", 5, "double quotes"),
    ('{"a":"1",}', 9, "a comma stands before"),
    ("{,}", 1, "a key in double quotes"),
    ("{", 1, "closing brace is missing"),
    ('{"a":"1"', 8, "closing brace is missing"),
    ('{"a":"1" "b":"2"}', 9, "a comma or"),
    ('{"a" "1"}', 5, "a colon"),
    ('{"a":}', 5, "a value is missing"),
    ('{"a":', 5, "a value is missing"),
    ('{"a":01}', 6, "a comma or"),
    ('{"a":"1', 5, "no closing double quote"),
    ('{"a":"1\n"}', 5, "control character"),
    ('{"a":"\\x"}', 5, "unknown escape"),
    ('{"a":[1}', 5, "not well-formed"),
    ('{"a":"1"} x', 10, "more text follows"),
    ('{"a":"1"}}', 9, "more text follows"),
    ('{"a":' + "[" * 100_000, 5, "nested too deeply"),
]


@each_case(("text", "at", "message"), FAULTS)
def test_json_error_has_its_offset(text: str, at: int, message: str) -> None:
    error = scan(text).error

    assert error is not None
    assert error.offset == at
    assert message in error.message


def test_members_before_an_error_are_kept() -> None:
    members = scan('{"a":"1","b":2,"a":"3"').members

    assert [(m.key, m.kind, m.source, m.key_at, m.value_at) for m in members] == [
        ("a", "text", '"1"', 1, 5),
        ("b", "number", "2", 9, 13),
        ("a", "text", '"3"', 15, 19),
    ]


def test_very_long_number_is_scanned() -> None:
    (member,) = scan('{"a":' + "9" * 1_000_000 + "}").members

    assert member.kind == "number"


def test_lines_and_columns_count_from_one() -> None:
    text = '{\n  "a": "1",\n  "b": 2\n}'

    places = [str(position(text, member.value_at)) for member in scan(text).members]

    assert places == ["line 2, column 8", "line 3, column 8"]
    assert str(position(text, 0)) == "line 1, column 1"


@given(text=st.text() | st.text(alphabet="{}[]\":,\\ 'nulltrfase019-.e\n"))
def test_the_scanner_reads_an_object_exactly_where_python_does(text: str) -> None:
    found = scan(text)
    try:
        value = json.loads(text, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        value = None

    assert (found.error is None) == isinstance(value, dict)
    if found.error:
        assert 0 <= found.error.offset <= len(text)
