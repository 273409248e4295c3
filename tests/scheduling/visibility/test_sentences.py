"""Each reason to wait as one sentence: which queue, how much is short, and what helps."""

from __future__ import annotations

from typing import Any

import pytest

from policies.dialects.kueue_workload import GATED_BY
from reconciler.api.explanation import explanation_json
from reconciler.objects.moments import whole_second
from scheduling.visibility.as_json import AccessScope
from scheduling.visibility.sentence import why_it_waits
from tests import builders
from tests.builders import cluster_queue, flavor, group, kueue, local_queue
from tests.profiles import each_case
from tests.reconciler.api.organisation import NOW, admitted, core, organisation, queue, waiting
from tests.scheduling.visibility.waiting_cases import CASES, CONDITION, SOON, A, of, running, team, work
from tests.schemas import checked


def checked_sentence(found: dict[str, Any]) -> str:
    text: str = checked(found)["sentence"]
    assert len(text) < 1024, "an Event has no room for more"
    return text


@each_case("name", CASES)
def test_each_reason_has_its_sentence(name: str) -> None:
    manifests, expected = CASES[name]
    world = core(*manifests, leads=False).state.world

    assert checked_sentence(explanation_json(world, "a/w", NOW)) == expected


@each_case("name", CASES)
def test_the_event_on_the_job_has_the_same_sentence_once_it_was_tried(name: str) -> None:
    manifests, _ = CASES[name]
    world = core(*manifests).state.world
    if name == "strict and large":  # behind the head it was not tried yet, and an Event is not worth a dry run
        name, (_, expected) = "strict", CASES["strict"]
        found = why_it_waits(world, "a/w", whole_second(NOW))
        assert found is not None
        assert found.text == expected
        return
    found = why_it_waits(world, "a/w", whole_second(NOW))
    if found is None:
        assert name in ("turn", "failed check"), "it fits, and has quota by now"
        return

    assert found.text == checked_sentence(explanation_json(world, "a/w", NOW))


def test_a_pending_preemption_reports_how_many_workloads_must_end() -> None:
    own = queue("a", 4, preemption={"withinClusterQueue": "LowerPriority"})
    rest = [each for each in organisation() if (each["kind"], each["metadata"]["name"]) != ("ClusterQueue", "a")]
    victims = (admitted("r1", 2, "a/main", "a"), admitted("r2", 2, "a/main", "a"), admitted("big", 4, "b/main", "b"))
    world = core(*rest, own, *victims, waiting("late", 4, priority=9)).state.world

    said = checked_sentence(explanation_json(world, "a/late", NOW))

    assert said == f"{A}room is made for it; it starts once 2 workloads have ended"


def test_a_sentence_reports_the_current_shortage_and_not_that_of_the_last_attempt() -> None:
    others = [cluster_queue(name, "org", group("cpu", flavor("spot", cpu="1"))) for name in "bc"]
    later = (local_queue("b", "b", "a"), work(3, "later", "b"))
    world = core(*team(*others, *later, running(3), work(4), made=of("spot", cohort="org"))).state.world

    found = explanation_json(world, "a/w", NOW)

    assert checked_sentence(found) == f"{A}needs 4 more cpu of flavor spot; {SOON}"
    (lack,) = found["lacks"]
    assert (lack["wanted"], lack["free"], lack["obstacle"]["lacking"]) == ("4", "0", "4")


@pytest.mark.parametrize(("workers", "stuck"), [(4, False), (5, True)])
def test_a_smaller_request_is_not_advised_for_pod_sets_that_fit_an_idle_queue(workers: int, stuck: bool) -> None:
    """While all quota is used, the first pod set is always tried with the flavor that only the second one fits."""
    both = group("cpu", flavor("h100", cpu="4"), flavor("spot", cpu="2"))
    job, held, other = work(2), running(4), running(2, "s")
    (first,) = job["spec"]["podSets"]
    job["spec"]["podSets"] = [first, {"name": "workers", "count": workers, "template": builders.template(1)}]
    held["status"]["admission"]["podSetAssignments"][0]["flavors"] = {"cpu": "h100"}
    manifests = team(held, other, job, made=cluster_queue("a", None, both))

    said = checked_sentence(explanation_json(core(*manifests).state.world, "a/w", NOW))
    idle = core(*(each for each in manifests if each not in (held, other))).state.world

    assert ("request no more than" in said, said.endswith(SOON)) == (stuck, not stuck)
    assert idle.workloads["a/w"].reserved != stuck


