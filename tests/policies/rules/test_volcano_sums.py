"""children-guarantee-exceeds-parent and children-deserved-exceed-parent: tables W2 of the specification."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest

from policies.configuration.settings import Configuration
from policies.dialects.volcano import Queue
from policies.judge import evaluate
from policies.judging.rule import Proposal
from policies.model.findings import Severity
from tests.builders import COMPAT, change, forest, found, queue
from tests.profiles import each_case

ORG = forest("""
    p      deserved=cpu:10,memory:20Gi guarantee=cpu:4
      a    deserved=cpu:4,memory:8Gi   guarantee=cpu:2
      b    deserved=cpu:5              guarantee=cpu:1
""")
W2 = [  # what is applied, what strict says, what compat says; None: accepted
    (queue("c", "p", deserved="cpu:1"), None, None),
    (queue("c", "p", deserved="cpu:1001m"), "deserved", "deserved"),
    (queue("c", "p", deserved="cpu:1", guarantee="cpu:1"), None, None),
    (queue("c", "p", deserved="cpu:1,memory:1Gi", guarantee="cpu:1,memory:1Gi"), "guarantee", "guarantee"),
    (queue("c", "p", deserved="cpu:1,vendor/gpu:1"), "deserved", "deserved"),
    (queue("c", "p", deserved="cpu:1,vendor/gpu:0"), "deserved", "deserved"),
    (queue("c", "p", deserved="cpu:1,memory:0"), None, None),
    (queue("a", "p", deserved="cpu:6,memory:8Gi", guarantee="cpu:2"), "deserved", "deserved"),
    (queue("p", "root", deserved="cpu:8,memory:20Gi", guarantee="cpu:4"), "deserved", "deserved"),
    (queue("c", "root", deserved="cpu:1001m,memory:99Gi,vendor/gpu:7", guarantee="cpu:1"), None, None),
]
RULES = {"deserved": "children-deserved-exceed-parent", "guarantee": "children-guarantee-exceeds-parent"}


@each_case("profile", ["strict", "compat"])
@each_case(("manifest", "strict", "compat"), W2)
def test_w2_sums(manifest: dict[str, Any], strict: str | None, compat: str | None, profile: str) -> None:
    configuration = COMPAT if profile == "compat" else Configuration()
    expected = compat if profile == "compat" else strict

    verdict = evaluate(change(ORG, manifest, configuration=configuration))

    assert ([RULES[expected]] if expected else []) == [j.rule.id for j in verdict.of(Severity.ERROR)]


def test_message_has_both_sums_the_siblings_and_a_fix() -> None:
    (finding,) = found(RULES["deserved"], change(ORG, queue("c", "p", deserved="cpu:1001m")))

    assert finding.object.name == "p"
    assert finding.field == "spec.deserved.cpu"
    assert finding.message == "its children deserve cpu=10001m (b 5, a 4, c 1001m), but p holds 10"
    assert finding.fix == "lower c to 1 or less, which is what is left, or raise p to 10001m"
    assert [cause.object.name for cause in finding.causes] == ["b", "a", "c"]


def test_children_may_use_all_of_their_parent() -> None:
    assert found(RULES["deserved"], change(ORG, queue("c", "p", deserved="cpu:1,memory:12Gi"))) == []


def test_parent_without_an_amount_counts_as_zero() -> None:
    org = forest("eng")

    (finding,) = found(RULES["guarantee"], change(org, queue("ml", "eng", deserved="cpu:1", guarantee="cpu:1")))

    assert "holds none (spec.guarantee.resource does not name cpu, which counts as 0)" in finding.message


def test_lowering_a_child_in_a_broken_tree_is_not_refused() -> None:
    broken = forest("""
        p     deserved=cpu:4
          a   deserved=cpu:9
    """)

    better = evaluate(change(broken, queue("a", "p", deserved="cpu:8")))
    worse = evaluate(change(broken, queue("a", "p", deserved="cpu:10")))
    other = evaluate(change(broken, queue("a", "p", deserved="cpu:9", capability="cpu:20")))

    assert [(j.rule.id, j.severity, j.preexisting) for j in better.findings] == [
        ("children-deserved-exceed-parent", Severity.WARNING, True)
    ]
    assert not worse.allowed
    assert other.allowed


def test_several_changes_are_judged_together_in_any_order() -> None:
    raised = queue("p", "root", deserved="cpu:14,memory:20Gi", guarantee="cpu:4")
    child = queue("c", "p", deserved="cpu:5")

    assert evaluate(change(ORG, raised, child)).allowed
    assert evaluate(change(ORG, child, raised)).allowed
    assert not evaluate(change(ORG, child)).allowed


def test_the_time_for_many_misspelt_resources_does_not_grow_with_their_square() -> None:
    parent, child = queue("p"), queue("c", "p")
    parent["spec"]["deserved"] = {f"vendor.example/abc{i:05d}": "1" for i in range(2000)}
    child["spec"]["deserved"] = {f"vendor.example/zzzzzz{i:05d}": "1" for i in range(2000)}
    started = process_time()

    assert len(found(RULES["deserved"], change(forest("eng"), parent, child))) == 2000

    assert process_time() - started < 5  # all pairs took 20 seconds


def test_the_time_for_many_parents_does_not_grow_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [queue(f"p{i}", deserved="cpu:1") for i in range(50)]
    trees += [queue(f"c{i}", f"p{i}", deserved="cpu:2") for i in range(50)]
    proposal, looked_at = change(forest("eng"), *trees), 0
    changed = Proposal.changed

    def counted(self: Proposal, kind: type[Queue]) -> Iterator[tuple[Queue | None, Queue]]:
        nonlocal looked_at
        for pair in changed(self, kind):
            looked_at += 1
            yield pair

    monkeypatch.setattr(Proposal, "changed", counted)

    assert len(found(RULES["deserved"], proposal)) == 50
    assert looked_at <= 5 * len(trees)
