"""queues.yaml as YuniKorn's strict loader reads it, with the line of everything that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.dialects.yunikorn_config import typed
from policies.dialects.yunikorn_config.model import amounts
from policies.dialects.yunikorn_config.reading import read_config
from policies.dialects.yunikorn_config.validation import problems
from tests.policies.dialects.yunikorn_config.texts import root


def reported(text: str) -> list[tuple[int, str, str]]:
    return [(problem.line, problem.field, problem.message) for problem in read_config(text).problems]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "null\n", "partitions:\n", "partitions: []\n"])
def test_text_without_partitions_is_valid(text: str) -> None:
    config = read_config(text)

    assert (config.partitions, config.problems, config.partition) == ((), (), None)


def test_only_the_first_document_is_read() -> None:
    assert reported("partitions: []\n---\n[: broken\n") == []


def test_numbers_are_read_by_their_text() -> None:
    (queue,) = root("- {name: 007, resources: {max: {memory: 010, vcore: 0_5, pods: 1e3, x: 2k}}}").queues

    assert queue.name == "007"
    assert amounts(queue.maximum) == {"memory": 10, "x": 2000}  # 0_5 and 1e3 are numbers to YAML, no amounts here


@pytest.mark.parametrize(
    ("written", "number"),
    [
        *(("5", 5), ("0x10", 16), ("010", 8), ("0o10", 8), ("0b11", 3), ("1_000", 1000), ("5.0", 5), ("+3", 3)),
        *(('!!int "5"', 5), ("!!float 5", 5)),
    ],
)
def test_counts_are_read_as_go_reads_them(written: str, number: int) -> None:
    (queue,) = root(f"- {{name: a, maxapplications: {written}}}").queues

    assert queue.max_applications == number


@pytest.mark.parametrize("written", ["-1", "'5'", "five", "true", "[5]", "18446744073709551616", "9" * 5000])
def test_invalid_count_is_a_problem(written: str) -> None:
    ((line, field, _),) = reported(f"partitions:\n- queues:\n  - maxapplications: {written}\n")

    assert (line, field) == (3, "partitions[0].queues[0].maxapplications")


def test_suggestions_are_limited_to_the_first_problems() -> None:
    """A text may have 40 000 problems."""
    keys = "".join(f"    maxaplications{number}: 1\n" for number in range(150))
    problems = read_config(f"partitions:\n- queues:\n  - name: a\n{keys}").problems

    assert [problem.fix for problem in problems] == ["did you mean 'maxapplications'?"] * 100 + ["remove it"] * 50


def test_quoted_weight_is_a_problem() -> None:
    weights = "{vcore: 2, memory: 0.5, pods: ~, gpu: '1.0', disk: [1], rdma: .inf, fpga: !!float '1.5', nic: !!str 1}"
    text = f"partitions: [{{nodesortpolicy: {{type: fair, resourceweights: {weights}}}, queues: []}}]"

    at = "partitions[0].nodesortpolicy.resourceweights"
    assert reported(text) == [
        (1, f"{at}.gpu", "a number is expected, not the text '1.0'"),
        (1, f"{at}.disk", "a number is expected, not a list"),
        (1, f"{at}.nic", "a number is expected, not the text '1'"),
    ]
    found = read_config(text).partitions[0].weights
    assert {name: weight for name, (_, weight) in found.items()} == {
        "vcore": 2.0,
        "memory": 0.5,
        "pods": 0.0,
        "gpu": 0.0,
        "disk": 0.0,
        "rdma": float("inf"),
        "fpga": 1.5,
        "nic": 0.0,
    }


def test_null_entries_of_a_list_do_not_count() -> None:
    queues = root("- name: a\n-\n- ~").queues
    assert [queue.name for queue in queues] == ["a"]

    (limit,) = root("- {name: a, limits: [{limit: x, users: [~, sue]}]}").queues[0].limits
    assert [(user.text, user.field[-8:]) for user in limit.users] == [("sue", "users[1]")]


@pytest.mark.parametrize("written", ["!!int x", "!!float '1.x'", "!!bool 1", "!!null x"])
def test_tag_that_does_not_fit_the_value_fails_the_load(written: str) -> None:
    ((line, _, message),) = reported(f"partitions:\n- queues: [{{name: {written}}}]\n")

    assert line == 2
    assert "is not a valid !!" in message


@pytest.mark.parametrize(
    ("written", "flag"),
    [("true", True), ("True", True), ("yes", True), ("off", False), ("'Yes'", True), ("!!bool 'true'", True)],
)
def test_flags_are_read_as_go_reads_them(written: str, flag: bool) -> None:
    assert root(f"- {{name: a, parent: {written}}}").queues[0].parent is flag


@pytest.mark.parametrize("written", ["'true'", "1", "maybe", "{}"])
def test_invalid_flag_is_a_problem(written: str) -> None:
    assert len(reported(f"partitions: [{{queues: [{{name: a, parent: {written}}}]}}]")) == 1


def test_every_problem_is_reported_with_its_line_and_the_rest_is_read() -> None:
    text = "partitions:\n- name: [x]\n  queues:\n  - nmae: a\n  - {name: b, name: c}\n  - text\n  extra: 1\n"

    assert reported(text) == [
        (4, "partitions[0].queues[0].nmae", "the key 'nmae' is unknown here"),
        (5, "partitions[0].queues[1].name", "the key 'name' occurs twice, first in line 5"),
        (6, "partitions[0].queues[2]", "a mapping is expected, not 'text'"),
        (2, "partitions[0].name", "a text is expected, not a list"),
        (7, "partitions[0].extra", "the key 'extra' is unknown here"),
    ]
    assert [queue.name for queue in read_config(text).partitions[0].root.queues] == ["", "c", ""]  # type: ignore[union-attr]


def test_second_merge_key_in_a_mapping_is_a_problem() -> None:
    text = "partitions: [{queues: [&one {name: a}, {<<: *one, name: b, <<: *one}]}]"

    assert reported(text) == [(1, "partitions[0].queues[1][<<]", "the key '<<' occurs twice, first in line 1")]


def test_merges_and_aliases_are_followed() -> None:
    (a, b) = root("- &one {name: a, maxapplications: 3}\n- {<<: *one, name: b}").queues

    assert (a.name, b.name, b.max_applications) == ("a", "b", 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("partitions: [", "not YAML"),
        ("partitions: *", "not YAML"),
        ("a: &a [*a]", "contains itself"),
        ("a: *b", "there is no anchor &b before this alias"),
        ("? [a]\n: b", "a key must be a string"),
        ("a: \ud800", "surrogate"),
        ("a: \x00", "the character U+0000 is not allowed in YAML"),
        ("[" * 1000, "nested deeper than 200 levels"),
    ],
)
def test_invalid_yaml_is_one_problem(text: str, says: str) -> None:
    ((_, _, message),) = reported(text)

    assert says in message


def test_alias_expansion_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed, "MAX_NODES", 2000)  # 200 000 take seconds
    text = "q0: &q0 {name: a}\n"
    for level in range(1, 12):
        text += f"q{level}: &q{level} {{queues: [{', '.join([f'*q{level - 1}'] * 8)}]}}\n"

    messages = [message for _, _, message in reported(text + "partitions: [{queues: [*q11]}]\n")]

    assert any("more than 2000 values" in message for message in messages)


def test_a_single_top_queue_of_another_name_gets_a_root_above_it() -> None:
    config = read_config("partitions: [{queues: [{name: eng, queues: [{name: ml}]}]}]")

    assert [queue.path for queue in config.partitions[0].root.walk()] == ["root", "root.eng", "root.eng.ml"]  # type: ignore[union-attr]
    assert config.partition.queue("ROOT.Eng.ml") is not None
    assert config.partition.queue("root.eng.web") is None


@given(st.text(alphabet="partions:{}[]-*&<>|#\"' \n0.", max_size=80))
def test_any_text_is_read_with_a_list_of_problems(text: str) -> None:
    assert all(problem.message for problem in problems(read_config(text)))
    assert all(problem.message for problem in problems(read_config("partitions:\n- queues:\n  - " + text)))
