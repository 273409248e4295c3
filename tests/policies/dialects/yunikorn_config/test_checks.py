"""The tables of the specification: what the tree, the limits and the rules may say."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from policies.dialects.yunikorn_config import quotas
from policies.dialects.yunikorn_config.limits import limits_by_themselves, limits_exceeding_ancestor, partition_limits
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Problem
from policies.dialects.yunikorn_config.placement_checks import placement_rules
from policies.dialects.yunikorn_config.quotas import queue_amount
from policies.dialects.yunikorn_config.settings import ignored
from policies.dialects.yunikorn_config.structure import queue_structure
from policies.dialects.yunikorn_config.validation import load_failures
from tests.policies.dialects.yunikorn_config.texts import config, partition, root
from tests.profiles import each_case

OK: list[str] = []
Q5, Q6, Q78, Q9 = "guaranteed_above_max", "max_above_parent", "guaranteed_above_queue", "applications_above_queue"


def refused(queues: str) -> list[str]:
    """The checks that refuse the tree, by name, in which YuniKorn agrees."""
    checks: list[Callable[[ConfiguredQueue], Iterable[Problem]]] = [
        quotas.guaranteed_above_max,
        quotas.max_above_parent,
        quotas.guaranteed_above_queue,
        quotas.applications_above_queue,
    ]
    tree = root(queues)
    return [check.__name__ for check in checks if any(not problem.accepted for problem in check(tree))]


def queue(name: str, *below: str, **resources: str) -> str:
    given = {"g": "guaranteed", "m": "max"}
    inner = ", ".join(f"{given[key]}: {{{text}}}" for key, text in resources.items())
    return f"{{name: {name}, resources: {{{inner}}}, queues: [{', '.join(below)}]}}"


@each_case(
    ("tree", "verdict"),
    [
        (queue("p", queue("c", m="memory: 12G"), m="memory: 10G"), [Q6]),
        (queue("p", queue("c", m="vcore: 100"), m="memory: 10G"), OK),
        (queue("p", queue("mid", queue("c", m="memory: 150G")), m="memory: 100G"), [Q6]),
        (queue("p", queue("a", m="memory: 750G"), queue("b", m="memory: 750G"), m="memory: 900G"), OK),
        (queue("p", queue("a", g="memory: 60G"), queue("b", g="memory: 50G"), g="memory: 100G"), [Q78]),
        (queue("p", queue("a", g="memory: 60G"), queue("b", g="memory: 50G"), m="memory: 100G"), [Q78]),
        (
            queue(
                "p",
                queue("a", g="memory: 50, vcore: 50"),
                queue("b", g="memory: 50, vcore: 50"),
                g="memory: 100",
                m="memory: 100, vcore: 100",
            ),
            OK,
        ),
        (
            queue(
                "p",
                queue("a", g="memory: 50, vcore: 60"),
                queue("b", g="memory: 50, vcore: 60"),
                g="memory: 100",
                m="memory: 100, vcore: 100",
            ),
            [Q78],
        ),
        (queue("l", g="memory: 5", m="memory: 4"), [Q5]),
        (queue("top", queue("mid", queue("l", g="vcore: 20"), g="memory: 1"), g="vcore: 10"), OK),
        (queue("p", queue("c", m="memory: 1"), m="memory: 0"), [Q6]),
        ("{name: p, maxapplications: 4, queues: [{name: c}]}", [Q9]),
        ("{name: p, maxapplications: 4, queues: [{name: c, maxapplications: 5}]}", [Q9]),
        ("{name: p, maxapplications: 4, queues: [{name: c, maxapplications: 4}]}", OK),
        ("{name: p, queues: [{name: c, maxapplications: 5}]}", OK),
    ],
)
def test_queue_tree_is_judged_as_by_yunikorn(tree: str, verdict: list[str]) -> None:
    assert refused(f"- {tree}") == verdict


def test_guarantee_excess_hidden_by_a_middle_queue_is_reported() -> None:
    tree = root("- " + queue("top", queue("mid", queue("l", g="vcore: 20"), g="memory: 1"), g="vcore: 10"))

    (problem,) = quotas.guaranteed_above_queue(tree)

    assert problem.accepted
    assert "root.top are guaranteed vcore=20 (mid=20), but it is guaranteed only 10" in problem.message
    assert problem.excess == 10_000


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("vcore", 500, "500m"),
        ("vcore", 4000, "4"),
        ("memory", 2**30, "1Gi"),
        ("memory", 10**9, "1G"),
        ("memory", 1001, "1001"),
        ("memory", 0, "0"),
    ],
)
def test_amounts_are_shown_in_the_usual_notation(resource: str, amount: int, text: str) -> None:
    assert queue_amount(resource, amount) == text


@pytest.mark.parametrize(("names", "fine"), [("A, b", True), ("A, a", False), ("'a.b'", False), ("x" * 65, False)])
def test_sibling_queue_names_must_be_valid_and_unique(names: str, fine: bool) -> None:
    tree = root("\n".join(f"- name: {name}" for name in names.split(", ")))

    assert (list(queue_structure(tree)) == []) is fine


def limits(*entries: str) -> ConfiguredQueue:
    return root(f"- {{name: q, limits: [{', '.join(entries)}]}}").queues[0]


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        (["{users: [bob, bob], maxapplications: 1}"], "two limits in root.q"),
        (["{users: ['*'], maxapplications: 1}", "{users: [bob], maxapplications: 1}"], "comes after *"),
        (["{groups: ['*'], maxapplications: 1}"], "no other group before it"),
        (["{users: [bob]}"], "limits nothing"),
        (["{users: [bob], maxresources: {memory: 0}}"], "all maxresources of"),
        (["{maxapplications: 1}"], "names no user and no group"),
        (["{users: ['a b'], maxapplications: 1}"], "is not a user name"),
        (["{groups: ['a@b'], maxapplications: 1}"], "is not a group name"),
    ],
)
def test_unusable_limits_are_reported(entries: list[str], says: str) -> None:
    (problem,) = limits_by_themselves(limits(*entries).limits, "root.q")

    assert says in problem.message


def test_usable_limits_are_accepted() -> None:
    entries = ("{groups: [dev], maxapplications: 1}", "{groups: ['*'], users: ['user$'], maxapplications: 1}")

    assert list(limits_by_themselves(limits(*entries).limits, "root.q")) == []


@pytest.mark.parametrize(
    ("parent", "child", "fine"),
    [
        ("users: [bob], maxapplications: 10", "users: [bob], maxresources: {memory: 1}", False),
        ("users: ['*'], maxresources: {memory: 10G}", "users: [bob], maxresources: {memory: 11G}", False),
        ("users: [bob], maxresources: {memory: 10G}", "users: ['*'], maxresources: {memory: 20G}", True),
        ("users: [bob], maxresources: {memory: 10G}", "groups: [bob], maxresources: {memory: 20G}", True),
        ("users: [bob], maxresources: {memory: 10G}", "users: [bob], maxresources: {vcore: 99}", True),
    ],
)
def test_limit_above_an_ancestor_limit_is_reported(parent: str, child: str, fine: bool) -> None:
    """A queue without limits passes on the limits of its parent."""
    tree = root(
        f"- {{name: p, limits: [{{{parent}}}], queues: [{{name: m, queues: [{{name: c, limits: [{{{child}}}]}}]}}]}}"
    )

    assert (list(limits_exceeding_ancestor(tree)) == []) is fine


def test_named_user_limit_replaces_the_wildcard_limit_for_child_queues() -> None:
    """As in YuniKorn's validation. When it runs, the limit of `*` at the top still holds."""
    tree = root(
        "- {name: p, limits: [{users: ['*'], maxresources: {memory: 10G}}], queues: [{name: m, "
        "limits: [{users: [bob], maxresources: {vcore: 5}}], queues: [{name: c, "
        "limits: [{users: [bob], maxresources: {memory: 20G, vcore: 6}}]}]}]}"
    )

    (problem,) = limits_exceeding_ancestor(tree)

    assert "vcore=6" in problem.message


