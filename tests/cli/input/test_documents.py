import gzip
import json
from decimal import Decimal
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from analysis import documents
from analysis.documents import Document, SourcePlace, Unreadable
from cli.input.documents import read
from tests.profiles import each_case

QUEUE = """\
# the training queue
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: training   # leaf
  annotations:
    example.com/owner: "team a"
spec:
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: on-demand
      resources:
      - {name: cpu, nominalQuota: 40}
      -
        name: memory
        nominalQuota: >-
          200Gi
    - name: spot
      resources: []
  cohortName:
"""


def from_text(text: str | bytes) -> tuple[list[Document], list[Unreadable]]:
    return read(["-"], BytesIO(text.encode() if isinstance(text, str) else text))


def only(text: str) -> Document:
    found, unreadable = from_text(text)
    assert unreadable == []
    (document,) = found
    return document


def refusal(text: str | bytes) -> Unreadable:
    found, unreadable = from_text(text)
    assert found == []
    (bad,) = unreadable
    return bad


def value(text: str) -> Any:
    return only(f"value: {text}").manifest["value"]


# -- positions ---------------------------------------------------------------------------------------------------------


@each_case(
    ("field", "line", "column"),
    [
        ("", 2, 1),
        ("kind", 3, 7),
        ("metadata", 4, 1),
        ("metadata.name", 5, 9),
        ("metadata.annotations[example.com/owner]", 7, 24),
        ("spec.resourceGroups", 9, 3),
        ("spec.resourceGroups[0]", 10, 5),
        ("spec.resourceGroups[0].coveredResources", 10, 5),
        ("spec.resourceGroups[0].coveredResources[1]", 10, 29),
        ("spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", 14, 35),
        ("spec.resourceGroups[0].flavors[0].resources[1]", 16, 9),
        ("spec.resourceGroups[0].flavors[0].resources[1].nominalQuota", 17, 23),
        ("spec.resourceGroups[0].flavors[1].name", 19, 13),
        ("spec.cohortName", 21, 3),
    ],
)
def test_scalar_is_located_at_its_value_and_other_fields_at_their_key(field: str, line: int, column: int) -> None:
    assert (line, column) == only(QUEUE).locate(field)


@pytest.mark.parametrize(
    ("field", "ancestor"),
    [
        ("status.conditions[0]", ""),
        ("spec.fairSharing.weight", "spec"),
        ("spec.resourceGroups[1].flavors", "spec.resourceGroups"),
        ("spec.resourceGroups[0].flavors[1].resources[0]", "spec.resourceGroups[0].flavors[1].resources"),
        ("metadata.name.first", "metadata.name"),
        ("metadata[0]", "metadata"),
        ("spec.resource", "spec"),
        ("metadata.annotations[example.com/own]", "metadata.annotations"),
        ("nonsense[", ""),
    ],
)
def test_missing_field_is_located_at_its_nearest_ancestor(field: str, ancestor: str) -> None:
    document = only(QUEUE)

    assert document.locate(ancestor) == document.locate(field)


def test_documents_have_line_numbers_of_the_file() -> None:
    found, _ = from_text(f"{QUEUE}---\n{QUEUE}--- # third\n{QUEUE}")

    assert [document.locate("metadata.name").line for document in found] == [5, 27, 49]


def test_json_with_tabs_and_escapes_is_located_exactly() -> None:
    first, second = '\ufeff\n\t{"kind":\t"Queue",\n', '\t "a\\"b]": {"x\\u0041/y" : [1, {"deep": null}, "\\\\"]},\n'
    document = only(first + second + ' "emoji": ["😀", true]}\n')

    assert document.manifest == {"kind": "Queue", 'a"b]': {"xA/y": [1, {"deep": None}, "\\"]}, "emoji": ["😀", True]}
    assert document.locate("") == (2, 2)
    assert document.locate("kind") == (2, 11)
    assert document.locate('[a"b]]') == (3, 3)
    assert document.locate('[a"b]][xA/y]') == (3, 13)
    assert document.locate('[a"b]][xA/y][1].deep') == (3, 40)
    assert document.locate('[a"b]][xA/y][2]') == (3, 47)
    assert document.locate("emoji[1]") == (4, 17)


