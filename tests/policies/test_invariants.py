"""Invariants of random organisations and random edits; `oracle.py` is the reference implementation."""

from __future__ import annotations

import jsonpatch
from hypothesis import HealthCheck, assume, event, given, settings

from policies.configuration.settings import Configuration
from policies.judge import evaluate
from policies.judging.changes import changed
from policies.judging.rule import Proposal, propose
from policies.judging.sentence import statement
from policies.judging.verdict import Judged, Verdict
from policies.model.change import Change
from policies.model.findings import Profile, Severity
from tests.builders import COMPAT, cluster_queue, cohort, flavor, group, holding, pod_group, queue, typed, world
from tests.policies.oracle import RULES, describe, faults, missteps, worse
from tests.policies.oracle_world import Edit, Manifest, World, applied, key_of
from tests.policies.organisations import changes, queue_text
from tests.policies.yunikorn_objects import namespace_manifest
from tests.profiles import each_case, times

STRICT = Configuration(profile=Profile.STRICT)
random_edits = settings(times(1), suppress_health_check=[HealthCheck.too_slow])


def proposed(before: World, edit: Edit, configuration: Configuration = STRICT) -> Proposal:
    return propose(world(*before.values()), _changes(before, edit), configuration)


def _changes(before: World, edit: Edit) -> list[Change]:
    made = (changed(before.get(key), manifest) for key, manifest in edit.items() if manifest or key in before)
    return [change for change in made if change is not None]


def reported(verdict: Verdict) -> list[tuple[str, str, str]]:
    return [(j.severity.value, str(j.finding.identity), statement(j)) for j in verdict.findings]


@random_edits
@given(changes(sound=True))
def test_change_accepted_by_strict_keeps_a_valid_state_valid(change: tuple[World, Edit]) -> None:
    before, edit = change
    assume(edit)
    allowed = evaluate(proposed(before, edit)).allowed
    event("accepted" if allowed else "refused")

    if allowed:
        assert describe(faults(applied(before, edit))) == ""
        assert describe(missteps(before, edit)) == ""


@random_edits
@given(changes(sound=False))
def test_change_refused_by_compat_has_findings_under_strict(change: tuple[World, Edit]) -> None:
    before, edit = change
    refused = evaluate(proposed(before, edit, COMPAT)).of(Severity.ERROR)
    event("refused" if refused else "accepted")

    if refused:
        assert evaluate(proposed(before, edit)).findings != (), describe(statement(judged) for judged in refused)


@random_edits
@given(changes(sound=True))
def test_refused_change_has_messages_and_each_patch_fixes_its_finding(change: tuple[World, Edit]) -> None:
    before, edit = change
    verdict = evaluate(proposed(before, edit))
    assert verdict.allowed or all(statement(judged) for judged in verdict.of(Severity.ERROR))

    for judged in patchable(verdict):
        event(f"patched: {judged.rule.id}")
        left = evaluate(proposed(before, patched(edit, judged))).of(Severity.ERROR)
        assert [statement(other) for other in left if known(other) == known(judged)] == []


@random_edits
@given(changes(sound=True))
def test_applying_all_patches_makes_a_fixable_change_accepted(change: tuple[World, Edit]) -> None:
    before, edit = change
    verdict = evaluate(proposed(before, edit))
    errors = list(verdict.of(Severity.ERROR))
    curable = patchable(verdict) == errors and UNREADABLE not in {each.rule.id for each in errors}
    event("nothing wrong" if verdict.allowed else "curable" if curable else "more is wrong")

    for _ in range(50):
        if not patchable(verdict):
            break
        edit = patched(edit, patchable(verdict)[0])
        verdict = evaluate(proposed(before, edit))

    assert patchable(verdict) == []
    assert verdict.allowed or not curable, describe(statement(judged) for judged in verdict.of(Severity.ERROR))


UNREADABLE = "quota-annotation-invalid"
"""A quota that cannot be read is compared with nothing: once it can, it may be too small."""


def known(judged: Judged) -> tuple[object, ...]:
    return judged.rule.id, judged.finding.identity


def patchable(verdict: Verdict) -> list[Judged]:
    return [judged for judged in verdict.of(Severity.ERROR) if judged.finding.patch]


def patched(edit: Edit, judged: Judged) -> Edit:
    """The edit with one patch, which is meant for the object as it was judged."""
    return {
        key: jsonpatch.apply_patch(manifest, judged.finding.patch)
        if manifest is not None and judged.finding.object == typed(manifest).ref
        else manifest
        for key, manifest in edit.items()
    }


@random_edits
@given(changes(sound=False))
def test_the_order_of_the_documents_means_nothing(change: tuple[World, Edit]) -> None:
    before, edit = change

    backwards = dict(reversed(before.items())), dict(reversed(edit.items()))

    assert reported(evaluate(proposed(before, edit))) == reported(evaluate(proposed(*backwards)))


