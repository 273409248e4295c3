"""That what happens to a Workload is in the log under its id, and that much happening makes few lines."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from reconciler.core.records import WORKLOAD
from reconciler.objects.following import workload_trace
from reconciler.objects.wanted import ObjectReference, WantedWrite, reference
from reconciler.recorder.correlator import QUIET, TRACE
from reconciler.recorder.journal import BURST, RATE, Journal
from reconciler.recorder.recorder import EventRecorder
from scheduling.objects.times import SECOND
from scheduling.objects.workload import ORIGIN, Workload
from scheduling.placement.group import ORIGIN_UID
from webhook.logs import JsonFormatter

NOW = 1_700_000_000 * SECOND
UID, HERE = "705ab4f5-6393-11e8-b7cc-42010a800002", "705ab4f5639311e8b7cc42010a800002"
ELSEWHERE = "0d6c4d3c-1111-4222-8333-444455556666"
W = Workload(namespace="team", name="job-train", uid=UID)
JOB = ObjectReference("batch/v1", "Job", "team", "train", "uid-train")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.INFO, "reconciler.recorder.journal")
    return lambda: [json.loads(JsonFormatter().format(record)) for record in caplog.records]


def test_a_workload_is_followed_by_its_uid() -> None:
    assert workload_trace(W) == HERE
    assert workload_trace(Workload(namespace="team", name="w")) == ""


def test_a_copy_is_followed_by_what_it_was_made_of() -> None:
    copy = Workload(
        namespace="team", name="w", uid=ELSEWHERE, labels={ORIGIN: "multikueue"}, annotations={ORIGIN_UID: UID}
    )

    assert workload_trace(copy) == HERE
    (about,) = filter(None, [reference(copy)])
    assert about.uid == ELSEWHERE, "its own uid is told as well"


def test_what_is_no_copy_is_not_followed_as_one() -> None:
    """An annotation alone puts nobody's lines under the id of somebody else's Workload."""
    assert workload_trace(Workload(namespace="team", name="w", uid=UID, annotations={ORIGIN_UID: ELSEWHERE})) == HERE


def test_an_id_that_a_tenant_wrote_is_never_more_than_digits() -> None:
    forged = Workload(
        namespace="team", name="w", uid=UID, labels={ORIGIN: "x"}, annotations={ORIGIN_UID: 'x"}\n{"level": "error'}
    )

    assert len(workload_trace(forged)) == 32
    assert workload_trace(forged).isalnum()


def test_an_event_of_a_job_and_its_line_have_the_id_of_its_workload(lines: Any) -> None:
    recorder = EventRecorder()
    write = WantedWrite(("Job", "team/train"), None, JOB, "Started", "Admitted by clusterQueue q")
    recorder.wanted(write, NOW, W)

    (event,) = recorder.due(NOW)
    assert event.body["metadata"]["annotations"] == {TRACE: HERE}
    (line,) = lines()
    assert line["message"] == "Admitted by clusterQueue q"
    assert (line["reason"], line["type"], line["object"], line["trace"]) == (
        "Started",
        "Normal",
        "Job team/train",
        HERE,
    )


def test_what_concerns_no_workload_has_no_id(lines: Any) -> None:
    recorder = EventRecorder()
    queue = ObjectReference("v", "ClusterQueue", "", "q", "uid-q")
    recorder.wanted(WantedWrite(("ClusterQueue", "q"), None, queue, "Stopped", "is stopped", warning=True), NOW)

    (event,) = recorder.due(NOW)
    assert "annotations" not in event.body["metadata"]
    (line,) = lines()
    assert (line["object"], line["type"], "trace" in line, line["uid"]) == ("ClusterQueue q", "Warning", False, "uid-q")


def test_a_line_does_not_move_the_cursor(lines: Any) -> None:
    Journal().note(JOB, "Odd", "a\x1b[2J\u202eb\nc", NOW)

    assert lines()[0]["message"] == r"a\x1b[2J\u202eb\nc"


def test_a_burst_is_a_sample_that_says_what_it_leaves_out(lines: Any) -> None:
    journal = Journal()
    for _ in range(2_000):
        journal.note(JOB, "Admitted", "Admitted by ClusterQueue q", NOW)
    assert len(lines()) == BURST

    journal.note(JOB, "Evicted", "for another reason", NOW)
    journal.note(JOB, "Admitted", "Admitted by ClusterQueue q", NOW + SECOND // RATE)

    *_, evicted, admitted = lines()
    assert "omitted" not in evicted
    assert admitted["omitted"] == 2_000 - BURST


def test_reasons_that_somebody_invents_share_a_rate(lines: Any) -> None:
    journal = Journal()
    for number in range(5_000):
        for _ in range(2):
            journal.note(JOB, f"Invented{number}", "x", NOW)

    assert len(lines()) < 1_000


def test_what_keeps_being_the_case_is_logged_once(lines: Any) -> None:
    recorder = EventRecorder()
    stuck = WantedWrite((WORKLOAD, "team/w"), None, JOB, "ErrWorkloadCompose", "no pods", warning=True)

    for second in range(60):
        recorder.wanted(stuck, NOW + second * SECOND)
    assert len(lines()) == 1
    recorder.wanted(stuck, NOW + 60 * SECOND + QUIET)
    assert len(lines()) == 2