def test_columns_count_characters_and_lines_only_line_feeds() -> None:
    document = only('a: "𝒳\u2028\u0085é"\r\nb: {"ключ": 1,\r\n  c: 2}\r\n')

    assert document.locate("b.ключ") == (2, 13)
    assert document.locate("b.c") == (3, 6)


KEYS = st.text("ab./-_#:é\"' ", max_size=6)
SCALARS = st.integers(-5, 10**20) | st.booleans() | st.text("ab: -#'\"\\é😀[]{}\t", max_size=8) | st.just("x" * 200)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
MANIFESTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def scalars(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in scalars(item, f"{path}[{key}]")]
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in scalars(item, f"{path}[{index}]")]
    return [(path, value)]


@given(MANIFESTS, st.sampled_from([None, True, False]), st.booleans())
def test_every_scalar_of_any_yaml_is_located_at_its_text(manifest: Any, flow: bool | None, in_list: bool) -> None:
    written = {"kind": "List", "items": [{"kind": "x"}, manifest]} if in_list else manifest
    text = yaml.safe_dump(written, default_flow_style=flow, allow_unicode=True, width=30)
    document = from_text(text)[0][-1]

    assert manifest == document.manifest
    for path, scalar in scalars(manifest):
        if scalar != "" and not isinstance(scalar, str):
            line, column = document.locate(path)
            assert text.split("\n")[line - 1][column - 1 :].startswith(str(scalar).lower()), path


@given(MANIFESTS, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_scalar_of_any_json_is_located_at_its_text(manifest: Any, indent: Any, in_list: bool) -> None:
    written = {"kind": "List", "items": [{"kind": "x"}, manifest]} if in_list else manifest
    text = json.dumps(written, indent=indent)
    document = from_text(text)[0][-1]

    assert manifest == document.manifest
    for path, scalar in scalars(manifest):
        if scalar != "":
            line, column = document.locate(path)
            assert text.split("\n")[line - 1][column - 1 :].startswith(json.dumps(scalar)), path


# -- lists -------------------------------------------------------------------------------------------------------------


def test_list_is_read_as_its_items_with_their_positions() -> None:
    found, unreadable = from_text(
        "apiVersion: v1\nkind: List\nitems:\n- kind: Queue\n  spec:\n    weight: 1\n"
        "-  kind: Job\n   spec: {weight: 2}\n- {kind: Pod,\nspec: {weight: 3}}\n"
    )

    assert unreadable == []
    assert [document.manifest["kind"] for document in found] == ["Queue", "Job", "Pod"]
    assert [document.locate("") for document in found] == [(4, 3), (7, 4), (9, 3)]
    assert [document.locate("spec.weight") for document in found] == [(6, 13), (8, 19), (10, 16)]


def test_the_items_of_a_typed_list_take_version_and_kind_from_it() -> None:
    found, _ = from_text('{"items": [{"metadata": {}}, {"kind": "Other"}], "kind": "QueueList", "apiVersion": "v1"}')

    assert [document.manifest for document in found] == [
        {"apiVersion": "v1", "kind": "Queue", "metadata": {}},
        {"apiVersion": "v1", "kind": "Other"},
    ]


def test_nested_and_aliased_lists_are_read_as_items() -> None:
    found, _ = from_text(
        "kind: List\nspare: &one\n  kind: A\nitems:\n- kind: BList\n  items:\n  - name: b\n- *one\n---\nkind: CList\n"
        "items: &all\n- name: c\n"
    )

    assert [d.manifest for d in found] == [{"kind": "B", "name": "b"}, {"kind": "A"}, {"kind": "C", "name": "c"}]
    assert [d.locate("name" if "name" in d.manifest else "kind") for d in found] == [(7, 11), (3, 9), (12, 9)]


def test_empty_list_has_no_documents() -> None:
    assert from_text("kind: List\nitems: []\n---\nkind: List\nitems:\n") == ([], [])


def test_kind_ending_in_list_without_items_stays_a_manifest() -> None:
    assert only("kind: AllowList\nspec: {}\n").manifest == {"kind": "AllowList", "spec": {}}


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("kind: List\nitems:\n- 5\n", 3, 3, "a single value is given where a manifest is expected"),
        ("kind: List\nitems:\n- [a]\n", 3, 3, "a list is given where"),
        ("kind: List\nitems: {a: 1}\n", 2, 1, "`items` of a List is a mapping"),
        ('{"kind": "List",\n"items": [null]}', 2, 11, "nothing is given where"),
    ],
)
def test_invalid_list_item_is_reported_with_its_position(text: str, line: int, column: int, words: str) -> None:
    bad = refusal(text)

    assert (line, column) == (bad.place.line, bad.place.column)
    assert words in bad.message


