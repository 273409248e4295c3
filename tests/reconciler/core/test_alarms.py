"""Alarms ring once, in their order."""

from __future__ import annotations

from reconciler.core.informer import Alarms

A, B = ("Workload", "ns/a"), ("Workload", "ns/b")


def test_due_alarms_ring_in_order_and_others_later() -> None:
    alarms = Alarms()
    for at, key in ((30, A), (10, B), (20, A)):
        alarms.set(at, key)
    assert alarms.next == 10
    assert alarms.due(25) == [B, A]
    assert alarms.next == 30


def test_an_alarm_that_is_set_repeatedly_rings_once() -> None:
    alarms = Alarms()
    for _ in range(1000):
        alarms.set(10, A)
    assert alarms.due(10) == [A]
    assert alarms.next is None
    alarms.set(10, A)
    assert alarms.due(10) == [A]
