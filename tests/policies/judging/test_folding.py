"""A consequence of another finding is folded under it."""

from __future__ import annotations

import pytest

from policies.dialects.declared import DECLARED
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from policies.dialects.volcano import queue_ref
from policies.judge import evaluate, folded
from policies.judging.rule import propose
from policies.judging.verdict import Judged, Verdict
from policies.model.change import Change
from policies.model.findings import Finding, ObjectField, Severity
from policies.model.forest import Forest
from policies.rules import find
from tests.builders import (
    Manifest,
    change,
    cluster_queue,
    cohort,
    flavor,
    group,
    kueue,
    local_queue,
    pod_group,
    queue,
    queued_job,
    quota,
    typed,
    world,
)

A, B, C = ((queue_ref(name), "spec.parent") for name in "abc")


def judged(
    place: ObjectField,
    *follows: ObjectField,
    concerns: tuple[ObjectField, ...] = (),
    severity: Severity = Severity.ERROR,
) -> Judged:
    return Judged(find("parent-cycle"), severity, Finding(*place, "is odd", follows=follows, concerns=concerns))


def shape(found: list[Judged]) -> list[tuple[str, list[str]]]:
    return [(each.finding.object.name, [below.finding.object.name for below in each.consequences]) for each in found]


def test_consequence_is_folded_under_the_finding_at_its_basis() -> None:
    assert shape(folded([judged(A), judged(B, A), judged(C)])) == [("a", ["b"]), ("c", [])]


def test_consequence_is_folded_under_the_finding_that_concerns_its_basis() -> None:
    assert shape(folded([judged(A, concerns=((COHORT.named("x"), ""),)), judged(B, (COHORT.named("x"), ""))])) == [
        ("a", ["b"])
    ]


def test_chain_of_consequences_is_folded_under_the_first_finding() -> None:
    assert shape(folded([judged(C, B), judged(B, A), judged(A)])) == [("a", ["c", "b"])]


def test_circular_consequences_are_not_folded() -> None:
    assert shape(folded([judged(A, B), judged(B, A)])) == [("a", []), ("b", [])]


def test_finding_is_not_folded_under_itself_or_a_less_severe_one() -> None:
    assert shape(folded([judged(A, A)])) == [("a", [])]
    assert shape(folded([judged(B, A), judged(A, severity=Severity.WARNING)])) == [("b", []), ("a", [])]


# -- a slip in one name --


def ids(verdict: Verdict) -> list[tuple[str, list[str]]]:
    return [(each.rule.id, [below.rule.id for below in each.consequences]) for each in verdict.findings]


def spot(name: str, parent: str, flavor_name: str = "spot", borrow: str | None = None, **spec: object) -> Manifest:
    return cluster_queue(name, parent, group("cpu", flavor(flavor_name, cpu=quota("4", borrow))), **spec)


FLAVOR = kueue("ResourceFlavor", "spot", {})
URGENT = queued_job("train", None, 1, queue_name="main", priority_class="urgent")


def test_a_misspelt_cohort_is_one_finding_though_siblings_miss_its_quota() -> None:
    lender, borrower = spot("a", "reserch"), spot("b", "research", borrow="4")

    found = evaluate(change(world(), cohort("research"), FLAVOR, lender, borrower))

    assert ids(found) == [("cohort-name-slip", ["borrowing-limit-unreachable"])]


def test_a_misspelt_cohort_is_one_finding_though_its_own_limit_is_out_of_reach() -> None:
    borrower = spot("b", "reserch", borrow="4", preemption={"reclaimWithinCohort": "Any"})

    found = evaluate(change(world(), cohort("research"), FLAVOR, spot("a", "research"), borrower))

    assert [rule for rule, _ in ids(found)] == ["cohort-name-slip"]


def test_a_misspelt_flavor_is_one_finding() -> None:
    lender, borrower = spot("a", "research", "sopt"), spot("b", "research", borrow="4")

    found = evaluate(change(world(), cohort("research"), FLAVOR, lender, borrower))

    assert ids(found) == [("flavor-missing", ["borrowing-limit-unreachable"])]


def test_name_misspelt_by_several_objects_is_reported_on_the_first_by_name() -> None:
    """The second object has the same typo and its own fix; it is reported below the first."""
    flavors = [spot(name, "research", "sopt") for name in ("a", "b")]
    parents = [queue(name, "absent") for name in ("a", "b")]

    for named in ([*flavors, *parents], [*reversed(parents), *reversed(flavors)]):
        found = evaluate(change(world(), cohort("research"), FLAVOR, *named)).findings

        assert sorted((each.rule.id, each.finding.object.name) for each in found) == [
            ("flavor-missing", "a"),
            ("parent-missing", "a"),
        ]