# -- what scalars mean -------------------------------------------------------------------------------------------------


@each_case(
    ("text", "meaning"),
    [
        ("yes", True),
        ("On", True),
        ("y", True),
        ("TRUE", True),
        ("no", False),
        ("OFF", False),
        ("N", False),
        ("nO", "nO"),
        ("~", None),
        ("NULL", None),
        ("", None),
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("1_000", 1000),
        ("010", 8),
        ("0o10", 8),
        ("08", 8),
        ("-0x1F", -31),
        ("0b101", 5),
        ("0o", "0o"),
        ("0x", "0x"),
        ("+", "+"),
        ("18446744073709551615", 2**64 - 1),
        ("1e3", 1000),
        ("1.0", 1),
        ("-.5", Decimal("-0.5")),
        ("0.1", Decimal("0.1")),
        ("1e-999999999", 0),
        ("1e999999999", "1e999999999"),
        ("1" * 30, Decimal("1" * 30)),
        ("1" * 400, "1" * 400),
        ("0.1Gi", "0.1Gi"),
        ("2001-12-14", "2001-12-14"),
        ("12:30:00", "12:30:00"),
        ("1.2.3", "1.2.3"),
        ("-", None),
        ("...x", "...x"),
        ('"5"', "5"),
        ("'yes'", "yes"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ('!!int "5"', 5),
        ("!!float 5", 5),
        ("=", "="),
    ],
)
def test_yaml_scalars_are_interpreted_as_by_kubernetes(text: str, meaning: Any) -> None:
    expected = [None] if text == "-" else meaning
    found = only(f"value:\n  {text}").manifest["value"]

    assert (type(expected), expected) == (type(found), found)


def test_keys_are_texts() -> None:
    assert only('1: a\non: b\n010: c\n1.5: d\n"x y": e\n').manifest == {
        "1": "a",
        "true": "b",
        "8": "c",
        "1.5": "d",
        "x y": "e",
    }


def test_numbers_of_json_are_exact() -> None:
    assert {"a": Decimal("0.1"), "b": 10**30, "c": 5} == only('{"a": 0.1, "b": 1' + "0" * 30 + ', "c": 5}').manifest


# -- anchors -----------------------------------------------------------------------------------------------------------


def test_aliases_and_merges_are_expanded_and_located_at_their_text() -> None:
    document = only(
        "base: &base\n  cpu: 1\n  memory: 2\nlimit:\n  <<: *base\n  memory: 3\nlater:\n  cpu: 9\n  <<: [*base]\n"
        "same: *base\nboth: [*base, *base]\n"
    )

    assert document.manifest["limit"] == {"cpu": 1, "memory": 3}
    assert {"cpu": 1, "memory": 2} == document.manifest["later"] == document.manifest["same"]
    assert document.manifest["both"][0] is not document.manifest["both"][1]
    assert document.locate("limit.cpu") == (2, 8)
    assert document.locate("limit.memory") == (6, 11)
    assert document.locate("later.memory") == (3, 11)
    assert document.locate("same") == (10, 1)
    assert (2, 8) == document.locate("same.cpu") == document.locate("both[1].cpu")
    assert (11, 15) == document.locate("both[1]") == document.locate("both[1].gpu")


def test_redefined_anchor_applies_to_later_aliases() -> None:
    document = only("a: &x {v: 1}\nb: *x\nc: &x {v: 2}\nd: *x\n")

    assert (document.manifest["b"], document.manifest["d"]) == ({"v": 1}, {"v": 2})
    assert (document.locate("b.v"), document.locate("d.v")) == ((1, 11), (3, 11))


def test_exponential_aliases_are_rejected() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    bad = refusal("\n".join(lines))

    assert "aliases of this file repeat more than" in bad.message
    assert bad.place.line < 8


def test_alias_limit_applies_to_the_whole_file() -> None:
    bomb = f"a: &a [{'x, ' * 1000}]\nb: [{'*a, ' * 50}]\n"

    found, unreadable = from_text("---\n".join([bomb] * 20))

    assert len(found) == 5
    assert len(unreadable) == 15


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: &a [*a]", 1, 8, "contains itself"),
        ("a: 1\nb: *nope", 2, 4, "no anchor &nope"),
        ("a: 1\n<<: 5", 2, 5, "takes a mapping"),
        ("a: &a " + "{b: " * 60 + "1" + "}" * 60 + "\nb: " + "{c: " * 60 + "*a" + "}" * 60, 2, 244, "more than 100"),
    ],
)
def test_invalid_alias_is_reported_with_its_position(text: str, line: int, column: int, words: str) -> None:
    bad = refusal(text)

    assert (line, column) == (bad.place.line, bad.place.column)
    assert words in bad.message


