"""Rules that are not called because the change does not concern them would find nothing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from policies.configuration.settings import Configuration
from policies.judge import evaluate
from policies.judging.rule import Proposal, propose
from policies.model.change import Change, Occasion
from policies.model.findings import Profile
from policies.rules import concerned
from tests.builders import change, cluster_queue, forest, queue, typed, world
from tests.policies.oracle_world import Edit, World
from tests.policies.organisations import changes
from tests.policies.rules.rule_cases import by_all
from tests.profiles import times

NOTE = {"ignore.quotree.dev/depth-exceeded": "moving; until=2030-01-01"}


@pytest.mark.parametrize("profile", list(Profile))
@settings(times(2), suppress_health_check=[HealthCheck.too_slow])
@given(edited=changes(sound=False))
def test_random_changes_have_the_verdict_of_all_rules(edited: tuple[World, Edit], profile: Profile) -> None:
    before, edit = edited
    made = [
        Change(typed(before[key]) if key in before else None, typed(manifest) if manifest else None)
        for key, manifest in edit.items()
        if manifest or key in before
    ]

    proposal = propose(world(*before.values()), made, Configuration(profile=profile))

    assert evaluate(proposal) == by_all(proposal)


@pytest.mark.parametrize(
    ("proposal", "occasions"),
    [
        (change(forest("eng"), queue("eng", weight="2")), {}),
        (change(forest("eng"), queue("ml", "eng")), {Occasion.PLACEMENT}),
        (change(forest("eng\nml"), queue("ml", "eng")), {Occasion.PLACEMENT}),
        (change(forest("eng"), delete=[typed(queue("eng")).ref]), {Occasion.DELETION}),
        (change(forest("eng"), queue("eng", deserved="cpu:x")), {Occasion.DEFECT}),
        (change(forest("eng"), queue("eng", "eng")), {Occasion.PLACEMENT, Occasion.CYCLE}),
    ],
)
def test_occasions_of_a_change(proposal: Proposal, occasions: set[Occasion]) -> None:
    assert proposal.occasions() == frozenset(occasions)


def test_edit_of_an_amount_calls_only_rules_about_amounts() -> None:
    proposal = change(forest("eng"), queue("eng", deserved="cpu:1"))

    asked = {rule.id for rule in concerned(proposal.kinds(), proposal.occasions())}

    assert "deserved-exceeds-capability" in asked
    assert not asked & {"bad-quantity", "parent-cycle", "delete-with-children", "exemption-expired"}


def test_exemption_is_always_judged() -> None:
    noted = cluster_queue("cq")
    noted["metadata"]["annotations"] = NOTE

    found = evaluate(change(world(), noted)).findings

    assert "exemption-invalid" in {judged.rule.id for judged in found}
