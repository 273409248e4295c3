"""Decides from OpenTelemetry's environment variables whether traces are exported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec

from cluster.tracing.span import SpanRecorder

EXPORTER, DISABLED = "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED"
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_LIBRARY = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
CURE = "run pip install '.[otel]' in a checkout"


class TracingMisconfigured(Exception):
    """Tracing is on, but traces cannot be exported. The message names the variable and the fix."""


def tracing(service: str, environment: Mapping[str, str] = os.environ) -> Callable[[], SpanRecorder] | None:
    """A function that opens the exporter for this service; None if tracing is off.

    Call the function in the process that records spans. OpenTelemetry is imported only then. Raises
    TracingMisconfigured.
    """
    wanted = environment.get(EXPORTER, "").strip().lower()
    if wanted in ("", "none") or environment.get(DISABLED, "").strip().lower() == "true":
        return None
    if wanted != "otlp":
        raise TracingMisconfigured(f"{EXPORTER} is {wanted!r}; set it to otlp, or to none")
    name = next((each for each in PROTOCOLS if environment.get(each)), "")
    if name and environment[name] != _PROTOCOL:
        raise TracingMisconfigured(f"{name} is {environment[name]!r}; set it to {_PROTOCOL}, and use the port for that")
    if not _installed():
        raise TracingMisconfigured(f"{EXPORTER} is otlp, and OpenTelemetry is not installed; {CURE}")
    return partial(_open, service)


def _installed() -> bool:
    try:
        return find_spec(_LIBRARY) is not None
    except ModuleNotFoundError:
        return False


def _open(service: str) -> SpanRecorder:
    from cluster.tracing.otel import OtelRecorder  # here, since it takes long to load, and may not be installed

    return OtelRecorder(service)
