"""When a worker is tried again."""

from __future__ import annotations

from random import Random

from reconciler.multikueue.connections import Link, wait_after
from scheduling.objects.times import SECOND


def test_backoff_doubles_from_5_to_320_seconds() -> None:
    assert [wait_after(failures) // SECOND for failures in range(9)] == [0, 5, 10, 20, 40, 80, 160, 320, 320]


def test_a_failed_worker_is_tried_again_only_after_its_backoff() -> None:
    link = Link()
    assert link.step("a", 0) == "connect"
    assert link.failed(0) == 5 * SECOND
    assert link.step("a", 5 * SECOND - 1) == "wait"
    assert link.step("a", 5 * SECOND) == "connect"
    assert link.failures == 1


def test_another_kubeconfig_is_tried_at_once() -> None:
    link = Link()
    link.step("a", 0)
    link.failed(0)
    assert link.step("b", 1) == "connect"
    assert (link.failures, link.retry_at) == (0, 0)


def test_a_broken_connection_is_tried_at_once_and_then_with_backoff() -> None:
    link = Link()
    link.step("a", 0)
    link.made()
    assert link.step("a", 9) == "keep"
    link.lost()
    assert link.step("a", 9) == "connect"
    assert link.failed(9) == 9 + 5 * SECOND


def test_jitter_makes_waits_longer_by_a_tenth_at_most() -> None:
    link = Link(jitter=0.1, chance=Random(1))
    ends = [link.failed(0) / wait_after(link.failures) for _ in range(50)]
    assert 1.0 <= min(ends) < max(ends) <= 1.1
