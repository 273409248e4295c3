"""Where an application goes: the tables of the specification, and what the answer says besides."""

from __future__ import annotations

import pytest

from policies.dialects.yunikorn_config.acl import Acl, BadAcl, load
from policies.dialects.yunikorn_config.dynamic import Leaf, gang_excess, with_tags
from policies.dialects.yunikorn_config.model import Config
from policies.dialects.yunikorn_config.patterns import compiles, found
from policies.dialects.yunikorn_config.placement import (
    NO_MATCH,
    ConfiguredPartition,
    QueuePlacement,
    ReportedApplication,
)
from policies.dialects.yunikorn_config.placement import placed as placed_by
from policies.dialects.yunikorn_config.reading import read_config
from tests.policies.dialects.yunikorn_config.texts import config

TREE = """
- {name: production, parent: true}
- {name: batch}
"""
NAMESPACE = "- {name: tag, value: namespace, create: true}"
PARENT = "- {name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}}"


def place(tree: Config, application: ReportedApplication) -> QueuePlacement:
    assert tree.partition is not None
    return placed_by(tree.partition.rules, ConfiguredPartition(tree.partition), application)


def placed(rules: str, tree: str = TREE, queue: str = "", user: str = "sue", **tags: str) -> str:
    """The queue, or the reason."""
    named = {key.replace("_", "."): text for key, text in tags.items()}
    got = place(config(tree, rules), ReportedApplication(queue=queue, user=user, tags=named))
    return got.queue or got.reason


@pytest.mark.parametrize(
    ("rules", "tags", "outcome"),
    [
        (NAMESPACE, {"namespace": "dev"}, "root.dev"),
        (NAMESPACE, {"namespace": "root"}, "root.root"),
        ("- {name: Tag, value: NameSpace, create: true}", {"namespace": "dev"}, "root.dev"),
        ("- {name: tag, value: 'namespace ', create: true}", {"namespace": "dev"}, NO_MATCH),
        (PARENT, {"namespace": "fin", "namespace_parentqueue": "root.production"}, "root.production.fin"),
        (PARENT, {"namespace": "fin", "namespace_parentqueue": "production"}, "root.production.fin"),
        (PARENT, {"namespace": "fin", "namespace_parentqueue": "root"}, NO_MATCH),
        (PARENT, {"namespace": "fin"}, NO_MATCH),
        (PARENT, {"namespace": "fin", "namespace_parentqueue": "root.nope"}, NO_MATCH),
    ],
)
def test_placement_by_namespace_tags(rules: str, tags: dict[str, str], outcome: str) -> None:
    assert placed(rules, **tags) == outcome


@pytest.mark.parametrize(
    ("parent", "says"), [("root.batch", "which is a leaf"), ("root.bad name", "is not a queue name")]
)
def test_a_bad_parent_rejects_at_once(parent: str, says: str) -> None:
    assert says in placed(PARENT + "\n" + NAMESPACE, namespace="fin", namespace_parentqueue=parent)


def test_a_queue_with_too_many_levels_is_not_evaluated() -> None:
    deep = "root" + ".a" * 100_000
    rule = "[{name: provided, create: true}]"

    for rules, application in (
        (rule, ReportedApplication(queue=deep, user="sue")),
        (PARENT, ReportedApplication(user="sue", tags={"namespace": "dev", "namespace.parentqueue": deep})),
    ):
        got = place(config(TREE, rules), application)
        assert (got.queue, got.decided) == ("", False)
        assert got.reason.endswith("the queue has more than 100 levels, which is too deep to be evaluated here")
    assert placed(rule, queue="root" + ".a" * 99) == "root" + ".a" * 99


def test_applications_are_placed_in_leaf_queues_or_in_default() -> None:
    provided = "- {name: provided}"

    assert placed(provided, queue="root.production") == NO_MATCH
    assert placed(provided, queue="root.gone") == NO_MATCH
    assert placed(provided, queue="root.batch") == "root.batch"
    assert placed(provided, TREE + "- {name: default}", queue="root.gone") == "root.default"
    assert placed("", queue="root.batch") == "root.batch"  # without rules one `provided` is implied


