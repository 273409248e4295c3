"""The one text for a finding."""

from __future__ import annotations

from policies.dialects.volcano import queue_ref
from policies.judging.sentence import sentence, statement
from policies.judging.verdict import Judged
from policies.model.findings import Finding, Severity
from policies.rules import find


def judged(finding: Finding, *, standing: bool = False) -> Judged:
    return Judged(find("parent-cycle"), Severity.ERROR, finding, standing)


def test_the_object_comes_first_then_what_is_wrong_then_the_fix() -> None:
    finding = Finding(queue_ref("eng"), "spec.parent", "its parents form a cycle: eng -> eng.", fix="give eng another.")

    assert sentence(judged(finding)) == "Queue eng: its parents form a cycle: eng -> eng; give eng another"
    assert statement(judged(finding)) == "its parents form a cycle: eng -> eng; give eng another"


def test_without_a_fix_the_sentence_ends_with_the_message() -> None:
    assert sentence(judged(Finding(queue_ref("eng"), "spec.parent", "is odd"))) == "Queue eng: is odd"


def test_what_was_wrong_before_says_so() -> None:
    finding = Finding(queue_ref("eng"), "spec.parent", "is odd", fix="even it out")

    assert sentence(judged(finding, standing=True)) == "Queue eng: is odd (as before this change); even it out"


def test_a_text_of_many_lines_becomes_one_line() -> None:
    assert "\n" not in sentence(judged(Finding(queue_ref("eng"), "spec", "one\n  two", fix="three\nfour")))
