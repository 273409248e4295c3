"""What the rules know of a request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.sources import FOLLOWED
from policies.configuration.settings import Configuration
from policies.judging.proposal import Proposal
from policies.model.change import User
from policies.model.findings import Profile
from policies.model.forest import Forest
from policies.model.objects import GroupKind
from tests.builders import forest, job, local_queue, queue, world
from tests.webhook.reviews import body, review
from webhook import decision
from webhook.decision import case, judged, warm_up
from webhook.review import parse


def proposed(asked: dict[str, Any], known: Forest | None = None) -> Proposal:
    judgement = judged(parse(body(asked)), known or world(), Configuration(profile=Profile.COMPAT))
    assert judgement is not None
    return judgement.proposal


def test_the_circumstances_are_those_of_the_request() -> None:
    circumstances = proposed(review(queue("ml"))).circumstances

    assert circumstances.user == User("ada", ("system:authenticated",))
    assert abs(datetime.now(UTC) - circumstances.now) < timedelta(minutes=5)


def test_an_object_that_carries_no_quota_is_not_judged() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}

    assert judged(parse(body(review(secret))), world(), Configuration()) is None


def test_the_change_is_laid_over_the_world_under_the_configuration() -> None:
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
    ],
)
def test_what_rules_of_other_objects_read_is_ordered(asked: dict[str, Any], ordered: bool) -> None:
    found = case(parse(body(asked)), Configuration())

    assert found is not None
    assert found.ordered is ordered


def test_a_dry_run_enters_nothing() -> None:
    made, dry = (case(parse(body(review(queue("a"), dryRun=run))), Configuration()) for run in (False, True))

    assert made is not None
    assert made.entry() is not None
    assert dry is not None
    assert dry.entry() is None


def test_warming_up_judges_one_object_of_each_kind_and_needs_no_world(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: set[GroupKind] = set()
    monkeypatch.setattr(
        decision, "judge", lambda _, changes: warmed.update(change.ref.group_kind for change in changes)
    )

    warm_up()

    assert warmed == set(FOLLOWED)
