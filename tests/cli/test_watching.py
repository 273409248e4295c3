"""How often --watch looks, without a clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli import watching


class Clock:
    """Time passes by resting, and while it looks."""

    def __init__(self, looks: list[int], each: float) -> None:
        self.now, self.rests = 0.0, list[float]()
        self._looks: Iterator[int] = iter(looks)
        self._each = each

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds

    def look(self) -> int:
        self.now += self._each
        return next(self._looks)


def rests(monkeypatch: pytest.MonkeyPatch, looks: list[int], each: float, least: float = 0.0) -> list[float]:
    clock = Clock(looks, each)
    monkeypatch.setattr(watching, "time", clock)
    watching._wait(0, clock.look, least)
    assert next(clock._looks, None) is None
    return clock.rests


def test_after_each_look_it_rests_half_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests(monkeypatch, [0, 0, 0, 1, 1], 0.001) == [0.0, *[0.5] * 5]


def test_it_rests_longer_where_a_look_or_the_run_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests(monkeypatch, [0, 1, 1], 0.2, least=3.0) == pytest.approx([3.0, 4.0, 4.0, 4.0])


def test_it_waits_for_a_pause_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(rests(monkeypatch, [0, 1, 2, 3, 3], 0.0)) == 6
    assert len(rests(monkeypatch, [0, *range(1, 12)], 0.0)) == 13
