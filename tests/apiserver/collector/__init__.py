"""A real OpenTelemetry Collector for the tests of traces."""
