"""All stored objects are judged together, and each finding is reported with its tree."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.input.documents import gather
from policies.audit.as_json import findings_json
from policies.audit.audited import Audit, audit
from policies.configuration.settings import Configuration, Dialect, Override
from policies.judge import judge
from policies.judging.verdict import Judged
from policies.model.change import Change, Circumstances
from policies.model.findings import Action, Severity
from policies.model.forest import Forest
from tests.builders import COMPAT, EVERYTHING, cluster_queue, cohort, local_queue, manifest, pod_group, queue, world

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
THEN = Circumstances(now=NOW)
STRICT = Configuration()
EXAMPLES = Path(__file__).parents[3] / "examples"


def audited(*manifests: dict[str, Any], configuration: Configuration = STRICT) -> Audit:
    return audit(world(*manifests), configuration, NOW)


def rows(found: Audit) -> list[tuple[str, str, str]]:
    """(root, rule, object) in the order of the audit."""
    return [(str(each.root or ""), each.judged.rule.id, str(each.object)) for each in found.found]


def test_valid_tree_has_no_findings_and_is_counted() -> None:
    found = audited(cohort("eng"), cluster_queue("ml", "eng"), local_queue("door", "ml"))

    assert rows(found) == []
    assert (found.objects, found.nodes, found.at) == (3, 2, NOW)


def test_findings_are_grouped_by_root_with_those_in_no_tree_last() -> None:
    found = audited(
        cohort("b", "a"),
        cohort("a", "b"),
        cluster_queue("q", "b", namespaceSelector=None),
        local_queue("lost", "nowhere"),
        queue("eng"),
        queue("ml", "eng", deserved="cpu:4"),
    )

    assert rows(found) == [
        ("Cohort a", "parent-cycle", "Cohort a"),
        ("Cohort a", "selects-no-namespace", "ClusterQueue q"),
        ("Queue root", "children-deserved-exceed-parent", "Queue eng"),
        ("", "cluster-queue-missing", "LocalQueue ns/lost"),
    ]
    assert [each.dialect for each in found.found] == [Dialect.KUEUE, Dialect.KUEUE, Dialect.VOLCANO, Dialect.KUEUE]


def test_stored_broken_objects_are_errors_not_preexisting_warnings() -> None:
    broken = queue("eng", deserved="cpu:x")
    work = pod_group("pg", "ml") | {"spec": {"queue": "ml", "minMember": "many"}}

    found = audited(broken, queue("ml"), work)

    assert {(each.judged.severity, each.judged.preexisting) for each in found.found} == {(Severity.ERROR, False)}
    assert {str(each.object) for each in found.found} == {"Queue eng", "PodGroup ns/pg"}


def test_stored_work_in_a_closed_or_held_queue_is_not_a_finding() -> None:
    closed = queue("ml") | {"status": {"state": "Closed"}}
    closing = queue("web") | {"status": {"state": "Closing"}}
    stopped = cluster_queue("held", None, stopPolicy="Hold")

    assert rows(audited(closed, closing, pod_group("pg", "ml"), stopped, local_queue("door", "held"))) == []


def test_podgroup_in_an_inner_queue_is_reported_at_its_tree() -> None:
    found = audited(queue("eng"), queue("ml", "eng"), pod_group("pg", "eng"))

    assert rows(found) == [("Queue root", "parent-with-workloads", "Queue ml")]


def test_exemption_applies_until_its_end_date() -> None:
    lenient = Configuration(waivable=frozenset({"parent-cycle"}))
    asked = {"ignore.quotree.dev/parent-cycle": "moving teams; until=2026-12-01"}
    exempt = cohort("a", "a")
    exempt["metadata"]["annotations"] = asked

    before, after = (audit(world(exempt), lenient, datetime(2026, month, 1, 12, tzinfo=UTC)) for month in (11, 12))
    later = audit(world(exempt), lenient, datetime(2026, 12, 2, tzinfo=UTC))

    assert [found.count(Severity.ERROR) for found in (before, after, later)] == [0, 0, 1]


@pytest.mark.parametrize("action", [Action.WARN, Action.OFF])
def test_rule_override_applies_to_the_audit(action: Action) -> None:
    quiet = Configuration(overrides=(Override("parent-cycle", action),))

    found = audited(cohort("a", "b"), cohort("b", "a"), configuration=quiet)

    assert found.count(Severity.ERROR) == 0
    assert found.count(Severity.WARNING) == (1 if action is Action.WARN else 0)


def test_compat_reports_strict_findings_as_info() -> None:
    found = audited(cohort("a", "b"), cohort("b", "a"), configuration=COMPAT)

    assert [each.judged.severity for each in found.found] == [Severity.INFO]


def test_namespaces_of_yunikorn_are_grouped_by_the_parent_queue_that_they_name() -> None:
    bad = {"yunikorn.apache.org/namespace.quota": "{cpu: 4}"}
    below = {"yunikorn.apache.org/parentqueue": "root.eng", **bad}

    found = audited(
        manifest("v1", "Namespace", "one", annotations=bad),
        manifest("v1", "Namespace", "two", annotations=below),
        manifest("v1", "Namespace", "two-more", annotations={**below, "yunikorn.apache.org/parentqueue": "eng"}),
    )

    assert [(each.root and each.root.name, each.dialect.value, each.object.name) for each in found.found] == [
        ("root.eng", "yunikorn", "two"),
        ("root.eng", "yunikorn", "two-more"),
        (None, "yunikorn", "one"),
    ]


def test_json_items_are_a_page_and_root_counts_include_all() -> None:
    queue = cluster_queue("q", "a", namespaceSelector=None)
    found = audited(cohort("a", "b"), cohort("b", "a"), queue, local_queue("lost", "nowhere"))

    page = findings_json(found, offset=1, limit=1)

    assert page["judged"] == "2026-11-23T12:00:00Z"
    assert [item["object"] for item in page["items"]] == [{"kind": "ClusterQueue", "namespace": "", "name": "q"}]
    assert page["roots"] == [
        {"root": {"kind": "Cohort", "name": "a"}, "dialect": "kueue", "findings": 2, "errors": 1, "warnings": 1},
    ]


def test_baselined_findings_are_separated_from_the_trees() -> None:
    found = audited(cohort("a", "a"), cohort("b", "b"), local_queue("lost", "nowhere"))
    cycles = {each.fingerprint for each in found.found if each.judged.rule.id == "parent-cycle"}

    left = found.without(cycles)

    assert [each.object.name for each in left.found] == ["lost"]
    assert [tree.root for tree in left.trees] == [None]
    assert [each.object.name for each in left.baselined] == ["a", "b"]
    one = left.only(lambda each: each.object.name == "b")
    assert (list(one.found), [each.object.name for each in one.baselined]) == ([], ["b"])
    assert left.without(cycles) == left
    assert found.without(()) is found


def test_chain_of_thousands_of_cohorts_has_one_root() -> None:
    chain = [cohort(f"c{number:04}", f"c{number + 1:04}") for number in range(3000)]

    found = audited(*chain, cohort("c3000", "c0000"))

    assert {str(each.root) for each in found.found} == {"Cohort c0000"}


def test_audit_of_queues_has_the_findings_of_their_creation() -> None:
    """For all examples, except rules about changes, and work, which is judged as stored."""
    compared = 0
    for folder in (each for kind in ("accepted", "refused", "warned") for each in (EXAMPLES / kind).iterdir()):
        objects = [placed.obj for placed in gather([str(folder)]).objects.values()]
        judged = judge(Forest(frozenset(EVERYTHING)), [Change(None, obj) for obj in objects], STRICT, THEN)

        expected = said(judged.verdict.findings, judged.proposal.after)

        found = audit(judged.proposal.after, STRICT, NOW)
        assert said([each.judged for each in found.found], judged.proposal.after) == expected, folder.name
        compared += len(expected)
    assert compared > 50


def said(every: Iterable[Judged], world: Forest) -> list[tuple[str, str, str, str]]:
    return sorted(
        (each.rule.id, each.severity.value, str(each.finding.object), each.finding.message)
        for each in every
        if not each.rule.of_change and not ((obj := world.get(each.finding.object)) and obj.is_work)
    )