TREE = """
- {name: users, parent: true}
- {name: default}
- {name: team, queues: [{name: dev}]}
- {name: Big}
"""


@each_case(
    ("rule", "refused_by_yunikorn", "reported"),
    [
        ("{name: fixed, value: root.users}", True, True),
        ("{name: fixed, value: root.default}", False, False),
        ("{name: user, parent: {name: fixed, value: root.users}}", False, False),
        ("{name: user, parent: {name: fixed, value: root.team}}", True, True),
        ("{name: fixed, value: root.team}", False, True),
        ("{name: fixed, value: root.default.x, create: true}", True, True),
        ("{name: fixed, value: root.new.x}", True, True),
        ("{name: fixed, value: root.new.x, create: true}", False, False),
        ("{name: fixed, value: root.Big}", True, True),
        ("{name: foo}", False, True),
        ("{name: recovery}", False, True),
        ("{name: tag}", False, True),
        ("{name: fixed}", True, True),
        ("{name: fixed, value: root.default, parent: {name: tag, value: x}}", False, True),
        ("{name: fixed, value: 'a!b', create: true}", False, True),
        ("{name: fixed, value: 'new.b', create: true}", False, False),
        ("{name: fixed, value: 'new..b', create: true}", False, True),
        ("{name: fixed, value: 'root.new..b', create: true}", False, True),
        ("{name: fixed, value: 'new.b!c', create: true}", False, True),
        ("{name: fixed, value: ' new', create: true}", False, True),
        ("{name: fixed, value: ' '}", True, True),
        ("{name: fixed, value: rootless, create: true}", False, True),
        ("{name: fixed, value: Rootless.x, create: true}", False, True),
        ("{name: tag, value: x, create: true, parent: {name: fixed, value: rootless, create: true}}", False, False),
        ("{name: '#fixed', value: root.default}", True, True),
        ("{name: user, filter: {users: ['a b']}}", True, True),
        ("{name: user, filter: {users: ['a(?=b)']}}", True, True),
        ("{name: user, filter: {users: ['a.*']}}", False, False),
        ("{name: user, filter: {type: DENY}}", False, False),
    ],
)
def test_invalid_placement_rules_are_reported(rule: str, refused_by_yunikorn: bool, reported: bool) -> None:
    found = list(placement_rules(partition(TREE, f"- {rule}")))

    assert any(not problem.accepted for problem in found) is refused_by_yunikorn
    assert bool(found) is reported