def test_merges_of_merges_do_not_multiply_the_search() -> None:
    lines = ["a0: &a0 {cpu: 1}"] + [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 60)]

    document = only("\n".join(lines))

    assert document.manifest["a59"] == {"cpu": 1}
    assert document.locate("a20.cpu") == (1, 15)
    assert document.locate("a59.cpu") == document.locate("a59") == (60, 1)
    assert document.locate("a40.memory") == (41, 1)


def test_an_anchor_does_not_reach_into_the_next_document() -> None:
    assert "no anchor &a" in from_text("a: &a 1\n---\nb: *a\n")[1][0].message


# -- broken texts ------------------------------------------------------------------------------------------------------


@each_case(
    ("text", "line", "column", "words"),
    [
        ("a: 1\n\tb: 2\n", 2, 1, "a tab cannot indent YAML; use spaces"),
        ("a:\n  b: [1, 2\nc: 3\n", 3, 2, "which starts in line 2"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed"),
        ("é: 1\nb: \x01\n", 2, 4, "U+0001 is not allowed in YAML"),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", 5, 3, "'c' occurs twice"),
        ('1: a\n"1": b\n', 2, 1, "'1' occurs twice"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, 4, "!!python/object/apply:os.system"),
        ("a: !secret x\n", 1, 4, "the tag !secret has no meaning"),
        ("a: !!binary aGk=\n", 1, 4, "the tag !!binary has no meaning"),
        ("a: !!int x\n", 1, 4, "'x' is not a valid !!int"),
        ("a: !!set {x}\n", 1, 4, "the tag !!set"),
        ("a: .inf\n", 1, 4, ".inf is not a number in JSON"),
        ("a: .nan\n", 1, 4, "not a number"),
        ("[a]: 1\n", 1, 1, "a key must be a string"),
        ("a: 1\n~: 1\n", 2, 1, "this one is null"),
        ("- a\n- b\n", 1, 1, "a list is given where a manifest is expected, which is a mapping"),
        ("\n  hello\n", 2, 3, "a single value is given where"),
        ("a: " + "[" * 200 + "]" * 200, 1, 103, "more than 100"),
        ('a: "\\ud800"', 1, 7, "not YAML"),
        ('{"a": 1,\n "a": 2}', 2, 2, "'a' occurs twice"),
        ('{"a": 1,\n "b" 2}', 2, 6, "not YAML"),
        ('{"a": "\\ud83d"}', 1, 10, "not YAML"),
    ],
)
def test_yaml_syntax_error_is_reported_with_its_position(text: str, line: int, column: int, words: str) -> None:
    bad = refusal(text)

    assert ("<stdin>", line, column) == (bad.place.file, bad.place.line, bad.place.column)
    assert words in bad.message


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{"a": 1,\n "b" 2}', 2, 6, "not JSON: Expecting ':' delimiter"),
        ("", 1, 1, "not JSON"),
        ("a: 1\n", 1, 1, "not JSON"),
        ('{"a": {"b": [{"c": 1}], "d": 1,\n "b": 2}, "c": 1}', 2, 2, "'b' occurs twice"),
        ('{"a": ["NaN x"],\n "b": NaN}', 2, 7, "NaN is not a number"),
        ('{"a": -Infinity}', 1, 7, "-Infinity is not a number"),
        ('{"a": "\\ud83d"}', 1, 7, "half of a surrogate pair"),
        ('{"a": ' + "9" * 5000 + "}", 1, 7, "too many digits"),
        ('{"a": ' + "[" * 101 + "]" * 101 + "}", 1, 106, "more than 100"),
        ("[" * 100_000, 1, 101, "more than 100"),
        ("[1]", 1, 1, "a list is given where a manifest is expected"),
    ],
)
def test_json_syntax_error_is_reported_with_its_position(
    tmp_path: Path, text: str, line: int, column: int, words: str
) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)

    found, (bad,) = read([str(file)])

    assert found == []
    assert (str(file), line, column) == (bad.place.file, bad.place.line, bad.place.column)
    assert words in bad.message


