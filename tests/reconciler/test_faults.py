"""One object that nobody can look at ends nothing: it rests, is told of, and the others go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.actions import Create
from reconciler import job_side, pod_side
from reconciler.faults import Faults
from reconciler.feed import Seen
from reconciler.job_side import JobSide
from reconciler.packed import Packed
from reconciler.pod_side import FOLLOWED_PODS, PodSide
from reconciler.side import Turn
from scheduling.objects.times import SECOND
from tests.reconciler.jobs.world import NOW, job
from tests.reconciler.test_pod_side import stored

LATER = NOW + 120 * SECOND


def test_what_failed_rests_the_longer_the_more_often_it_does(caplog: pytest.LogCaptureFixture) -> None:
    faults = Faults()

    def fails() -> Iterator[Turn]:
        raise KeyError("x")

    (turn,) = faults.guarded(("Job", "ns/j"), fails, None, NOW)
    assert (turn.key, turn.action, turn.reason, turn.warning) == (("Job", "ns/j"), None, "InternalError", True)
    assert "KeyError" in turn.message
    assert faults.resting(("Job", "ns/j"), NOW)
    assert not faults.resting(("Job", "ns/k"), NOW)
    assert not faults.resting(("Job", "ns/j"), LATER)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_what_goes_well_again_and_what_is_gone_has_no_rest_left() -> None:
    faults = Faults()
    key = ("Job", "ns/j")

    def fails() -> Iterator[Turn]:
        yield Turn(key, None)
        raise RecursionError

    assert [turn.reason for turn in faults.guarded(key, fails, None, NOW)] == ["InternalError"]
    faults.forget(key)
    assert not faults.resting(key, NOW)
    assert faults.guarded(key, lambda: [Turn(key, None, reason="r")], None, NOW)[0].reason == "r"


def test_a_job_that_cannot_be_looked_at_holds_no_other_up(monkeypatch: pytest.MonkeyPatch) -> None:
    side = JobSide({}.get)
    for name in ("bad", "good"):
        made = job()
        made["metadata"]["name"] = name
        side.see(Seen(("Job", f"ns/{name}"), "1", Packed.of(made)))
    real = job_side.steps

    def steps(kind: Any, manifest: Any, *others: Any) -> Any:
        if manifest["metadata"]["name"] == "bad":
            raise ValueError("of no use")
        return real(kind, manifest, *others)

    monkeypatch.setattr(job_side, "steps", steps)
    turns = {turn.about.name: turn for turn in side.due(lambda *_: False, NOW) if turn.about is not None}
    assert turns["bad"].reason == "InternalError"
    assert isinstance(turns["good"].action, Create)
    assert "bad" not in {turn.about.name for turn in side.due(lambda *_: False, NOW) if turn.about is not None}

    monkeypatch.setattr(job_side, "steps", real)
    healed = {turn.about.name: turn for turn in side.due(lambda *_: False, LATER) if turn.about is not None}
    assert isinstance(healed["bad"].action, Create)


def test_a_job_that_cannot_be_read_is_no_job(caplog: pytest.LogCaptureFixture) -> None:
    side = JobSide({}.get)
    side.see(Seen(("Job", "ns/bad"), "1", Packed(b"no zlib")))

    assert list(side.due(lambda *_: False, NOW)) == []
    assert "ns/bad" in caplog.text
    side.see(Seen(("Job", "ns/bad"), "2", None))
    assert list(side.due(lambda *_: False, NOW)) == []


def test_pods_that_cannot_be_looked_at_hold_no_others_up(monkeypatch: pytest.MonkeyPatch) -> None:
    side = PodSide({}.get)
    for name in ("bad", "good"):
        side.see(FOLLOWED_PODS.seen(stored(name)))
    real = pod_side.steps

    def steps(unit: Any, *others: Any) -> Any:
        if unit.first.name == "bad":
            raise ValueError("of no use")
        return real(unit, *others)

    monkeypatch.setattr(pod_side, "steps", steps)
    turns = list(side.due(lambda *_: False, NOW))
    assert sorted(turn.reason for turn in turns) == ["CreatedWorkload", "InternalError"]
    assert "InternalError" not in [turn.reason for turn in side.due(lambda *_: False, NOW)]

    monkeypatch.setattr(pod_side, "steps", real)
    assert [turn.reason for turn in side.due(lambda *_: False, LATER) if turn.about and turn.about.name == "bad"] == [
        "CreatedWorkload"
    ]
