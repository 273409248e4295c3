"""The short form of `make fuzz`, with the same inputs each time, and tests that it detects failures."""

from __future__ import annotations

import random
import threading

import pytest

from tests.fuzz import campaign, corpus
from tests.fuzz.campaign import GROWTH, Hang, Outcome, bounded, run
from tests.fuzz.mutations import Mutator, written
from tests.profiles import seeds

INPUTS = len(seeds(40))


def test_inputs_do_not_fail_hang_or_leak_memory() -> None:
    outcome = run("ci", range(INPUTS))

    assert (outcome.failed, outcome.failures) == (0, {})
    assert outcome.counts.total() == INPUTS
    assert outcome.grown < GROWTH
    for reached in ("webhook: 200", "webhook: 400", "conversion: 200", "kubeconfigs: WorkerLogin", "files: findings"):
        assert outcome.counts[reached], reached


def test_an_input_depends_only_on_its_seed_and_number() -> None:
    def made(number: int) -> bytes:
        chance = random.Random(f"s:{number}")
        return written(Mutator(chance, corpus.manifests()).tree(chance.choice(corpus.manifests())))

    assert [made(n) for n in range(50)] == [made(n) for n in range(50)]
    assert len({made(n) for n in range(50)}) > 40


def test_the_corpus_has_every_kind_with_a_reader() -> None:
    from policies.dialects import READERS

    kinds = {(str(each.get("apiVersion", "")).rpartition("/")[0], each.get("kind")) for each in corpus.manifests()}

    assert kinds >= {tuple(kind) for kind in READERS}


def test_a_failure_is_counted_with_the_command_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_chance: random.Random, _mutator: Mutator) -> str:
        raise KeyError("found")

    monkeypatch.setattr(campaign, "targets", lambda _: [("broken", 1, broken)])

    outcome: Outcome = run("s", range(7))

    (shown,) = outcome.failures.values()
    assert outcome.failed == 7
    assert "python -m tests.fuzz --seed s --only 0  (broken)" in shown
    assert "KeyError: 'found'" in shown


def _spin() -> None:
    while True:
        pass


def test_an_input_that_takes_too_long_raises_hang() -> None:
    with pytest.raises(Hang), bounded(0.01):
        threading.Event().wait(60)
    with pytest.raises(Hang), bounded(0.05):
        _spin()