@pytest.mark.parametrize(
    ("misspelt", "naming", "follows"),
    [
        (kueue("LocalQueu", "main", {}, namespace="ns"), queued_job("train", "main", 1), "local-queue-missing"),
        (kueue("ClusterQueu", "research", {}), local_queue("main", "research"), "cluster-queue-missing"),
        (kueue("ResourceFlavour", "spot", {}), spot("a", ""), "flavor-missing"),
        (kueue("WorkloadPriorityClas", "urgent", {}), URGENT, "priority-class-missing"),
        ({**queue("eng"), "kind": "Queu"}, queue("ml", "eng"), "parent-missing"),
        ({**queue("eng"), "kind": "Queu"}, pod_group("bert", "eng"), "queue-not-open"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_misspelt_kind_is_one_finding_though_others_miss_the_object(
    misspelt: Manifest, naming: Manifest, follows: str
) -> None:
    found = evaluate(change(world(), misspelt, naming))

    assert ("unknown-kind", [follows]) in ids(found)
    assert follows not in [rule for rule, _ in ids(found)]


def test_a_misspelt_field_is_one_finding_though_another_is_missing_now() -> None:
    wrong = spot("a", "research")
    (resource,) = wrong["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    resource["nominalQouta"] = resource.pop("nominalQuota")

    found = evaluate(change(world(), cohort("research"), FLAVOR, wrong))

    assert ids(found) == [("unknown-field", ["bad-structure"])]


def test_a_limit_without_parent_follows_from_a_misspelt_name_of_that_field() -> None:
    wrong = spot("a", "research", borrow="4")
    wrong["spec"]["cohrtName"] = wrong["spec"].pop("cohortName")

    found = evaluate(change(world(), cohort("research"), FLAVOR, wrong))

    assert ids(found) == [("unknown-field", ["limit-without-parent"])]


def test_a_job_follows_from_the_misspelt_namespace_of_its_local_queue() -> None:
    files = Forest(frozenset(DECLARED))
    vision = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}}
    job = queued_job("train", "main", "1")
    job["metadata"]["namespace"] = "vision"

    found = evaluate(change(files, vision, cluster_queue("ml"), local_queue("main", "ml", "vison"), job))

    assert ids(found) == [("namespace-misspelt", ["local-queue-missing"])]


def test_deletion_while_used_is_a_consequence_of_a_misspelt_kind() -> None:
    before = world(cluster_queue("ml"), local_queue("main", "ml"))
    anew = kueue("ClusterQueu", "ml", {"namespaceSelector": {}})

    found = evaluate(propose(before, [Change(before.get(CLUSTER_QUEUE.named("ml")), None), Change(None, typed(anew))]))

    assert ids(found) == [("unknown-kind", ["delete-while-used"])]


@pytest.mark.parametrize("minimum", ["minAvailable", "its own"])
def test_a_misspelt_number_of_replicas_explains_that_there_are_too_few(minimum: str) -> None:
    task = {"name": "w", "replcas": 8, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ns"},
        "spec": {"minAvailable": 8, "tasks": [task]},
    }
    if minimum == "its own":
        task["minAvailable"] = job["spec"].pop("minAvailable")

    found = evaluate(change(world(), job))

    assert ids(found) == [("unknown-field", ["min-available-exceeds-replicas"])]


@pytest.mark.parametrize(
    ("resource", "wrong", "right"), [("cpu", "8000", "4"), ("memory", "2000000", "20Ti"), ("memory", "9Ti", "4Gi")]
)
def test_quota_out_of_scale_is_reported_on_the_likely_typo(resource: str, wrong: str, right: str) -> None:
    named = {"a": right, "b": wrong, "c": right}
    queues = [
        cluster_queue(name, "org", group(resource, flavor("spot", **{resource: quota(nominal)})))
        for name, nominal in named.items()
    ]

    found = evaluate(change(world(), cohort("org"), FLAVOR, *queues))

    assert ids(found) == [("quota-out-of-scale", ["quota-out-of-scale"] * 2)]
    assert found.findings[0].finding.object.name == "b"


@pytest.mark.parametrize("selected", [None, {"team": "vision"}], ids=["new", "changed"])
def test_misspelt_selector_value_is_one_finding_with_a_patch(selected: dict[str, str] | None) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "eyes", "labels": {"team": "vision"}}}
    stored = [cluster_queue("ml", namespaceSelector={"matchLabels": selected})] if selected else []
    wrong = cluster_queue("ml", namespaceSelector={"matchLabels": {"team": "vison"}})

    found = evaluate(change(world(space, *stored), wrong, local_queue("main", "ml", "eyes")))

    (top,) = found.findings
    assert (top.finding.field, top.finding.patch[0]["value"]) == (
        "spec.namespaceSelector.matchLabels.team",
        "vision",
    )
