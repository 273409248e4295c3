"""If a text changes within one queue, only that queue is read again, with the result of a full read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.dialects.yunikorn_config import decode, edits, reading, structure
from policies.dialects.yunikorn_config.decode import DecodedText, read_whole
from policies.dialects.yunikorn_config.edits import edited
from policies.dialects.yunikorn_config.model import ConfiguredQueue
from policies.dialects.yunikorn_config.quotas import promised
from policies.dialects.yunikorn_config.settings import ignored, quota_without_effect
from policies.dialects.yunikorn_config.validation import load_failures, problems
from tests.profiles import times

LINES = [
    "parent: true",
    "submitacl: '*'",
    "adminacl: sue dev",
    'submitacl: "a\nb"',
    "adminacl: |",
    "adminacl: |+",
    "adminacl: >-",
    "  folded",
    "# a note",
    "",
    "maxapplications: 3",
    "resources: {max: {vcore: 5}, guaranteed: {vcore: 2}}",
    "resources:",
    "  max:",
    "    vcore: 7",
    "  guaranteed: {memory: 1G}",
    "properties: {priority.offset: '1'}",
    "childtemplate: {resources: {max: {vcore: 1}}}",
    "limits: [{limit: a, users: [sue], maxapplications: 2, maxresources: {vcore: 1}}]",
    "limits:",
    "- limit: b",
    "  groups:",
    "  - dev",
    "queues: []",
    "name: again",
    "unknown: 1",
    "'",
    "[",
    "}",
    "\t",
    "- next",
    "<<: {parent: true}",
    "parent: &a true",
    "submitacl: *a",
    "---",
    "...",
    "? x",
    ": y",
]
INDENTS = st.integers(0, 14)
HEADS = st.sampled_from(["- name: q", "-   name: q", "- # note\n  name: q", "- {name: q}", "- - name: q", "- ~"])


@st.composite
def queue_lists(draw: st.DrawFn, depth: int, indent: int) -> str:
    """The lines of some queues, most of them sound."""
    text = ""
    for _ in range(draw(st.integers(1, 3))):
        text += f"{' ' * indent}- name: {draw(st.sampled_from('abcdefgh'))}\n"
        for line in draw(st.lists(st.sampled_from(LINES[:19]), max_size=2)):
            text += f"{' ' * (indent + 2)}{line}\n"
        if depth and draw(st.booleans()):
            inner = indent + draw(st.sampled_from([2, 4]))
            text += f"{' ' * (indent + 2)}queues:\n{draw(queue_lists(depth - 1, inner))}"
    return text


@st.composite
def texts(draw: st.DrawFn) -> str:
    inner = draw(queue_lists(2, 6))
    after = draw(
        st.sampled_from(["", "    limits: []\n", "  placementrules: [{name: tag, value: namespace}]\n", "# end"])
    )
    other = draw(st.sampled_from(["", "- name: other\n  queues:\n  - name: x\n"]))
    return f"partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n{inner}{after}{other}"


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    """The text with some lines taken out and others put in at one place."""
    lines = text.split("\n")
    at = draw(st.integers(0, len(lines)))
    gone = draw(st.integers(0, 3))
    new: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        way = draw(st.integers(0, 3))
        if way == 0:
            new.append(draw(st.sampled_from(lines)))
        elif way == 1:
            new.append(" " * draw(INDENTS) + draw(HEADS))
        else:
            new.append(" " * draw(INDENTS) + draw(st.sampled_from(LINES)))
    return "\n".join([*lines[:at], *new, *lines[at + gone :]])


@times(4)
@given(st.data())
def test_incremental_read_equals_a_full_read(data: st.DataObject) -> None:
    last = read_whole(data.draw(texts()))
    for _ in range(4):
        text = data.draw(changed(last.text))
        expected = read_whole(text)
        found = edited(last, text)
        assert found in (None, expected)
        now = found or expected
        assert _checked(now) == _checked(read_whole(text))
        last = now if not now.config.problems else last


def _checked(read: DecodedText) -> list[object]:
    """What all checks say, twice: what they remember may change nothing."""
    config = read.config
    checks = (problems, load_failures, ignored, quota_without_effect)
    twice = [[*check(config)] for _ in range(2) for check in checks]
    assert twice[: len(checks)] == twice[len(checks) :]
    return [*twice, *(promised(each.root) for each in config.partitions if each.root)]


TREE = "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n" + "".join(
    f"    - name: team-{team}\n      queues:\n"
    + "".join(f"      - name: q-{n}\n        resources: {{max: {{vcore: {n}}}}}\n" for n in range(10))
    for team in range(10)
)
LEAF = "      - name: q-5\n        resources: {max: {vcore: 5}}\n"


def _at(team: int, part: str) -> int:
    return TREE.index(part, TREE.index(f"team-{team}\n"))


@pytest.mark.parametrize("team", [0, 4, 9])
@pytest.mark.parametrize(
    ("old", "new", "queues"),
    [
        (LEAF, LEAF.replace("5}", "6}"), 1),
        (LEAF, LEAF + "        # a note\n", 1),
        (LEAF, LEAF.replace("q-5", "renamed"), 1),
        (LEAF, "", 11),
        (LEAF, LEAF + LEAF.replace("q-5", "new"), 11),
        (LEAF, LEAF + "        queues:\n        - name: leaf\n", 1),
    ],
)
def test_only_the_queues_around_a_change_are_read(
    team: int, old: str, new: str, queues: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = _at(team, old)
    text = TREE[:at] + new + TREE[at + len(old) :]
    last, expected = read_whole(TREE), read_whole(text)
    names: list[str] = []
    read = decode.read_queue
    monkeypatch.setattr(decode, "read_queue", lambda *given: names.append(given[1]) or read(*given))
    monkeypatch.setattr(edits, "read_queue", decode.read_queue)

    assert edited(last, text) == expected
    assert len(names) <= 2 * queues + 4  # what was there and what is there, and a leaf in vain


def test_unchanged_queues_are_reused() -> None:
    last = read_whole(TREE)
    after = edited(last, TREE.replace(LEAF, LEAF.replace("5}", "6}"), 1))

    assert after is not None
    before, now = (each.config.partition.queue("root") for each in (last, after))
    assert before is not None
    assert now is not None
    assert now.queues[1] is before.queues[1]
    assert now.queues[0].queues[4] is before.queues[0].queues[4]


@pytest.mark.parametrize("new", ["        resources: {max: {vcore: 6}}\n", "        # moves the rest\n"])
def test_only_the_queues_around_a_change_are_checked(new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    last = read_whole(TREE)
    assert [*structure.amounts_read(_root(last))] == []
    after = edited(last, TREE.replace("        resources: {max: {vcore: 5}}\n", new, 1))
    assert after is not None
    looked: list[str] = []
    monkeypatch.setattr(structure, "bad_amounts", lambda _, whose, __: looked.append(whose) or [])

    assert [*structure.amounts_read(_root(after))] == []
    assert len(looked) == 2 * (1 + 1 + 10)  # root, the team, and its queues


def _root(read: DecodedText) -> ConfiguredQueue:
    root = read.config.partition.queue("root")
    assert root is not None
    return root


def test_limit_added_to_a_parent_is_checked_against_unchanged_children() -> None:
    last = read_whole(TREE)
    assert [*problems(last.config)] == []
    text = TREE.replace("- name: team-3\n", "- name: team-3\n      resources: {max: {vcore: 4}}\n")
    after = edited(last, text)

    assert after is not None
    assert len([*problems(after.config)]) == 5  # q-5 to q-9
    assert [*problems(after.config)] == [*problems(read_whole(text).config)]


def test_failed_incremental_read_reads_at_most_the_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader tries each of 80 levels, and each is broken."""
    levels = "".join(f"{' ' * n}- name: q{n}\n{' ' * n}  queues:\n" for n in range(2, 160, 2))
    leaf = f"{' ' * 160}- name: leaf\n"
    last = read_whole(f"partitions:\n- queues:\n{levels}{leaf}  - name: last\n    adminacl: {'a' * 50000}\n")
    assert last.config.problems == ()
    read: list[int] = []
    alone = edits._alone
    monkeypatch.setattr(edits, "_alone", lambda text, *given: read.append(len(text)) or alone(text, *given))

    assert edited(last, last.text.replace("leaf", "'leaf")) is None
    assert len(read) > 10
    assert sum(read) <= len(last.text)