STREAM = '{"kind": "A",\n "a": 1}\n{"kind": "List", "items": [{"kind": "B"}]}{"kind": "C",\n "c": 3}\n'
"""What `jq '.items[]'` and several calls of `kubectl get -o json` write."""


@pytest.mark.parametrize("source", ["-", "a.json", "a.yaml"])
def test_json_objects_that_follow_each_other_are_all_read(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.json").write_text(STREAM)
    (tmp_path / "a.yaml").write_text(STREAM)

    found, unreadable = read([source if source == "-" else str(tmp_path / source)], StringIO(STREAM))

    assert ([each.manifest["kind"] for each in found], unreadable) == (["A", "B", "C"], [])
    assert [each.locate("") for each in found] == [(1, 1), (3, 28), (3, 43)]
    assert found[2].locate("c") == (4, 7)


@pytest.mark.parametrize(
    ("wrong", "line", "column", "words"),
    [
        (', {"b": 2}', 1, 9, "not JSON: Expecting value"),
        ('\n{"b" 2}', 2, 6, "not JSON: Expecting ':' delimiter"),
        ('\n{"b": 2, "b": 3}', 2, 10, "'b' occurs twice"),
        (" " + '{"b": ' * 102 + "1" + "}" * 102, 1, 610, "more than 100"),
        ('{"b": NaN}', 1, 15, "NaN is not a number"),
    ],
)
def test_json_objects_before_an_error_are_read(tmp_path: Path, wrong: str, line: int, column: int, words: str) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}' + wrong)

    (document,), (bad,) = read([str(tmp_path / "a.json")])

    assert document.manifest == {"a": 1}
    assert ((bad.place.line, bad.place.column), words in bad.message) == ((line, column), True)


def test_maximum_nesting_depth_is_read_in_json_and_yaml() -> None:
    text = '{"a": ' + "[" * 99 + "]" * 99 + "}"

    assert only(text).manifest == only("# YAML\n" + text).manifest