RESERVED = "free quota is reserved for a workload in another ClusterQueue of its tree, which waits for more"


@pytest.mark.parametrize(
    ("policy", "text"), [("LowerPriority", f"{RESERVED}; it is retried automatically"), ("Any", "")]
)
def test_quota_reserved_for_the_head_of_another_queue_is_not_reported_as_used(policy: str, text: str) -> None:
    strict = {"queueingStrategy": "StrictFIFO", "preemption": {"reclaimWithinCohort": policy}}
    lender = cluster_queue("b", "org", group("cpu", flavor("spot", cpu="4")), **strict)
    head = (local_queue("b", "b", "a"), running(2, "r", "a/b", "b"), work(4, "head", "b"))
    borrower = cluster_queue("a", "org", group("cpu", flavor("spot", cpu="0")))
    world = core(*team(lender, *head, work(2), made=borrower)).state.world

    found = explanation_json(world, "a/w", NOW)

    assert found.get("sentence", "").removeprefix(A) == text


def test_a_workload_with_quota_names_the_controller_of_its_pending_check() -> None:
    check = kueue("AdmissionCheck", "budget", {"controllerName": "example.com/budget"})
    check["status"] = {"conditions": [CONDITION | {"type": "Active", "reason": "Active", "message": ""}]}
    strategy = {"admissionChecks": [{"name": "budget"}]}
    held = admitted("w", 1, "a/main", "a")
    held["status"]["conditions"].pop()
    state = {"name": "budget", "state": "Pending", "message": "asked", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    held["status"]["admissionChecks"] = [state]
    world = core(*team(check, held, made=of("spot", admissionChecksStrategy=strategy)), leads=False).state.world

    found = explanation_json(world, "a/w", NOW)

    assert (found["state"], found["admitted"]) == ("running", False)
    assert checked_sentence(found) == (
        "Quota is reserved in ClusterQueue a; waiting for admission checks: budget is Pending (asked); "
        "example.com/budget must answer"
    )


SECRETS = (
    builders.namespace("secret-space"),
    cluster_queue("secret-queue", "org", group("cpu", flavor("spot", cpu="9"))),
    local_queue("secret-local", "secret-queue", "secret-space"),
    admitted("secret-work", 9, "secret-space/secret-local", "secret-queue"),
)


@each_case("name", CASES)
def test_no_sentence_names_objects_of_other_namespaces(name: str) -> None:
    manifests, _ = CASES[name]
    scope = AccessScope("a", queues=False)

    found = explanation_json(core(*manifests, *SECRETS).state.world, "a/w", NOW, scope)

    assert "secret" not in str(found)


def test_another_suggested_queue_is_not_a_new_cause() -> None:
    worlds = [core(*team(work(local="gone"), *more)).state.world for more in ((), (local_queue("more", "a", "a"),))]

    before, after = [why_it_waits(world, "a/w", whole_second(NOW)) for world in worlds]

    assert before is not None
    assert after is not None
    assert (before.text != after.text, before.gist == after.gist) == (True, True)


def test_a_gated_workload_in_an_empty_strict_queue_reports_its_admission_gate() -> None:
    gated = work(metadata={"annotations": {GATED_BY: "example.com/budget"}})
    world = core(*team(gated, made=of("spot", queueingStrategy="StrictFIFO")), leads=False).state.world

    said = checked_sentence(explanation_json(world, "a/w", NOW))

    assert said.startswith("Waiting at LocalQueue a/main: Admission is gated by: example.com/budget; ")