def test_checks_with_many_resource_types_are_not_cached() -> None:
    many = ", ".join(f"t{n}: 1" for n in range(20))
    text = TREE.replace("- name: root\n", "- name: root\n    childtemplate: {}\n").replace(
        "- name: team-3\n", f"- name: team-3\n      resources: {{max: {{{many}}}}}\n"
    )
    text = text.replace("- name: q-5\n", "- name: q-5\n        queues: [{name: leaf}]\n")
    read = read_whole(text)
    assert read.config.problems == ()
    assert [*problems(read.config)] == [*problems(read.config)]

    within, beside = (_root(read).queues[team].queues[5] for team in (3, 4))
    assert {"max", "guaranteed"} <= {*beside.known}
    assert not {"max", "guaranteed"} & {*within.known}


def test_queue_renamed_to_root_requires_a_full_read() -> None:
    before = f"# {'a' * 200}\npartitions:\n- name: default\n"
    last = read_whole(f"{before}  queues:\n  - name: other\n    parent: false\n")

    assert edited(last, last.text.replace("name: other", "name: another")) is not None
    assert edited(last, last.text.replace("name: other", "name: root")) is None


def test_value_above_the_node_limit_requires_a_full_read(monkeypatch: pytest.MonkeyPatch) -> None:
    last = read_whole(TREE)
    monkeypatch.setattr(edits, "MAX_NODES", last.visited)

    assert edited(last, TREE.replace("vcore: 5", "vcore: 6", 1)) is not None
    assert edited(last, TREE.replace("{vcore: 5}", "{vcore: 6, memory: 5}", 1)) is None


def test_the_last_trees_that_were_read_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LARGE", 100)
    monkeypatch.setattr(reading, "_last", ())
    reading.read_config.cache_clear()
    whole: list[str] = []
    monkeypatch.setattr(reading, "read_whole", lambda text: whole.append(text) or read_whole(text))
    for number in range(6, 12):
        text = TREE.replace("vcore: 5", f"vcore: {number}", 1)
        assert reading.read_config(text) == read_whole(text).config
    reading.read_config.cache_clear()

    assert len(whole) == 1
