"""Spans in the OpenTelemetry library with an exporter in memory, and collectors that hang, fail or recover."""

from __future__ import annotations

import http.server
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from cluster.tracing import otel
from cluster.tracing.otel import OtelRecorder
from cluster.tracing.span import Parent, SpanContext, TraceSpan
from tests.waiting import SECONDS, eventually

TRACE, OTHER = "705ab4f5639311e8b7cc42010a800002", "4bf92f3577b34da6a3ce929d0e0e4736"
CONTEXT = SpanContext(TRACE, "00000000000000aa")
SPAN = TraceSpan("review", CONTEXT, 1_000, 3_000, {"quotree.verdict": "denied", "quotree.rules": ["parent-missing"]})


@pytest.fixture(autouse=True)
def _own_loggers() -> Iterator[None]:
    """The library's loggers as they were, once its threads are over."""
    library = logging.getLogger("opentelemetry")
    before, propagate = library.handlers[:], library.propagate
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(("OtelBatch", "traces-end")):
            thread.join(20)
    library.handlers[:], library.propagate = before, propagate


def exported(*spans: TraceSpan) -> list[dict[str, Any]]:
    exporter = InMemorySpanExporter()
    recorder = OtelRecorder("quotree-webhook", exporter)
    for span in spans:
        recorder.record(span)
    recorder.close()
    return [json.loads(each.to_json()) for each in exporter.get_finished_spans()]


def test_a_span_keeps_its_ids_times_and_attributes() -> None:
    (found,) = exported(SPAN)

    assert (found["context"]["trace_id"], found["context"]["span_id"]) == (f"0x{TRACE}", "0x00000000000000aa")
    assert (found["parent_id"], found["name"]) == (None, "review")
    assert found["start_time"].startswith("1970-01-01T00:00:00.000001")
    assert found["end_time"].startswith("1970-01-01T00:00:00.000003")
    assert found["attributes"] == {"quotree.verdict": "denied", "quotree.rules": ["parent-missing"]}
    assert found["resource"]["attributes"]["service.name"] == "quotree-webhook"
    assert found["status"]["status_code"] == "UNSET"


def test_a_child_a_link_and_a_failure_are_kept() -> None:
    below = TraceSpan(
        "judge",
        SpanContext(TRACE, "00000000000000bb"),
        5,
        4,
        {},
        Parent(CONTEXT.span),
        [SpanContext(OTHER, "a" * 16)],
        "no",
    )

    (found,) = exported(below)

    assert found["parent_id"] == "0x00000000000000aa"
    assert found["status"] == {"status_code": "ERROR", "description": "no"}
    assert found["start_time"] == found["end_time"], "no span ends before it begins"
    assert [link["context"]["trace_id"] for link in found["links"]] == [f"0x{OTHER}"]


def test_a_span_that_serves_has_the_kind_server() -> None:
    (found,) = exported(SPAN._replace(serves=True))

    assert found["kind"] == str(SpanKind.SERVER)


def test_otel_service_name_sets_the_service_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "gate")

    assert exported(SPAN)[0]["resource"]["attributes"]["service.name"] == "gate"


def test_a_span_whose_parent_is_not_sampled_is_not_exported() -> None:
    above = "00f067aa0ba902b7"
    found = exported(SPAN._replace(parent=Parent(above, sampled=False)), SPAN._replace(parent=Parent(above, True)))

    assert [each["parent_id"] for each in found] == [f"0x{above}"]


def test_all_spans_of_a_trace_are_sampled_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    traces = [f"{number:032x}" for number in range(1, 2**64, 2**60)]
    spans = [
        TraceSpan("x", SpanContext(trace, f"{number:016x}"), 1, 2, {}, parent)
        for trace in traces
        for number, parent in ((1, None), (2, Parent("0" * 15 + "1")))
    ]

    kept = [each["context"]["trace_id"] for each in exported(*spans)]

    assert sorted(kept[::2]) == sorted(kept[1::2])
    assert 0 < len(kept) // 2 < len(traces)


def test_an_invalid_span_is_logged_once_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    found = exported(
        SPAN._replace(context=SpanContext("no trace", "x")), SPAN._replace(context=SpanContext("nor this", "x")), SPAN
    )

    assert len(found) == 1
    assert [record.message for record in caplog.records] == [
        "a span could not be recorded; the next ones are not reported"
    ]


# -- opponents: the collector hangs, is gone, comes back, or cannot keep up


def sent(recorder: OtelRecorder, count: int) -> float:
    """The longest that one span took, in seconds of this thread's processor time."""
    worst = 0.0
    for _ in range(count):
        began = time.thread_time()
        recorder.record(SPAN)
        worst = max(worst, time.thread_time() - began)
    return worst


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def await_line(caplog: pytest.LogCaptureFixture, begin: str) -> None:
    eventually(lambda: any(line.startswith(begin) for line in lines(caplog)), lambda: str(lines(caplog)))


def test_a_hanging_collector_does_not_block_the_program(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It accepts connections and never responds: spans beyond the queue are dropped, and the end waits for a moment."""
    monkeypatch.setattr(otel, "_CLOSING", 0.2)
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "32")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        recorder = OtelRecorder("quotree-webhook", OTLPSpanExporter(url, timeout=600))
        began = time.monotonic()
        sent(recorder, 2_000)
        recorder.close()
        took = time.monotonic() - began
        said = [line.partition(",")[0] for line in lines(caplog)]

    assert took < SECONDS, "neither the spans nor the end wait for the collector"
    assert said == ["there are more spans than can be exported"]


def test_a_failing_collector_and_its_recovery_are_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    server = _Refusing(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    recorder = OtelRecorder("quotree-webhook", OTLPSpanExporter(f"http://127.0.0.1:{server.server_port}/v1/traces"))
    try:
        for _ in range(3):
            recorder.record(SPAN)
            before = server.asked
            eventually(lambda before=before: server.asked > before)  # type: ignore[misc]
        await_line(caplog, "traces cannot be exported")
        server.status = 200
        recorder.record(SPAN)
        await_line(caplog, "traces are exported again")
    finally:
        recorder.close()
        server.shutdown()
        server.server_close()

    kinds = [line.partition(",")[0] for line in lines(caplog)]
    assert kinds == ["traces cannot be exported", "traces are exported again"]
    assert "403" in caplog.text or "Forbidden" in caplog.text


class _Refusing(http.server.ThreadingHTTPServer):
    """Refuses traces until its status is another one."""

    status, asked = 403, 0


class _Answers(http.server.BaseHTTPRequestHandler):
    server: _Refusing

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Silent."""
