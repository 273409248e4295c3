"""The judge, asked as the doors ask it."""

from __future__ import annotations

from typing import Any

from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects.reading import Parsed
from policies.dialects.strict import strict
from policies.judge import Judgement, StateBefore, judge, judge_files, stored_state
from policies.judging.changes import changed
from policies.model.change import Change, Circumstances
from policies.model.findings import Severity
from tests.builders import batch_job, cluster_queue, local_queue, queue, typed, world

CONFIGURATION = Configuration()


def parsed(manifest: dict[str, Any]) -> Parsed:
    return Parsed(typed(manifest), manifest)


def state(*manifests: dict[str, Any]) -> StateBefore:
    return StateBefore(world(*manifests), {typed(manifest).ref: manifest for manifest in manifests})


def errors(judgement: Judgement) -> list[tuple[str, str]]:
    return [(judged.rule.id, judged.finding.field) for judged in judgement.verdict.of(Severity.ERROR)]


def of_files(before: StateBefore, *applied: dict[str, Any], delete: tuple[dict[str, Any], ...] = ()) -> Judgement:
    deleted = [typed(manifest) for manifest in delete]
    return judge_files(before, map(parsed, applied), deleted, CONFIGURATION, Circumstances())


def test_a_judgement_has_the_verdict_and_the_proposal_that_it_is_about() -> None:
    judgement = judge(world(), [Change(None, typed(queue("ml", "ml")))], CONFIGURATION)

    assert errors(judgement) == [("parent-cycle", "spec.parent")]
    assert len(judgement.proposal.after) == 1


def test_files_are_judged_as_they_would_be_stored() -> None:
    (change,) = of_files(state(), queue("ml", None)).proposal.changes

    assert change.after == typed(queue("ml", "root") | {"spec": {"reclaimable": True, "weight": 1, "parent": "root"}})


def test_a_field_that_must_stay_is_missed_only_where_the_manifest_before_is_at_hand() -> None:
    before, after = local_queue("door", "ml"), local_queue("door", "web")

    assert errors(of_files(state(before), after)) == [("bad-structure", "spec.clusterQueue")]
    assert errors(of_files(StateBefore(world(before)), after)) == []


def test_what_is_applied_and_what_is_deleted_are_one_change() -> None:
    before = state(queue("eng"), queue("ml", "eng"))

    assert errors(of_files(before, queue("ml"), delete=(queue("eng"),))) == []
    assert errors(of_files(before, delete=(queue("eng"),))) == [("delete-with-children", "metadata.name")]


def test_the_state_of_files_is_completed_and_the_manifests_with_it() -> None:
    before = state(queue("ml", None), local_queue("door", "web"))

    stored = stored_state(before, Configuration(kueue=KueueSettings()))

    ref = typed(queue("ml")).ref
    assert stored.manifests[ref]["spec"]["parent"] == "root"
    assert stored.world.node(ref) == typed(dict(stored.manifests[ref]))
    assert stored.manifests.keys() == before.manifests.keys()
    assert stored_state(stored, CONFIGURATION) == stored


def test_only_files_have_fields_that_kubernetes_does_not_know() -> None:
    job = batch_job("train", {"paralellism": 2})
    seen = changed(None, job)

    assert errors(of_files(state(), job)) == [("unknown-field", "spec.paralellism")]
    assert seen is not None
    assert errors(judge(world(), [seen], CONFIGURATION)) == []


def test_a_field_that_was_unknown_before_is_warned_of() -> None:
    before, after = (batch_job("train", {"paralellism": count}) for count in (2, 3))
    judgement = of_files(state(before), after)

    assert errors(judgement) == []
    assert [judged.finding.field for judged in judgement.verdict.of(Severity.WARNING)] == ["spec.paralellism"]


def test_an_object_without_unknown_fields_stays_what_it_is() -> None:
    for manifest in (batch_job("train", {"parallelism": 2}), cluster_queue("ml", "org")):
        found = parsed(manifest)
        assert strict(found) is found


def generated(queue: str, **annotations: str) -> dict[str, Any]:
    """A running Job whose name the API server chooses."""
    labels = {"kueue.x-k8s.io/queue-name": queue}
    meta = {"generateName": "train-", "namespace": "ns", "labels": labels, "annotations": annotations}
    return {**batch_job("train"), "metadata": meta, "spec": {"template": {"spec": {"containers": []}}}}


def test_an_object_whose_name_the_api_server_chooses_is_a_new_one() -> None:
    (change,) = of_files(state(generated("main")), generated("other")).proposal.changes

    assert change.before is None
    assert errors(of_files(state(generated("main")), generated("other"))) == []


def test_its_faults_are_spared_where_its_files_had_them_before() -> None:
    wrong = {"kueue.x-k8s.io/job-min-parallelism": "many"}

    assert errors(of_files(state(generated("main")), generated("other", **wrong))) != []
    spared = of_files(state(generated("main", **wrong)), generated("other", **wrong))
    assert errors(spared) == []
    preexisting = [judged for judged in spared.verdict.of(Severity.WARNING) if judged.preexisting]
    assert [judged.rule.id for judged in preexisting] == ["partial-admission-invalid"]
