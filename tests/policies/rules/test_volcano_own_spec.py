"""guarantee-exceeds-deserved, deserved-exceeds-capability and Volcano's quantities: table W1 of the specification."""

from __future__ import annotations

import pytest

from policies.configuration.settings import Configuration
from policies.judge import evaluate
from policies.model.findings import Profile, Severity
from policies.model.forest import Forest
from tests.builders import EVERYTHING, change, found, queue, world
from tests.profiles import each_case

NOBODY = Forest(frozenset(EVERYTHING))
W1 = [
    ({"guarantee": "cpu:2", "capability": "cpu:4"}, ["guarantee-exceeds-deserved"]),
    ({"guarantee": "cpu:2", "deserved": "cpu:2"}, []),
    ({"guarantee": "cpu:2", "deserved": "cpu:1"}, ["guarantee-exceeds-deserved"]),
    ({"deserved": "cpu:8", "capability": "cpu:4"}, ["deserved-exceeds-capability"]),
    ({"guarantee": "gpu:1", "deserved": "cpu:8,gpu:1", "capability": "cpu:8"}, []),
    ({"deserved": "vendor/gpu:500m"}, ["bad-quantity"]),
]


@each_case("profile", list(Profile))
@each_case(("spec", "expected"), W1)
def test_w1_own_spec(spec: dict[str, str], expected: list[str], profile: Profile) -> None:
    verdict = evaluate(change(NOBODY, queue("q", **spec), configuration=Configuration(profile=profile)))

    assert expected == [judged.rule.id for judged in verdict.of(Severity.ERROR)]


def test_all_findings_are_reported_at_once() -> None:
    proposal = change(NOBODY, queue("q", guarantee="cpu:2,memory:1Gi", deserved="cpu:1", capability="cpu:500m"))

    verdict = evaluate(proposal)

    assert [(j.rule.id, j.finding.subject) for j in verdict.findings] == [
        ("deserved-exceeds-capability", "cpu"),
        ("guarantee-exceeds-deserved", "cpu"),
        ("guarantee-exceeds-deserved", "memory"),
    ]


CROWDED = world(queue("eng", deserved="cpu:4"), queue("web", "eng", deserved="cpu:3"))


@pytest.mark.parametrize(
    ("before", "change_to", "patches"),
    [
        (NOBODY, queue("q", guarantee="cpu:2", capability="cpu:2"), 1),
        (NOBODY, queue("q", guarantee="cpu:2", capability="cpu:1"), 0),
        (NOBODY, queue("q", guarantee="cpu:2", deserved="cpu:2", capability="cpu:1"), 0),
        (CROWDED, queue("ml", "eng", guarantee="cpu:1"), 1),
        (CROWDED, queue("ml", "eng", guarantee="cpu:2"), 0),
        (CROWDED, queue("ml", "eng", guarantee="cpu:2", deserved="memory:0"), 0),
    ],
)
def test_patch_is_proposed_only_if_other_rules_accept_it(
    before: Forest, change_to: dict[str, object], patches: int
) -> None:
    findings = evaluate(change(before, change_to)).of(Severity.ERROR)

    assert sum(bool(judged.finding.patch) for judged in findings) == patches


def test_amounts_in_different_units_are_compared_exactly() -> None:
    spec = {"guarantee": "memory:1Gi", "deserved": "memory:1073741824", "capability": "memory:1048576Ki"}

    assert evaluate(change(NOBODY, queue("q", **spec))).findings == ()


@pytest.mark.parametrize("amount", ["-1", "64MiB", "1 G", "NaN", "1_000", ""])
def test_invalid_amount_is_a_bad_quantity_and_the_rest_is_judged(amount: str) -> None:
    manifest = queue("q", guarantee="cpu:2", deserved="cpu:1")
    manifest["spec"]["capability"] = {"memory": amount}

    verdict = evaluate(change(NOBODY, manifest))

    assert {j.rule.id for j in verdict.findings} == {"bad-quantity", "guarantee-exceeds-deserved"}
    (bad,) = (j.finding for j in verdict.findings if j.rule.id == "bad-quantity")
    assert bad.field == "spec.capability.memory"


def test_patch_fixes_guarantee_exceeds_deserved() -> None:
    import jsonpatch

    manifest = queue("q", guarantee="cpu:2", deserved="cpu:1")
    (finding,) = found("guarantee-exceeds-deserved", change(NOBODY, manifest))

    mended = jsonpatch.apply_patch(manifest, list(finding.patch))

    assert evaluate(change(NOBODY, mended)).findings == ()