def test_placement_names_the_matching_rule_and_the_rules_passed_over() -> None:
    got = place(
        config(TREE, "- {name: provided}\n" + NAMESPACE), ReportedApplication("root.gone", tags={"namespace": "dev"})
    )

    assert (got.queue, got.rule, got.created) == ("root.dev", 1, True)
    assert got.passed == ("rule 1 (provided) does not match",)


def test_forced_application_of_a_deleted_queue_goes_to_recovery() -> None:
    got = place(
        config(TREE, "- {name: provided}"), ReportedApplication("root.gone", tags={"application.create.force": "true"})
    )

    assert got.queue == "root.@recovery@"


def test_acl_of_any_ancestor_queue_grants_access() -> None:
    text = "partitions: [{queues: [{name: a, adminacl: ' ops', queues: [{name: b, submitacl: sue}]}]}]"

    def asked(user: str, *groups: str) -> str:
        return place(read_config(text), ReportedApplication("root.a.b", user, groups)).queue

    assert (asked("sue"), asked("bob", "ops"), asked("bob")) == ("root.a.b", "root.a.b", "")


def test_too_complex_filter_pattern_is_not_evaluated() -> None:
    rule = "- {name: user, create: true, filter: {users: ['(a+)+$']}}"

    got = place(config(TREE, rule), ReportedApplication(user="a" * 40 + "!"))

    assert not got.decided
    assert "too complex" in got.reason


@pytest.mark.parametrize(("type", "outcome"), [("deny", NO_MATCH), ("DENY", "root.sue"), ("allow", "root.sue")])
def test_filter_type_deny_is_case_sensitive(type: str, outcome: str) -> None:
    assert placed(f"- {{name: user, create: true, filter: {{type: {type}, users: [sue]}}}}") == outcome


@pytest.mark.parametrize(
    ("pattern", "name", "is_found"), [("a.*z", "abz", True), ("^b", "ab", False), ("(x", "x", False)]
)
def test_user_pattern_search(pattern: str, name: str, is_found: bool) -> None:
    assert found(pattern, name) is is_found


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "a*+", "(?P=x)", "[", "(?<!a)b"])
def test_pattern_unsupported_by_go_does_not_compile(pattern: str) -> None:
    assert not compiles(pattern)


def test_acl_is_parsed_as_by_yunikorn() -> None:
    assert load("sue,user:x dev,a.b") == Acl(("sue",), ("dev",), dropped=("user:x", "a.b"))
    assert load("* dev").everybody
    assert not load(" ").allows("", ())
    with pytest.raises(BadAcl):
        load("a  b")


def test_quota_tags_replace_limits_of_a_dynamic_leaf_only() -> None:
    quota = {"namespace.resourcequota": '{"resources":{"vcore":{"value":4000}}}', "namespace.resourcemaxapps": "3"}
    leaf = Leaf("root.dev", managed=False, guaranteed={"vcore": 1})

    assert with_tags(leaf, ReportedApplication(tags=quota)) == Leaf("root.dev", False, {"vcore": 4000}, None, 3)
    assert with_tags(leaf, ReportedApplication(tags={"namespace.resourcequota": "{"})) == leaf
    managed = Leaf("root.dev", managed=True)
    assert with_tags(managed, ReportedApplication(tags=quota)) == managed


def test_gang_must_fit_in_every_ancestor_queue() -> None:
    assert gang_excess([{"vcore": 5}, None, {"memory": 1}], {"vcore": 6, "memory": 1, "pods": 9}) == ["vcore"]


def test_fixed_rule_reads_a_dotted_path_as_queues() -> None:
    tree = "- {name: testparent, queues: [{name: testchild}]}\n- {name: a}"

    assert placed("- {name: fixed, value: testparent.testchild}", tree) == "root.testparent.testchild"
    assert placed("- {name: fixed, value: TestParent.new, create: true}", tree) == "root.testparent.new"
    user = "- {name: user, create: true, parent: {name: fixed, value: testparent.of, create: true}}"
    assert placed(user, tree) == "root.testparent.of.sue"
    below = "- {name: fixed, value: x.y, create: true, parent: {name: fixed, value: testparent}}"
    assert placed(below, tree) == "root.testparent.x.y"
    assert "is not a queue name" in placed("- {name: fixed, value: a..b, create: true}", tree)


def test_a_name_counts_once_in_an_acl() -> None:
    assert load("sue,bob,sue dev,dev") == Acl(users=("sue", "bob"), groups=("dev",))
