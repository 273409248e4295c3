"""The pace of writes to a worker."""

from __future__ import annotations

from reconciler.multikueue.worker_session import RequestRate


def waits(rate: float, burst: int, writes: int) -> list[float]:
    """The seconds that each of some writes in a row waits for its turn."""
    now, slept = 100.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept[-1] += seconds

    pace = RequestRate(rate, burst, clock=lambda: now, sleep=sleep)
    for _ in range(writes):
        slept.append(0.0)
        pace.wait()
    return [round(each, 3) for each in slept]


def test_a_burst_is_sent_at_once_and_later_writes_wait() -> None:
    assert waits(rate=10, burst=3, writes=6) == [0, 0, 0, 0.1, 0.1, 0.1]


def test_the_default_burst_is_one_second() -> None:
    assert waits(rate=2, burst=0, writes=4) == [0, 0, 0.5, 0.5]


def test_without_a_rate_writes_do_not_wait() -> None:
    assert waits(rate=0, burst=0, writes=50) == [0] * 50
