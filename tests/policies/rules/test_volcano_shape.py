"""Capability along the path, depth, cycles, first children, deletion: tables W3 to W5 of the specification."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.settings import Configuration, VolcanoSettings
from policies.dialects.volcano import QUEUE, queue_ref
from policies.judge import evaluate
from policies.judging.verdict import Verdict
from policies.model.findings import Action, Profile, Severity
from tests.builders import COMPAT, change, drawn, forest, found, job, missed, pod_group, queue, volcano_pod, world


def errors(verdict: Verdict) -> list[str]:
    return [judged.rule.id for judged in verdict.of(Severity.ERROR)]


PATH = forest("""
    g      capability=cpu:20
      p
        x  capability=cpu:20
    h      capability=cpu:5
""")
OVER = ["capability-exceeds-ancestor"]
W3: list[tuple[dict[str, Any], list[str], list[str]]] = [
    (queue("x", "p", capability="cpu:21"), OVER, OVER),
    (queue("x", "p", capability="cpu:20"), [], []),
    (queue("x", "p", capability="vendor/gpu:8"), [], []),
    (queue("y", "p", capability="cpu:20"), [], []),
    (queue("g", "root", capability="cpu:15"), OVER, OVER),
    (queue("p", "h"), OVER, []),  # Volcano looks at the moved queue alone
]


@pytest.mark.parametrize(("manifest", "strict", "compat"), W3)
def test_w3_capability(manifest: dict[str, Any], strict: list[str], compat: list[str]) -> None:
    assert strict == errors(evaluate(change(PATH, manifest)))
    assert compat == errors(evaluate(change(PATH, manifest, configuration=COMPAT)))


def test_moved_subtree_reports_the_descendant_above_the_new_ancestor() -> None:
    (finding,) = found("capability-exceeds-ancestor", change(PATH, queue("p", "h")))

    assert (finding.object.name, finding.field) == ("p", "spec.parent")
    assert finding.message == "x below it has a capability of cpu=20, more than that of h, 5"
    assert [cause.object.name for cause in finding.causes] == ["x", "h"]


def test_removing_a_capability_compares_children_with_ancestors() -> None:
    org = forest("""
        top    capability=cpu:5
          mid  capability=cpu:30
            x  capability=cpu:20
    """)

    verdict = evaluate(change(org, queue("mid", "top")))

    assert [(j.rule.id, j.severity) for j in verdict.findings] == [("capability-exceeds-ancestor", Severity.WARNING)]


CHAIN = forest("""
    l1
      l2
        l3
          l4
            l5
