"""What the rules get from a request."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given

from cluster.served import FOLLOWED
from cluster.sightings import Sighting, Sightings, Snapshot
from policies.configuration.kueue.gates import ORCHESTRATION
from policies.configuration.settings import Configuration, KueueSettings, YuniKornSettings
from policies.dialects import READERS, read
from policies.dialects.volcano import queue_ref
from policies.dialects.yunikorn_config.configmap import CONFIGS
from policies.judging.rule import Proposal
from policies.model.change import User
from policies.model.findings import Profile
from policies.model.forest import Forest
from policies.model.objects import GroupKind
from tests.builders import cluster_queue, config_map, flavor, forest, group, job, local_queue, queue, typed, world
from tests.profiles import each_case
from tests.webhook.random_manifests import manifests
from tests.webhook.reviews import body, review
from webhook import decision
from webhook.decision import case, judge_review, warm_up
from webhook.review import parse


def proposed(asked: dict[str, Any], known: Forest | None = None) -> Proposal:
    judgement = judge_review(parse(body(asked)), known or world(), Configuration(profile=Profile.COMPAT))
    assert judgement is not None
    return judgement.proposal


def test_the_circumstances_have_the_user_and_the_time_of_the_request() -> None:
    circumstances = proposed(review(queue("ml"))).circumstances

    assert circumstances.user == User("ada", ("system:authenticated",))
    assert abs(datetime.now(UTC) - circumstances.now) < timedelta(minutes=5)


def test_an_object_that_carries_no_quota_is_not_judged() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}

    assert judge_review(parse(body(review(secret))), world(), Configuration()) is None


def test_the_change_is_applied_to_the_forest_with_the_configuration() -> None:
    known = forest("eng")

    proposal = proposed(review(queue("ml", "eng")), known)

    assert len(proposal.before) == 1
    assert len(proposal.after) == 2
    assert proposal.configuration.profile is Profile.COMPAT


@pytest.mark.parametrize(
    ("asked", "ordered"),
    [
        (review(queue("a")), True),
        (review(queue("a"), queue("a")), False),
        (review(queue("a", deserved="cpu:1"), queue("a")), True),
        (review(queue("a", state="Closed"), queue("a"), subResource="status"), False),
        (review(old=queue("a")), True),
        (review(job("train", "a")), False),
        (review(local_queue("lq", "cq")), True),
        (review(queue("a"), dryRun=True), True),
        (review(config_map(CONFIGS, "yunikorn", data={})), True),
        (review(config_map(CONFIGS, "team", data={})), False),
    ],
)
def test_changes_that_affect_rules_of_other_objects_are_ordered(asked: dict[str, Any], ordered: bool) -> None:
    found = case(parse(body(asked)), Configuration())

    assert found is not None
    assert found.ordered is ordered


def test_config_maps_that_are_not_watched_are_not_ordered() -> None:
    unfollowed = replace(Configuration(), yunikorn=YuniKornSettings(follow=False))

    found = case(parse(body(review(config_map(CONFIGS, "yunikorn", data={})))), unfollowed)

    assert found is not None
    assert not found.ordered


def test_a_ledger_entry_has_the_effective_quotas_of_an_orchestrator() -> None:
    """Else a concurrent change would be judged by the quotas of spec, which do not apply."""
    writer = {"apiGroup": "kueue.x-k8s.io", "kind": "DynamicQuotaOrchestrator", "name": "main"}
    quotas = {"orchestratorRef": writer, "resourceGroups": [group("cpu", flavor("spot", cpu="4"))]}
    before = {**cluster_queue("ml", "", group("cpu", flavor("spot", cpu="9"))), "status": {"effectiveQuotas": quotas}}
    after = {**before, "spec": {**before["spec"], "cohortName": "org"}}
    settings = replace(Configuration(), kueue=KueueSettings(feature_gates={ORCHESTRATION: True}))

    found = case(parse(body(review(after, before))), settings)

    assert found is not None
    entry = found.entry()
    assert entry is not None
    assert entry.after == found.change.after


def test_a_dry_run_has_no_ledger_entry() -> None:
    made, dry = (case(parse(body(review(queue("a"), dryRun=run))), Configuration()) for run in (False, True))

    assert made is not None
    assert made.entry() is not None
    assert dry is not None
    assert dry.entry() is None


def test_the_warm_up_judges_one_object_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: set[GroupKind] = set()
    monkeypatch.setattr(
        decision, "judge", lambda _, changes: warmed.update(change.ref.group_kind for change in changes)
    )

    warm_up()

    assert warmed == set(FOLLOWED)


def version(manifest: dict[str, Any], version: str = "7") -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "one", "resourceVersion": version}}


def test_the_cached_old_object_is_used_if_its_version_is_the_same() -> None:
    known = forest("eng")
    cache = Snapshot(known, Sightings().put(queue_ref("eng"), Sighting("one", "7")))
    raised = version(queue("eng", deserved="cpu:1"))

    same = case(parse(body(review(raised, version(queue("eng"))))), Configuration(), cache)
    other = case(parse(body(review(raised, version(queue("eng", state="Closed"), "8")))), Configuration(), cache)

    assert same is not None
    assert same.change.before is known.get(queue_ref("eng"))
    assert other is not None
    assert other.change.before == typed(queue("eng", state="Closed"))


@each_case("kind", sorted(READERS))
def test_each_kind_keeps_the_api_version_of_its_manifest(kind: GroupKind) -> None:
    version = f"{kind.group}/v9" if kind.group else "v1"

    found = read({"apiVersion": version, "kind": kind.kind, "metadata": {"name": CONFIGS}})

    assert found is not None
    assert found.api_version == version


@given(manifests, manifests)
def test_a_cached_old_object_does_not_change_the_verdict(new: dict[str, Any], old: dict[str, Any]) -> None:
    old = version({**old, "metadata": {"name": "a"}})
    sent = parse(body(review({**new, "metadata": {"name": "a"}}, old)))
    assert sent.old_object is not None
    kept = read(sent.old_object)  # of JSON, as the cache reads it
    assume(kept is not None)
    assert kept is not None
    known = world().put(kept)
    seen = Snapshot(known, Sightings().put(kept.ref, Sighting("one", "7")))

    found, again = (case(sent, Configuration(), cache) for cache in (seen, None))

    assert (found is None) == (again is None)
    if found is not None and again is not None:
        assert found.change == again.change
        assert found.judged(known).verdict == replace(again, circumstances=found.circumstances).judged(known).verdict