@random_edits
@given(changes(sound=False))
def test_edit_that_does_not_worsen_an_invalid_state_is_accepted(change: tuple[World, Edit]) -> None:
    before, edit = change
    assume(not worse(before, edit) and not missteps(before, edit))
    event("broken" if faults(before) else "sound")

    refusals = [judged for judged in evaluate(proposed(before, edit)).of(Severity.ERROR) if judged.rule.id in RULES]
    assert [statement(judged) for judged in refusals] == []


def quota_node(nominal: str, parent: str | None = "eng", **limits: str) -> Manifest:
    return holding(cluster_queue("q", parent), group("cpu", flavor("spot", cpu={"nominalQuota": nominal, **limits})))


def of(*manifests: Manifest) -> World:
    return {key_of(manifest): manifest for manifest in manifests}


def resourceful(name: str, *below: Manifest, **amounts: str) -> Manifest:
    """A queue of YuniKorn with these amounts of vcore."""
    resources = {which: {"vcore": text} for which, text in amounts.items()}
    return {"name": name, "resources": resources, "queues": list(below)}


def parental(name: str, *below: Manifest, **amounts: str) -> Manifest:
    return {**resourceful(name, *below, **amounts), "parent": True}


def team(key: str, cpu: str) -> Manifest:
    return namespace_manifest({"parentqueue": "root.a", key: f'{{"cpu":"{cpu}"}}'})


TWO = [resourceful("x", guaranteed="2"), resourceful("y", guaranteed="2")]


@each_case(
    ("what", "broken"),
    [
        ("no parent", of(queue("a", "ghost"))),
        ("endless", of(queue("a", "b"), queue("b", "a"))),
        ("endless", of(cohort("a", "b"), cohort("b", "a"), cluster_queue("q", "b"))),
        ("too deep", of(*(queue(name, parent) for name, parent in zip("abcdef", [None, *"abcde"], strict=True)))),
        ("guarantee > deserved", of(queue("a", guarantee="cpu:1", deserved="cpu:500m"))),
        ("deserved > capability", of(queue("a", deserved="cpu:2", capability="cpu:1"))),
        ("children deserved", of(queue("a"), queue("b", "a", deserved="cpu:1"))),
        (
            "capability > ancestor",
            of(queue("a", capability="cpu:1"), queue("b", "a"), queue("c", "b", capability="cpu:2")),
        ),
        ("no amount", of(queue("a", capability="pods/x:1500m"))),
        ("work in an inner queue", of(queue("a"), queue("b", "a"), pod_group("w", "a", phase="Completed"))),
        ("lends more than it has", of(quota_node("1", lendingLimit="2"))),
        ("limit without a parent", of(quota_node("1", parent=None, borrowingLimit="1"))),
        (
            "guaranteed > quota",
            of(namespace_manifest({"namespace.quota": '{"cpu":"1"}', "namespace.guaranteed": '{"cpu":"2"}'})),
        ),
        ("no JSON object", of(namespace_manifest({"namespace.quota": "4"}))),
        ("named twice", of(queue_text({"name": "a"}, {"name": "A"}))),
        ("no name", of(queue_text({"name": "x.y"}))),
        ("no amount", of(queue_text(resourceful("a", max="1x")))),
        ("shut by zeros", of(queue_text(resourceful("a", max="0")))),
        ("queue guaranteed > max", of(queue_text(resourceful("a", guaranteed="2", max="1")))),
        ("max > max above", of(queue_text(resourceful("a", resourceful("b", max="2"), max="1")))),
        ("children > max", of(queue_text(resourceful("a", *TWO, max="3")))),
        ("children > guaranteed", of(queue_text(resourceful("a", *TWO, guaranteed="3")))),
        (
            "applications > above",
            of(queue_text({"name": "a", "maxapplications": 2, "queues": [{"name": "b", "maxapplications": 3}]})),
        ),
        ("namespace quota > max", of(queue_text(parental("a", max="1")), team("namespace.quota", "2"))),
        (
            "with namespaces children > guaranteed",
            of(queue_text(parental("a", *TWO, guaranteed="4")), team("namespace.guaranteed", "1m")),
        ),
    ],
)
def test_oracle_detects_each_kind_of_error(what: str, broken: World) -> None:
    """An oracle that misses errors would let every invariant pass."""
    assert {fault for fault, _, _ in faults(broken)} == {what}


def test_first_of_two_queues_with_the_same_name_is_used() -> None:
    below = {"name": "a", "queues": [{"name": "b", "parent": True}]}
    edit: Edit = dict(of(namespace_manifest({"parentqueue": "root.a.b"})))

    for queues, fine in (([{"name": "a"}, below], False), ([below, {"name": "a"}], True)):
        before = of(queue_text(*queues))
        assert evaluate(proposed(before, edit)).allowed is fine
        assert (worse(before, edit) + missteps(before, edit) == []) is fine
