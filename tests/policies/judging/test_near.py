"""The suggested name for one that does not exist."""

from __future__ import annotations

import pytest

from policies.dialects.kueue import COHORT, LOCAL_QUEUE
from policies.dialects.kueue_kinds import RESOURCE_FLAVOR
from policies.judging import rule as module
from policies.judging.rule import Proposal
from tests.builders import change, cluster_queue, cohort, kueue, local_queue, world


def judged() -> Proposal:
    stored = world(
        cohort("research"),
        cluster_queue("engineering", "production"),
        kueue("ResourceFlavor", "on-demand", {}),
        local_queue("users", "engineering", namespace="a"),
    )
    return change(stored, cluster_queue("web"))


def test_suggestion_has_the_same_kind_and_namespace() -> None:
    proposal = judged()

    assert proposal.near(COHORT.named("reserch")) == ["research"]
    assert proposal.near(COHORT.named("enginering")) == []
    assert proposal.near(LOCAL_QUEUE.named("user", "a")) == ["users"]
    assert proposal.near(LOCAL_QUEUE.named("user", "b")) == []


def test_implicit_cohort_is_suggested_only_with_by_children() -> None:
    assert judged().near(COHORT.named("prodution")) == []
    assert judged().near(COHORT.named("prodution"), by_children=True) == ["production"]


def test_suggestions_among_many_objects_allow_one_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged().near(RESOURCE_FLAVOR.named("ondemnd")) == []
    assert judged().near(RESOURCE_FLAVOR.named("on-demnd")) == ["on-demand"]

    monkeypatch.setattr(module, "_WALKED", 0)
    monkeypatch.setattr(module, "_LOOKS", 0)
    proposal = judged()

    assert proposal.near(RESOURCE_FLAVOR.named("on-demnd")) == ["on-demand"]
    assert proposal.near(RESOURCE_FLAVOR.named("no-dmeand")) == []
    assert proposal.near(COHORT.named("resaerhc")) == ["research"]


def test_suggestions_are_sorted_by_distance() -> None:
    proposal = change(world(cohort("researchers"), cohort("research")), cluster_queue("web"))

    assert proposal.near(COHORT.named("researcher")) == ["researchers", "research"]
