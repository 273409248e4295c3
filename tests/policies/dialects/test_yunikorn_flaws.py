from __future__ import annotations

import pytest
from hypothesis import given

from policies.dialects import yunikorn
from policies.dialects.yunikorn_flaws import Flaw, flaws
from tests.policies.dialects.yunikorn_texts import ANNOTATIONS, JSON_VOID, UNREADABLE
from tests.policies.yunikorn_objects import namespace
from tests.profiles import each_case

IN_JSON = [  # the text, and for each flaw its subject, its place and a part of what it says or cures
    ('{"cpu":64}', [("cpu", "line 1, column 8", "64 is a number, not a string", 'write "64"')]),
    ('{"cpu":true}', [("cpu", "line 1, column 8", "not a boolean", '"500m"')]),
    ('{"cpu":{}}', [("cpu", "line 1, column 8", "not an object", '"500m"')]),
    ('{"cpu":["1"]}', [("cpu", "line 1, column 8", "not a list", '"500m"')]),
    ('{"cpu":null}', [("cpu", "line 1, column 8", "not null", '"500m"')]),
    ('{"memory":"64MiB"}', [("memory", "line 1, column 11", "not a valid quantity", "write 64Mi")]),
    ('{"memory":"64K"}', [("memory", "line 1, column 11", "not a valid quantity", "write 64k")]),
    ('{"memory":"1 G"}', [("memory", "line 1, column 11", "not a valid quantity", "write 1G")]),
    ('{"cpu":"-1","memory":"1G"}', [("cpu", "line 1, column 8", "-1 is negative", "0 or more")]),
    ('{"cpu":"9223372036854776"}', [("cpu", "line 1, column 8", "more than", "write 9223372036854775 or less")]),
    ('{"pods":"1e30"}', [("pods", "line 1, column 9", "more than", "write 9223372036854775807 or less")]),
    ('{"cpu":"1","cpu":"2"}', [("cpu (twice)", "line 1, column 12", 'the key "cpu" appears 2 times', "once")]),
    ("{'cpu':'1'}", [("", "line 1, column 2", "double quotes", 'write {"cpu":"1"}')]),
    ('{"cpu":"1"} x', [("", "line 1, column 13", "more text follows", "write one JSON object")]),
    ('"{\\"cpu\\":\\"1\\"}"', [("", "line 1, column 1", "a text, not an object", 'write {"cpu":"1"}')]),
    ("[1]", [("", "line 1, column 1", "a list, not an object", "write one JSON object")]),
    ("null", [("", "line 1, column 1", "null, not an object", "write one JSON object")]),
    (" ", [("", "line 1, column 1", "blank", "write one JSON object")]),
    (
        " {cpu: 1 , memory: 2Gi , } \n",
        [("", "line 1, column 3", "double quotes", 'write {"cpu": "1", "memory": "2Gi"}')],
    ),
    # It took 20 seconds.
    (" " * 100 + "a:1" + " " * 296 + "!", [("", "line 1, column 101", "not JSON", "write one JSON object")]),
    (
        '{\n "cpu": 4,\n "memory": "64MiB",\n "cpu": "x"\n',
        [
            ("cpu", "line 2, column 9", "4 is a number", 'write "4"'),
            ("memory", "line 3, column 12", "not a valid quantity", "write 64Mi"),
            ("cpu (2)", "line 4, column 9", "'x' is not a valid quantity", ""),
            ("cpu (twice)", "line 4, column 2", "2 times", ""),
            ("", "line 5, column 1", "closing brace", ""),
        ],
    ),
]
SOUND = ['{"cpu":"64","memory":"100G","nvidia.com/gpu":"1"}', "{}", '{"cpu":"0"}', '{"vcore":"4"}', ""]


@each_case("key", ["quota", "guaranteed"])
@each_case(("text", "expected"), IN_JSON)
def test_each_json_flaw_has_its_key_position_and_fix(
    text: str, expected: list[tuple[str, str, str, str]], key: str
) -> None:
    found = list(flaws(namespace(**{key: text})))

    assert [(flaw.annotation, flaw.subject, flaw.where) for flaw in found] == [
        (f"yunikorn.apache.org/namespace.{key}", subject, where) for subject, where, _, _ in expected
    ]
    for flaw, (_, _, message, fix) in zip(found, expected, strict=True):
        assert message in flaw.message
        assert fix in flaw.fix


@pytest.mark.parametrize("text", SOUND)
def test_a_json_object_of_quantities_has_no_flaw(text: str) -> None:
    assert list(flaws(namespace(quota=text, guaranteed=text))) == []


@each_case("text", JSON_VOID)
def test_json_voided_by_yunikorn_has_a_flaw(text: str) -> None:
    assert list(flaws(namespace(quota=text)))


@pytest.mark.parametrize(("resource", "text"), [(r, t) for r, t in UNREADABLE if t])
def test_the_legacy_pair_has_the_flaws_of_its_quantity(resource: str, text: str) -> None:
    (flaw,) = flaws(namespace(**{f"max_{resource}": text}))

    assert flaw.annotation == f"yunikorn.apache.org/namespace.max.{resource}"
    assert flaw.where == ""


@pytest.mark.parametrize("text", ["0", "1", "500m"])
def test_a_legacy_quantity_of_zero_or_more_has_no_flaw(text: str) -> None:
    assert list(flaws(namespace(max_cpu=text, max_memory=text))) == []


@pytest.mark.parametrize("text", ["abc", "1.5", "-5", " 5", "9223372036854775808", "٥"])
def test_max_apps_must_be_digits(text: str) -> None:
    assert list(flaws(namespace(maxApps=text)))


@pytest.mark.parametrize("text", ["", "5", "05", "0", "+5"])
def test_max_apps_accepted_by_the_shim_has_no_flaw(text: str) -> None:
    assert list(flaws(namespace(maxApps=text))) == []


@given(text=ANNOTATIONS)
def test_quota_dropped_by_yunikorn_has_a_flaw(text: str) -> None:
    """All zero is dropped as well, but that is quota-without-effect."""
    for key, read in (("quota", yunikorn.read_quota), ("guaranteed", yunikorn.read_guaranteed)):
        written = namespace(**{key: text})
        amounts = read(written)
        if text and (amounts is None or min(amounts.values(), default=0) < 0):
            assert list(flaws(written)), text


@given(cpu=ANNOTATIONS, memory=ANNOTATIONS, apps=ANNOTATIONS)
def test_unreadable_legacy_pair_and_max_apps_have_flaws(cpu: str, memory: str, apps: str) -> None:
    pair = namespace(max_cpu=cpu, max_memory=memory)
    if (cpu or memory) and yunikorn.read_quota(pair) is None:
        assert list(flaws(pair))
    assert bool(apps and not yunikorn.read_max_apps(namespace(maxApps=apps))) == bool(
        list(flaws(namespace(maxApps=apps)))
    )


@given(text=ANNOTATIONS)
def test_flaws_of_one_annotation_differ_in_their_subject(text: str) -> None:
    found: list[Flaw] = list(flaws(namespace(quota=text)))

    assert len({flaw.subject for flaw in found}) == len(found)
    assert all(len(flaw.message) < 300 for flaw in found)


def test_flaws_are_truncated_after_one_hundred() -> None:
    found = list(flaws(namespace(quota="{" + ",".join('"cpu":"x"' for _ in range(500)) + "}")))

    assert len(found) == 101
    assert found[-1].message == "there are more faults than are listed here"
