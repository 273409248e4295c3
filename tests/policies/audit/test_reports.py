"""The reports that an audit becomes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from policies.audit.audited import Audit, audit
from policies.audit.reports import (
    LEFT_OUT_ANNOTATION,
    MANAGED_BY,
    POLICY_REPORTS,
    PREFIX,
    content,
    overwrite_patch,
    report_name,
    reports,
)
from policies.audit.roots import TreeRoot
from policies.configuration.settings import Configuration, Dialect
from tests.builders import COMPAT, cluster_queue, cohort, local_queue, queue, world
from tests.merging import merged


def audited(*manifests: dict[str, Any], configuration: Configuration | None = None) -> Audit:
    return audit(world(*manifests), configuration or Configuration(), datetime(2026, 11, 23, tzinfo=UTC))


def broken() -> Audit:
    return audited(
        cohort("a", "b"),
        cohort("b", "a"),
        cluster_queue("q", "a", namespaceSelector=None),
        local_queue("lost", "nowhere", namespace="team"),
        queue("eng"),
        queue("ml", "eng", deserved="cpu:4"),
    )


def test_each_tree_has_one_report_and_each_namespace_those_of_its_own_objects() -> None:
    found = list(reports(broken()))

    assert [(each["kind"], each["metadata"].get("namespace"), each.get("scope", {}).get("name")) for each in found] == [
        ("ClusterReport", None, "a"),
        ("ClusterReport", None, "root"),
        ("Report", "team", None),
    ]
    assert {tuple(each["metadata"]["labels"].items()) for each in found} == {tuple(MANAGED_BY.items())}
    assert all(each["metadata"]["name"].startswith(PREFIX) for each in found)


def test_a_result_has_the_object_the_rule_and_the_words_of_the_webhook() -> None:
    first, *_ = reports(broken())

    result = first["results"][0]
    assert result["policy"] == "parent-cycle"
    assert (result["result"], result["severity"], result["category"]) == ("fail", "high", "kueue")
    assert result["resources"] == [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "name": "a"}]
    assert result["message"] == "spec.parentName: its parents form a cycle: a -> b -> a; give a or b another parent"
    assert first["summary"] == {"pass": 0, "fail": 1, "warn": 1, "error": 0, "skip": 0}


def test_a_full_report_keeps_the_worst_and_counts_what_it_leaves_out() -> None:
    queues = (cluster_queue(f"q{number}", "a", namespaceSelector=None) for number in range(5))
    wide = audited(cohort("a", "b"), cohort("b", "a"), *queues)

    (report,) = reports(wide, most=2)

    assert [result["result"] for result in report["results"]] == ["fail", "warn"]
    assert report["metadata"]["annotations"] == {LEFT_OUT_ANNOTATION: "4"}
    assert report["summary"]["warn"] == 5
    assert report["configuration"]["limits"]["maxResults"] == 2


def test_information_is_no_failure_and_makes_no_report() -> None:
    found = audited(cohort("a", "b"), cohort("b", "a"), configuration=COMPAT)

    assert list(found.found)
    assert list(reports(found)) == []


def test_policy_reports_say_the_same_without_the_fields_that_they_lack() -> None:
    first, *_ = reports(broken(), POLICY_REPORTS)

    assert (first["apiVersion"], first["kind"]) == ("wgpolicyk8s.io/v1alpha2", "ClusterPolicyReport")
    assert first.keys() == {"apiVersion", "kind", "metadata", "scope", "summary", "results"}


def test_names_of_roots_that_look_alike_differ_and_any_root_has_one() -> None:
    names = {
        report_name(TreeRoot(Dialect.YUNIKORN, "Queue", path))
        for path in ("root.Eng", "root.eng", "root-eng", "...", "x" * 300, "é")
    } | {report_name(TreeRoot(Dialect.KUEUE, kind, "eng")) for kind in ("Cohort", "ClusterQueue")}

    assert len(names) == 8
    assert all(len(name) <= 63 and name == name.lower() and not name.endswith("-") for name in names)


def test_what_others_change_is_noticed_and_the_patch_makes_up_for_it() -> None:
    report, *_ = reports(broken())
    tampered = {
        **report,
        "scope": {**report["scope"], "uid": "1"},
        "scopeSelector": {"matchLabels": {"a": "b"}},
        "summary": {**report["summary"], "fail": 0},
        "results": [],
        "metadata": {**report["metadata"], "labels": {"mine": "yes"}, "resourceVersion": "7"},
    }

    assert content(tampered) != content(report)
    repaired = merged(tampered, overwrite_patch(report))
    assert content(repaired) == content(report)
    assert repaired["metadata"]["labels"]["mine"] == "yes"


def test_what_others_add_beside_it_is_left_alone() -> None:
    report, *_ = reports(broken())

    labels = {**report["metadata"]["labels"], "argocd": "x"}
    assert content({**report, "metadata": {**report["metadata"], "labels": labels}}) == content(report)
