"""Changes are recorded as Events, and many changes as few Events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cluster.actions import Create
from reconciler.objects.wanted import ObjectReference, refer
from reconciler.recorder.correlator import BURST, EVENTS, PAUSE, QUIET, RATE, EventCorrelator
from scheduling.objects.times import SECOND, rfc3339

NOW = 1_700_000_000 * SECOND
W = ObjectReference("kueue.x-k8s.io/v1beta2", "Workload", "ns", "w", "u1")


def shown(found: list[Create]) -> list[tuple[str, str, int]]:
    return [(each.body["reason"], each.body["message"], each.body["count"]) for each in found]


def test_an_event_is_in_the_namespace_of_its_object() -> None:
    events = EventCorrelator()
    events.record(W, "Admitted", "Admitted by ClusterQueue q", NOW)
    (found,) = events.due(NOW)
    assert (found.resource, found.namespace) == (EVENTS, "ns")
    assert found.name.startswith("w.")
    assert {key: value for key, value in found.body.items() if key != "metadata"} == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "namespace": "ns",
            "name": "w",
            "uid": "u1",
        },
        "reason": "Admitted",
        "message": "Admitted by ClusterQueue q",
        "type": "Normal",
        "count": 1,
        "firstTimestamp": rfc3339(NOW),
        "lastTimestamp": rfc3339(NOW),
        "source": {"component": "kueue"},
        "reportingComponent": "kueue",
    }


def test_an_event_about_a_cluster_scoped_object_is_in_default() -> None:
    events = EventCorrelator()
    events.record(ObjectReference("v", "ClusterQueue", "", "q", "u2", "41"), "Stopped", "is stopped", NOW, warning=True)
    (found,) = events.due(NOW)
    assert (found.namespace, found.body["type"]) == ("default", "Warning")
    assert found.body["involvedObject"] == {
        "apiVersion": "v",
        "kind": "ClusterQueue",
        "name": "q",
        "uid": "u2",
        "resourceVersion": "41",
    }


def test_an_event_needs_the_uid_of_its_object() -> None:
    assert refer("v1", "Pod", "ns/p", "") is None
    with pytest.raises(ValueError, match="an Event about Pod p needs the uid of that object"):
        ObjectReference("v1", "Pod", "ns", "p", "")


def test_an_object_at_another_version_is_the_same_object() -> None:
    events = EventCorrelator()
    for version in ("1", "2"):
        events.record(replace(W, version=version), "Admitted", "m", NOW)
    assert shown(events.due(NOW)) == [("Admitted", "m", 2)]


def test_control_characters_in_a_message_are_escaped() -> None:
    events = EventCorrelator()
    events.record(W, "Refused", "a\x1b[2J\u202eb\nc", NOW)

    assert shown(events.due(NOW)) == [("Refused", r"a\x1b[2J\u202eb\nc", 1)]


def test_a_repeated_event_is_counted_and_written_after_a_quiet_period() -> None:
    events = EventCorrelator()
    for second in range(100):
        events.record(W, "WaitingForQuota", "no room", NOW + second * SECOND, warning=True)
        found = events.due(NOW + second * SECOND)
        assert shown(found) == ([("WaitingForQuota", "no room", 1)] if second == 0 else [])
    (later,) = events.due(NOW + QUIET)
    assert shown([later]) == [("WaitingForQuota", "no room", 99)]
    assert later.body["firstTimestamp"] == rfc3339(NOW + SECOND)
    assert later.body["lastTimestamp"] == rfc3339(NOW + 99 * SECOND)
    assert events.due(NOW + 2 * QUIET) == []


def test_the_last_of_changing_messages_is_written_after_a_pause() -> None:
    events = EventCorrelator()
    events.record(W, "WaitingForQuota", "3 more needed", NOW)
    assert len(events.due(NOW)) == 1
    events.record(W, "WaitingForQuota", "2 more needed", NOW + SECOND)
    events.record(W, "WaitingForQuota", "1 more needed", NOW + 2 * SECOND)
    assert events.due(NOW + 3 * SECOND) == []
    assert shown(events.due(NOW + PAUSE)) == [("WaitingForQuota", "1 more needed", 2)]


def test_reasons_and_objects_have_separate_events_with_unique_names() -> None:
    events = EventCorrelator()
    other = replace(W, name="v", uid="u2")
    for about, reason in ((W, "QuotaReserved"), (W, "Admitted"), (other, "Admitted")):
        events.record(about, reason, "m", NOW)
    found = events.due(NOW)
    assert [each.body["involvedObject"]["name"] for each in found] == ["w", "w", "v"]
    assert len({each.name for each in found}) == 3


def test_many_events_at_once_are_rate_limited() -> None:
    events = EventCorrelator()
    for number in range(BURST + 3 * RATE):
        events.record(replace(W, name=f"w{number}"), "Admitted", "m", NOW)
    assert len(events.due(NOW)) == BURST
    assert events.due(NOW) == []
    assert len(events.due(NOW + SECOND)) == RATE
    assert len(events.due(NOW + 60 * SECOND)) == 2 * RATE
    assert events.dropped == 0


def test_events_above_the_limit_are_dropped_and_counted() -> None:
    events = EventCorrelator()
    for number in range(30_000):
        events.record(replace(W, name=f"w{number}"), "Admitted", "m", NOW)
    left = [each for minute in range(30) for each in events.due(NOW + minute * 60 * SECOND)]
    assert events.dropped + len(left) == 30_000
    assert left[-1].body["involvedObject"]["name"] == "w29999"


def test_the_memory_of_the_correlator_is_limited() -> None:
    events, moment = EventCorrelator(), NOW
    for number in range(12_000):
        moment += SECOND // 10
        events.record(replace(W, name=f"w{number}"), "Admitted", "m", moment)
        events.due(moment)
    sizes: list[Any] = [events._series, events._waiting]
    assert max(map(len, sizes)) <= 10_000
    assert events.dropped == 0


def test_a_long_message_is_cut_to_the_limit_of_the_api_server() -> None:
    events = EventCorrelator()
    events.record(W, "Admitted", "m" * 5000, NOW)
    (found,) = events.due(NOW)
    assert len(found.body["message"]) == 1024


def test_events_are_slowed_down_during_other_writes_and_written_afterwards() -> None:
    events = EventCorrelator()
    for number in range(300):
        events.record(replace(W, name=f"w{number}"), "Admitted", "m", NOW)

    busy = [len(events.due(NOW + tenth * SECOND // 10, calm=False)) for tenth in range(20)]
    assert sum(busy) == 7  # one in three tenths of a second, the first at once
    assert max(busy) == 1
    assert len(events.due(NOW + 2 * SECOND)) == BURST


def test_a_clock_that_is_set_back_does_not_stop_events() -> None:
    events = EventCorrelator()
    events.due(NOW)
    events.record(W, "Admitted", "Admitted by ClusterQueue q", NOW - 3600 * SECOND)

    assert len(events.due(NOW - 3600 * SECOND)) == 1
