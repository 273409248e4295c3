"""Exemptions and start dates: what turns an error into a warning, for how long, and what does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.configuration.settings import Configuration
from policies.judge import evaluate
from policies.judging.verdict import Judged, Verdict
from policies.model.change import Circumstances
from policies.model.exemptions import PREFIX, Exemption, parse, read
from policies.model.findings import Severity
from policies.rules import registry
from tests.builders import change, queue, typed, world
from tests.profiles import each_case

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
DEPTH = "depth-exceeded"


def too_deep(*, annotation: str | None = None, now: datetime = NOON, **keys: Any) -> Verdict:
    """A queue at depth 2 where 1 is the most."""
    manifest = queue("low", "top")
    if annotation is not None:
        manifest["metadata"]["annotations"] = {PREFIX + DEPTH: annotation}
    settings = {"apiVersion": API_VERSION, "kind": KIND, "volcano": {"maxQueueDepth": 1}, **keys}
    proposal = change(world(queue("top")), manifest, configuration=read_configuration(settings, registry()))
    return evaluate(replace(proposal, circumstances=Circumstances(now=now)))


def depth(verdict: Verdict) -> Judged:
    (judged,) = (judged for judged in verdict.findings if judged.rule.id == DEPTH)
    return judged


# -- what an annotation says -------------------------------------------------------------------------------------------


def test_an_exemption_has_a_reason_a_last_day_and_perhaps_a_reference() -> None:
    assert parse("x", " moving house ; until=2026-12-31;ref = QUOTA-17;") == Exemption(
        "x", "moving house", date(2026, 12, 31), "QUOTA-17"
    )
    assert parse("x", "why not; until=2026-12-31") == Exemption("x", "why not", date(2026, 12, 31))


@each_case(
    ("text", "flaw"),
    [
        ("", "no reason"),
        ("until=2026-12-31", "no reason"),
        ("ref=A; until=2026-12-31", "no reason"),
        ("because", "no end date"),
        ("because; until=", "is not a date"),
        ("because; until=2026-02-30", "is not a date"),
        ("because; until=20260201", "is not a date"),
        ("because; until=2026-02-01; until=2027-02-01", "given twice"),
        ("because; of this; until=2026-02-01", "a reason has no semicolon"),
        ("because; util=2026-02-01", "did you mean 'until='"),
        ("because; who=me; until=2026-02-01", "known here: until=, ref="),
        ("x" * 501 + "; until=2026-02-01", "501 characters"),
    ],
)
def test_invalid_exemption_has_a_flaw_and_does_not_apply(text: str, flaw: str) -> None:
    exemption = parse("x", text)

    assert flaw in exemption.flaw
    assert not exemption.excuses("x", NOON)


@given(st.text())
def test_any_text_is_an_exemption_or_has_a_flaw(text: str) -> None:
    exemption = parse("x", text)

    assert bool(exemption.flaw) != (exemption.until is not None and bool(exemption.reason))


def test_other_annotations_are_left_alone() -> None:
    assert read({"a": "b", PREFIX + "x": 5}) == ()


def test_end_date_is_in_utc_and_inclusive() -> None:
    exemption = parse("x", "because; until=2026-12-31")
    west = timezone(timedelta(hours=-5))

    assert exemption.excuses("x", datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC))
    assert not exemption.excuses("x", datetime(2026, 12, 31, 19, 0, tzinfo=west))


# -- what it does ------------------------------------------------------------------------------------------------------


def test_an_exemption_turns_the_error_into_a_warning_that_names_reason_and_last_day() -> None:
    verdict = too_deep(annotation="moving house; until=2026-12-31", exemptions={"waivable": [DEPTH]})

    assert verdict.allowed
    assert depth(verdict).severity is Severity.WARNING
    assert depth(verdict).finding.message.startswith("exempt until 2026-12-31 (moving house): is at depth 2")
    assert [judged.rule.id for judged in verdict.findings] == [DEPTH]


@pytest.mark.parametrize(
    ("annotation", "waivable", "beside"),
    [
        ("moving house; until=2026-12-31", [], "exemption-invalid"),
        ("moving house; until=2026-12-31", ["parent-cycle"], "exemption-invalid"),
        ("moving house", [DEPTH], "exemption-invalid"),
        ("moving house; until=2026-11-20", [DEPTH], "exemption-expired"),
    ],
)
def test_inapplicable_exemption_keeps_the_error(annotation: str, waivable: list[str], beside: str) -> None:
    verdict = too_deep(annotation=annotation, exemptions={"waivable": waivable})

    assert depth(verdict).severity is Severity.ERROR
    assert {judged.rule.id for judged in verdict.findings} == {DEPTH, beside}


def test_flaws_of_thousands_of_exemptions_are_truncated() -> None:
    """A suggestion for a misspelt rule takes milliseconds, and any user can annotate a job."""
    manifest = queue("low")
    manifest["metadata"]["annotations"] = {f"{PREFIX}parent-cycl{number}": "soon" for number in range(5000)}

    findings = evaluate(change(world(), manifest)).findings

    assert [judged.rule.id for judged in findings] == ["exemption-invalid"] * 20


def test_exemption_of_a_rule_that_was_not_evaluated_is_not_unused() -> None:
    manifest = queue("low", "nobody")
    manifest["metadata"]["annotations"] = {PREFIX + "parent-missing": "soon; until=2026-12-31"}
    settings = Configuration(waivable=frozenset({"parent-missing"}))
    verdict = evaluate(change(world(known=()), manifest, configuration=settings))

    assert "exemption-unused" not in {judged.rule.id for judged in verdict.findings}


def test_a_deleted_object_may_be_exempt() -> None:
    manifest = queue("top")
    manifest["metadata"]["annotations"] = {PREFIX + "delete-with-children": "all goes; until=2026-12-31"}
    proposal = change(
        world(manifest, queue("low", "top")),
        delete=[typed(manifest).ref],
        configuration=Configuration(waivable=frozenset({"delete-with-children"})),
    )

    assert evaluate(proposal).allowed


# -- a day from which a rule denies ------------------------------------------------------------------------------------

RULES = [{"rule": DEPTH, "action": "deny", "from": "2026-12-01"}]


def test_rule_with_a_start_date_warns_before_that_date() -> None:
    judged = depth(too_deep(rules=RULES, now=datetime(2026, 11, 30, 23, 59, tzinfo=UTC)))

    assert judged.severity is Severity.WARNING
    assert judged.finding.message.startswith("from 2026-12-01 on this is refused: is at depth 2")


def test_rule_with_a_start_date_denies_from_that_date() -> None:
    judged = depth(too_deep(rules=RULES, now=datetime(2026, 12, 1, tzinfo=UTC)))

    assert judged.severity is Severity.ERROR
    assert judged.finding.message.startswith("is at depth 2")


def test_start_date_begins_in_utc() -> None:
    east = timezone(timedelta(hours=9))

    assert depth(too_deep(rules=RULES, now=datetime(2026, 12, 1, 8, 59, tzinfo=east))).severity is Severity.WARNING