@pytest.mark.parametrize(
    "broken", ["a: [1\n", "a: b: c\n", "\ta: 1\n", "a: 1\na: 2\n", "a: *b\n", "x: \x07\n", "- a\n"]
)
def test_broken_document_does_not_affect_its_neighbours_or_their_lines(broken: str) -> None:
    found, unreadable = from_text(f"first: 1\n---\n{broken}---\nthird: 3\n")

    assert [document.manifest for document in found] == [{"first": 1}, {"third": 3}]
    assert len(unreadable) == 1
    assert found[1].locate("third").line == 4 + broken.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "---\n",
        "# only a comment\n---\n---\n# another\n",
        "---\nnull\n",
        "~\n",
        "---\t#\r\n  # x\n",
        "#\n---",
        "\ufeff",
        "--- # c\n...\n",
    ],
)
def test_empty_documents_are_left_out(text: str) -> None:
    assert from_text(text) == ([], [])


@pytest.mark.parametrize(
    ("text", "manifests"),
    [
        ("%YAML 1.1\n---\na: 1\n", [{"a": 1}]),
        ("# head\n\n%YAML 1.1\n---\na: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}]),
        ("--- {a: 1}\n---\tb\n---x: 1\n", [{"a": 1}]),
        ("a: |\n  ---\n  text\n", [{"a": "---\ntext\n"}]),
        ("a: 1\n---", [{"a": 1}]),
        ("---a: 1\n", [{"---a": 1}]),
        ("{a: 1, b: 2}", [{"a": 1, "b": 2}]),
        ('{"a": 1}\n---\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
    ],
)
def test_documents_are_separated_as_in_yaml(text: str, manifests: list[Any]) -> None:
    found, _ = from_text(text)

    assert manifests == [document.manifest for document in found]


# -- files -------------------------------------------------------------------------------------------------------------


def test_directories_are_read_through_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ["b.yaml", "a.yml", "c.json", "z/1.YAML", "m/2.yaml", ".git/3.yaml", "notes.txt", "values.toml"]:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"kind": "Cohort", "name": name}))

    found, unreadable = read([f"{tmp_path}/"])

    assert unreadable == []
    assert [document.manifest["name"] for document in found] == ["a.yml", "b.yaml", "c.json", "m/2.yaml", "z/1.YAML"]
    assert f"{tmp_path}/m/2.yaml" == found[3].source


def test_named_file_may_have_any_extension_and_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "queue.txt").write_text("a: 1\n")
    (tmp_path / "same").symlink_to(tmp_path)
    named = [str(tmp_path / "queue.txt"), str(tmp_path), str(tmp_path / "same" / "queue.txt")]

    found, unreadable = read([*named, *named])

    assert [str(tmp_path / "queue.txt")] == [document.source for document in found]
    assert unreadable == []