""")


def test_w4_depth() -> None:
    assert errors(evaluate(change(forest(""), *drawn("l1\n l2\n  l3\n   l4\n    l5")))) == []
    for configuration in (Configuration(), COMPAT):
        assert errors(evaluate(change(CHAIN, queue("l6", "l5"), configuration=configuration))) == ["depth-exceeded"]


def test_depth_counts_everything_below_a_moved_queue() -> None:
    org = forest("""
        a
          b
            c
        d
          e
            f
    """)

    assert errors(evaluate(change(org, queue("d", "c")))) == ["depth-exceeded"]
    assert errors(evaluate(change(org, queue("d", "c"), configuration=COMPAT))) == []
    assert errors(evaluate(change(org, queue("d", "b")))) == []


def test_the_depth_limit_is_the_configured_one() -> None:
    deeper = Configuration(volcano=VolcanoSettings(max_queue_depth=6))

    assert errors(evaluate(change(CHAIN, queue("l6", "l5"), configuration=deeper))) == []


def test_w4_queue_that_is_its_own_parent_is_refused_in_both_profiles() -> None:
    for configuration in (Configuration(), COMPAT):
        verdict = evaluate(change(forest(""), queue("a", "a"), configuration=configuration))
        assert errors(verdict) == ["parent-cycle"]


def test_w4_a_queue_under_its_own_descendant_is_refused_and_the_cycle_printed() -> None:
    org = forest("""
        a
          b
            c
    """)
    proposal = change(org, queue("a", "c"))

    (finding,) = found("parent-cycle", proposal)

    assert finding.message == "its parents form a cycle: a -> c -> b -> a"
    assert errors(evaluate(proposal)) == ["parent-cycle"]
    # Volcano walks up the stored parents, so it misses the cycle.
    assert errors(evaluate(change(org, queue("a", "c"), configuration=COMPAT))) == []


def test_stored_cycle_can_be_fixed_and_edited_but_not_extended() -> None:

    stored = world(queue("a", "b"), queue("b", "a"), queue("c"))

    assert evaluate(change(stored, queue("a"))).findings == ()
    assert [j.severity for j in evaluate(change(stored, queue("a", "b", capability="cpu:1"))).findings] == [
        Severity.WARNING
    ]
    grown = change(stored, queue("a", "c"), queue("c", "b"))
    assert errors(evaluate(grown)) == ["parent-cycle"]
    below = evaluate(change(stored, queue("d", "a")))
    assert errors(below) == ["parent-cycle"]
    assert "is below the cycle a -> b -> a" in below.findings[0].finding.message


def test_cycle_closed_by_many_changes_is_reported_once() -> None:
    cycle = change(forest(""), queue("a", "c"), queue("b", "a"), queue("c", "b"))

    assert [f.message for f in found("parent-cycle", cycle)] == ["its parents form a cycle: a -> c -> b -> a"]


W5: list[tuple[list[dict[str, Any]], list[str], list[str]]] = [
    ([queue("p")], [], []),
    (
        [queue("p", pods="3"), pod_group("g", "p", phase="Running")],
        ["parent-with-workloads"],
        ["parent-with-workloads"],
    ),
    ([queue("p"), pod_group("g", "p"), pod_group("h", "p")], ["parent-with-workloads"], []),
    ([queue("p"), pod_group("g", "p", phase="Completed")], ["parent-with-workloads"], []),
    ([queue("p"), job("j", "p")], ["parent-with-workloads"], []),
    ([queue("p"), job("j", "p", phase="Completed")], [], []),
    ([queue("p", pods="3"), queue("one", "p"), queue("two", "p")], [], []),
]


@pytest.mark.parametrize(("stored", "strict", "compat"), W5)
def test_w5_first_child(stored: list[dict[str, Any]], strict: list[str], compat: list[str]) -> None:

    child = queue("child", "p")

    assert strict == errors(evaluate(change(world(*stored), child)))
    assert compat == errors(evaluate(change(world(*stored), child, configuration=COMPAT)))


def test_w5_child_of_root_is_always_accepted() -> None:

    assert errors(evaluate(change(world(pod_group("g", "root")), queue("child", "root")))) == []


def test_parent_with_workloads_is_not_evaluated_without_known_work() -> None:
    org = forest("p", known=(QUEUE,))

    assert [m.reason for m in missed("parent-with-workloads", change(org, queue("child", "p")))] == [
        "whether new parents hold work: no PodGroup or Job objects are known"
    ]


def test_parent_with_workloads_is_judged_by_the_work_in_files() -> None:
    org = forest("p", known=(QUEUE,))
    rule = "parent-with-workloads"

    assert missed(rule, change(org, queue("child", "p"), job("j", "child"))) == []
    assert missed(rule, change(org, queue("child", "p"), pod_group("g", "child"))) == []
    assert [finding.object.name for finding in found(rule, change(org, queue("child", "p"), job("j", "p")))] == [
        "child"
    ]


ORG = forest(
    """
    eng
      ml
      web  state=Closed
      ops  state=Closing
    default
    """
)


@pytest.mark.parametrize("name", ["eng", "root"])
@pytest.mark.parametrize(
    ("submit", "refused_upstream"),
    [(job, True), (pod_group, False), (volcano_pod, False)],
    ids=["job", "podgroup", "pod"],
)
def test_work_in_a_queue_with_children_is_refused(submit: Any, refused_upstream: bool, name: str) -> None:
    proposal = change(ORG, submit("work", name))

    assert errors(evaluate(proposal)) == ["submit-to-parent"]
    (finding,) = found("submit-to-parent", proposal)
    assert (Profile.COMPAT in finding.profiles) == refused_upstream
    if name == "eng":
        assert finding.fix == "name one of ml", "web is Closed and ops is Closing"


@pytest.mark.parametrize("submit", [job, pod_group, volcano_pod])
def test_work_in_a_leaf_queue_passes(submit: Any) -> None:
    assert errors(evaluate(change(ORG, submit("work", "ml")))) == []


def test_a_pod_group_moved_to_a_parent_is_refused_but_other_edits_of_it_pass() -> None:
    org = forest("eng\n  ml", pod_group("old", "eng"), pod_group("new", "ml"))

    assert errors(evaluate(change(org, pod_group("new", "eng")))) == ["submit-to-parent"]
    assert errors(evaluate(change(org, pod_group("old", "eng", phase="Running")))) == []


def test_another_scheduler_may_use_the_annotation_as_it_likes() -> None:
    assert errors(evaluate(change(ORG, volcano_pod("work", "eng", scheduler="default-scheduler")))) == []


@pytest.mark.parametrize("submit", [job, pod_group, volcano_pod])
@pytest.mark.parametrize(("name", "what"), [("web", "is Closed"), ("ops", "is Closing"), ("nowhere", "does not exist")])
def test_a_queue_that_is_not_open_takes_no_work(submit: Any, name: str, what: str) -> None:
    proposal = change(ORG, submit("work", name))

    assert errors(evaluate(proposal)) == ["queue-not-open"]
    (finding,) = found("queue-not-open", proposal)
    assert what in finding.message
    assert (Profile.COMPAT in finding.profiles) == (submit is not volcano_pod)


def test_queue_without_a_state_is_open_under_strict_and_closed_under_compat() -> None:
    org = forest("fresh state=")

    assert errors(evaluate(change(org, job("work", "fresh")))) == []
    assert errors(evaluate(change(org, job("work", "fresh"), configuration=COMPAT))) == ["queue-not-open"]


def test_work_without_a_queue_uses_the_default_queue() -> None:
    assert errors(evaluate(change(forest("eng"), pod_group("work", None), job("work", None)))) == []


def test_missing_parent_is_refused_unless_it_is_created_in_the_same_change() -> None:
    child, parent = queue("ml", "eng"), queue("eng")

    assert errors(evaluate(change(forest(""), child))) == ["parent-missing"]
    assert errors(evaluate(change(forest(""), child, parent))) == []
    assert errors(evaluate(change(forest(""), queue("ml", "default")))) == []


def test_a_parent_is_deleted_only_with_or_after_its_children() -> None:
    eng, leaves = queue_ref("eng"), [queue_ref(name) for name in ("ml", "web", "ops")]

    (finding,) = found("delete-with-children", change(ORG, delete=[eng]))
    assert finding.message == "cannot be deleted: it is the parent of Queue ml, Queue ops, Queue web"
    assert errors(evaluate(change(ORG, delete=[eng]))) == ["delete-with-children"]
    assert errors(evaluate(change(ORG, delete=[eng, *leaves]))) == []
    assert errors(evaluate(change(ORG, delete=leaves[:1]))) == []


def test_a_node_on_a_cycle_may_be_deleted_with_a_warning() -> None:

    stored = world(queue("a", "b"), queue("b", "a"))

    verdict = evaluate(change(stored, delete=[queue_ref("a")]))

    assert [(j.rule.id, j.severity) for j in verdict.findings] == [("delete-with-children", Severity.WARNING)]


@pytest.mark.parametrize("name", ["root", "default"])
def test_the_built_in_queues_are_not_deleted(name: str) -> None:

    stored = world(queue(name, None if name == "root" else "root"))

    assert errors(evaluate(change(stored, delete=[queue_ref(name)]))) == ["protected-queue"]


def test_amounts_of_root_are_protected_unless_configured_otherwise() -> None:

    stored = world(queue("root", None))
    edited = queue("root", None, capability="cpu:100")
    unprotected = Configuration(volcano=VolcanoSettings(root_queue_protection=False))

    assert errors(evaluate(change(stored, edited))) == ["protected-queue"]
    assert errors(evaluate(change(stored, edited, configuration=unprotected))) == []


def test_a_queue_with_allocated_pods_is_deleted_unless_the_check_is_on() -> None:

    stored = world(queue("q", pods="2"))
    checked = Configuration(volcano=VolcanoSettings(queue_allocated_pods_check=True))

    assert errors(evaluate(change(stored, delete=[queue_ref("q")]))) == []
    assert errors(evaluate(change(stored, delete=[queue_ref("q")], configuration=checked))) == ["protected-queue"]


def test_an_override_decides_by_rule_and_subtree() -> None:
    from policies.configuration.settings import Override

    relaxed = Configuration(overrides=(Override("submit-to-parent", Action.WARN, subtree="eng"),))

    assert errors(evaluate(change(ORG, pod_group("work", "eng"), configuration=relaxed))) == []
    assert errors(evaluate(change(ORG, pod_group("work", "root"), configuration=relaxed))) == ["submit-to-parent"]
