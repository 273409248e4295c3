"""Exports spans with OpenTelemetry. Only this module imports OpenTelemetry, and it is loaded only if tracing is on.

The library's queue is bounded, and only the library's thread waits for the collector. While the collector does not
answer, spans are dropped, and one log line reports that.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import Link, NonRecordingSpan, SpanKind, TraceFlags, set_span_in_context
from opentelemetry.trace import SpanContext as OtelContext
from opentelemetry.trace.status import Status, StatusCode

from cluster.tracing.span import Parent, SpanContext, TraceSpan

log = logging.getLogger(__name__)
_UNNAMED = "unknown_service"
"""The prefix of the library's name for a service without a name."""
_SAMPLER = "OTEL_TRACES_SAMPLER"
_CLOSING = 2.0
"""Seconds that `close` waits for the collector at most, so that the process can end."""


class OtelRecorder:
    """Exports spans as OpenTelemetry's environment variables configure it.

    `service`: the name of the service if these variables do not set one.
    """

    def __init__(self, service: str, exporter: SpanExporter | None = None) -> None:
        library_log = _LibraryLog()
        self._ids = _GivenIds()
        self._exporter = _WarningExporter(exporter or OTLPSpanExporter(), library_log)
        self._provider = TracerProvider(resource=_resource(service), id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("quotree")
        self._broken = False
        if library_log.last:
            log.warning("of the variables for traces: %s", library_log.last)

    def record(self, span: TraceSpan) -> None:
        try:
            self._record(span)
        except Exception:  # a decision must not fail because of a trace
            if not self._broken:
                self._broken = True
                log.exception("a span could not be recorded; the next ones are not reported")

    def _record(self, span: TraceSpan) -> None:
        trace = int(span.context.trace, 16)
        remote = span.parent is not None and span.parent.sampled is not None
        if not remote and not self._samples(trace, span.name):
            return
        self._ids.give(trace, int(span.context.span, 16))
        recorded = self._tracer.start_span(
            span.name,
            context=_parent_context(trace, span.parent),
            kind=SpanKind.SERVER if span.serves else SpanKind.INTERNAL,
            attributes=span.attributes,
            links=[Link(_context(each)) for each in span.links],
            start_time=span.began,
        )
        if span.failed:
            recorded.set_status(Status(StatusCode.ERROR, span.failed))
        recorded.end(end_time=max(span.began, span.ended))

    def _samples(self, trace: int, name: str) -> bool:
        """Whether a trace is sampled.

        Only the trace id decides, so that every process keeps either all spans of a trace or none.
        """
        return self._provider.sampler.should_sample(None, trace, name).decision is Decision.RECORD_AND_SAMPLE

    def close(self) -> None:
        closing = threading.Thread(target=self._provider.shutdown, name="traces-end", daemon=True)
        closing.start()
        closing.join(_CLOSING)
        if closing.is_alive():
            self._exporter.shutdown()  # ends the retries of the export that hangs


class _GivenIds(IdGenerator):
    """An id generator that returns the ids that `give` set for this thread's next span, otherwise random ids."""

    def __init__(self) -> None:
        self._next = threading.local()
        self._random = RandomIdGenerator()

    def give(self, trace: int, span: int) -> None:
        self._next.ids = (trace, span)

    def generate_trace_id(self) -> int:
        return self._taken_ids()[0] or self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        return self._taken_ids()[1] or self._random.generate_span_id()

    def _taken_ids(self) -> tuple[int, int]:
        found: tuple[int, int] = getattr(self._next, "ids", (0, 0))
        return found


class _LibraryLog(logging.Handler):
    """Keeps the library's log records out of the log, where each failed batch would add several lines.

    `last`: the last message, for the warning of `_WarningExporter`.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        self._full = False
        library = logging.getLogger("opentelemetry")
        library.handlers[:] = [self]
        library.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()
        if self.last.startswith("Queue full") and not self._full:
            self._full = True
            log.warning("there are more spans than can be exported, and some are dropped; sample with %s", _SAMPLER)


class _WarningExporter(SpanExporter):
    """Wraps an exporter. Logs once when exports begin to fail, and once when they succeed again."""

    def __init__(self, exporter: SpanExporter, library_log: _LibraryLog) -> None:
        self._exporter, self._library_log = exporter, library_log
        self._failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._library_log.last = ""
        try:
            result = self._exporter.export(spans)
        except Exception as error:  # such as for a malformed response of a proxy
            result, self._library_log.last = SpanExportResult.FAILURE, str(error)
        failed = result is not SpanExportResult.SUCCESS
        if failed != self._failing:
            self._failing = failed
            if failed:
                log.warning("traces cannot be exported, and are dropped until they can: %s", self._library_log.last)
            else:
                log.info("traces are exported again")
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _resource(service: str) -> Resource:
    found = Resource.create()
    named = not str(found.attributes.get(SERVICE_NAME, _UNNAMED)).startswith(_UNNAMED)
    return found if named else found.merge(Resource({SERVICE_NAME: service}))


def _parent_context(trace: int, parent: Parent | None) -> Context:
    if parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.DEFAULT if parent.sampled is False else TraceFlags.SAMPLED)
    context = OtelContext(trace, int(parent.span, 16), is_remote=parent.sampled is not None, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(context), Context())


def _context(context: SpanContext) -> OtelContext:
    return OtelContext(int(context.trace, 16), int(context.span, 16), is_remote=False, trace_flags=TraceFlags(1))