def test_unreadable_files_do_not_block_the_others(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("kind: Cohort\n")
    (tmp_path / "latin.yaml").write_bytes("kind: Cohort\nowner: Jürgen\n".encode("latin-1"))
    (tmp_path / "wide").write_bytes("a: 1\n".encode("utf-16"))
    (tmp_path / "packed").write_bytes(gzip.compress(b"a: 1\n"))
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")

    named = [str(tmp_path / name) for name in ("missing.yaml", "gone", "wide", "packed")]
    found, unreadable = read([*named, str(tmp_path), "\0"])

    assert [document.manifest for document in found] == [{"kind": "Cohort"}]
    assert [(bad.place.file, bad.place.line, bad.place.column, bad.message) for bad in unreadable] == [
        (f"{tmp_path}/missing.yaml", 1, 1, "cannot be read: No such file or directory"),
        (f"{tmp_path}/gone", 1, 1, "cannot be read: No such file or directory"),
        (f"{tmp_path}/wide", 1, 1, "this is UTF-16; save it as UTF-8"),
        (f"{tmp_path}/packed", 1, 1, "this is compressed; unpack it with gunzip"),
        (f"{tmp_path}/latin.yaml", 2, 9, "the byte 0xfc is not UTF-8; save the file as UTF-8"),
        ("\0", 1, 1, "cannot be read: the name of a file cannot have a null character"),
    ]


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_SIZE", 2**20)
    file = tmp_path / "large.yaml"
    file.write_text("#" * 2**20)
    assert read([str(file)]) == ([], [])

    file.write_text("#" * (2**20 + 1))

    _, unreadable = read([str(file)])
    assert [Unreadable(SourcePlace(str(file), 1, 1), "larger than 1 MiB; split it into several files")] == unreadable


@pytest.mark.parametrize("stream", [BytesIO(b"a: 1"), StringIO("a: 1"), TextIOWrapper(BytesIO(b"a: 1"), "ascii")])
def test_standard_input_is_read_as_text_or_bytes(stream: Any) -> None:
    (document,), unreadable = read(["-"], stream)

    assert (document.manifest, document.source, unreadable) == ({"a": 1}, "<stdin>", [])


def test_without_standard_input_a_dash_is_unreadable() -> None:
    closed = BytesIO()
    closed.close()

    assert read(["-"])[1][0].message == "standard input is closed"
    assert read(["-"], closed)[1][0].message == "cannot be read: I/O operation on closed file."


def test_thousands_of_documents_are_read_and_located() -> None:
    found, unreadable = from_text("---\n".join(QUEUE.replace("training", f"q{n}") for n in range(2000)))

    assert unreadable == []
    assert len(found) == 2000
    assert found[-1].manifest["metadata"]["name"] == "q1999"
    assert found[-1].locate("metadata.name") == (1999 * 22 + 5, 9)


@given(st.text(max_size=60) | st.text("ab:-[]{}&*!|>'\"#%,.\n \t0", max_size=60))
def test_any_text_is_read_or_rejected_with_positions_inside_it(text: str) -> None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    found, unreadable = from_text(data)
    lines = text.split("\n")

    places = [bad.place for bad in unreadable] + [document.place("a") for document in found]
    for place in places:
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1]) + 1


def test_a_pattern_matches_manifests_at_any_depth_and_folders(tmp_path: Path) -> None:
    for name in ("a.yaml", "deep/b.yml", "deep/er/c.json", "deep/notes.md", ".hidden/d.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{apiVersion: v1, kind: A}" if file.suffix != ".json" else '{"apiVersion": "v1", "kind": "A"}')

    def names(pattern: str) -> list[str]:
        documents, unreadable = read([str(tmp_path / pattern)])
        assert not unreadable
        return [Path(document.source).relative_to(tmp_path).as_posix() for document in documents]

    assert names("*.yaml") == ["a.yaml"]
    assert names("**/*.y*ml") == ["a.yaml", "deep/b.yml"]
    assert names("d*") == ["deep/b.yml", "deep/er/c.json"]
    assert names("deep/*") == ["deep/b.yml", "deep/er/c.json"]


def test_file_named_like_a_pattern_is_read(tmp_path: Path) -> None:
    (tmp_path / "[a].yaml").write_text("{kind: A}")
    (tmp_path / "a.yaml").write_text("{kind: B}")

    documents, _ = read([str(tmp_path / "[a].yaml")])

    assert [document.manifest["kind"] for document in documents] == ["A"]


def test_a_pattern_that_matches_nothing_is_unreadable(tmp_path: Path) -> None:
    (_, (unreadable,)) = read([str(tmp_path / "*.yaml")])

    assert unreadable.message == "no manifest matches this pattern"


def test_standard_input_takes_the_stdin_filename() -> None:
    (document,), _ = read(["-"], StringIO("kind: A\n"), "trees/a.yaml")

    assert str(document.place("kind")) == "trees/a.yaml:1:7"