@pytest.mark.parametrize(
    ("queue_text", "says"),
    [
        ('- {name: a, adminacl: " a b"}', "splits at every single space"),
        ('- {name: a, submitacl: "a  b"}', "splits at every single space"),
        ("- {name: '@Recovery@'}", "own queue for recovery"),
        ("- {name: a, parent: true, childtemplate: {resources: {max: {memory: 1.5G}}}}", "child template of root.a"),
    ],
)
def test_errors_found_only_at_load_are_reported(queue_text: str, says: str) -> None:
    (problem,) = load_failures(config(queue_text))

    assert problem.accepted
    assert says in problem.message


def test_the_child_template_of_a_leaf_is_not_loaded() -> None:
    assert list(load_failures(config("- {name: a, childtemplate: {resources: {max: {memory: 1.5G}}}}"))) == []


@pytest.mark.parametrize(
    ("key", "text", "fine"),
    [
        ("application.unschedasks.backoff", "5", True),
        ("application.unschedasks.backoff", "05", True),
        ("application.unschedasks.backoff", "+5", False),
        ("application.unschedasks.backoff", "18446744073709551616", False),
        ("priority.offset", "+5", True),
        ("priority.offset", "2147483648", False),
        ("preemption.policy", "FENCE", True),
        ("priority.policy", "Default", True),
        ("application.sort.priority", "Disabled", True),
        ("application.sort.policy", "FIFO", False),
    ],
)
def test_invalid_property_values_are_reported(key: str, text: str, fine: bool) -> None:
    assert (list(ignored(config(f"- {{name: a, properties: {{{key}: '{text}'}}}}"))) == []) is fine


def test_result_of_the_limit_check_is_cached_once() -> None:
    whole = partition("- {name: p, queues: [{name: c, limits: [{limit: a, users: [bob], maxapplications: 1}]}]}")
    assert whole.root is not None

    for _ in range(3):
        assert list(partition_limits(whole)) == []

    assert len(whole.root.known) == 1
