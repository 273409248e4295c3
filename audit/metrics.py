"""The metrics of the audit."""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from cluster.metrics import Family
from policies.audit.audited import Audit, AuditedFinding

FINDINGS = Family(
    "quotree_audit_findings",
    "Findings of the last audit; a rule without findings has no series.",
    ("rule", "severity", "dialect"),
)
BASELINED = Family(
    "quotree_audit_baselined_findings",
    "Findings of the last audit that are in the baseline. Other metrics and reports leave them out.",
    ("rule", "severity", "dialect"),
)
ENTRIES = Family(
    "quotree_audit_baseline_entries",
    "Entries of the baseline, 0 without one. If there are more than baselined findings, some violations were fixed.",
)
OBJECTS = Family("quotree_audit_objects", "Objects that the last audit judged.")
AGE = Family("quotree_audit_age_seconds", "Time since the last audit ended; NaN before the first.")
DURATION = Family(
    "quotree_audit_duration_seconds",
    "How long an audit took.",
    buckets=(0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
FAILURES = Family(
    "quotree_audit_failures_total",
    "Audits that failed, or in which a rule failed, with an internal error; see the log.",
)
WRITES = Family(
    "quotree_audit_report_writes_total",
    "Writes of reports, by result.",
    ("result",),
    initial=(("written",), ("deleted",), ("failed",)),
)
REPORTS = Family("quotree_audit_reports", "Quotree's reports in the cluster, of either API.")
LEADER = Family("quotree_audit_leader", "1 if this replica holds the Lease and writes the reports.")
CACHE_AGE = Family(
    "quotree_audit_cache_age_seconds",
    "Age of the oldest cache: time since its last answer from the API server; NaN if one never got an answer.",
)
CACHE_SYNCED = Family("quotree_audit_cache_synced", "1 when every cache holds all objects of its kind.")
FAMILIES = (
    FINDINGS,
    BASELINED,
    ENTRIES,
    OBJECTS,
    AGE,
    DURATION,
    FAILURES,
    WRITES,
    REPORTS,
    LEADER,
    CACHE_AGE,
    CACHE_SYNCED,
)
"""All metrics of the audit, for their documentation. `AuditMetrics` sets their values."""


class AuditMetrics:
    """The metrics of one process, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._duration = DURATION.histogram(self.registry)
        self._failures = FAILURES.counter(self.registry)
        self._writes = WRITES.counter(self.registry)

    def audited(self, seconds: float) -> None:
        self._duration.observe(seconds)

    def failed(self) -> None:
        self._failures.inc()

    def wrote(self, result: str) -> None:
        """Count a write of a report. `result`: written, deleted or failed."""
        self._writes.labels(result).inc()

    def show(self, family: Family, value: Callable[[], float | None]) -> None:
        """Add a gauge whose value is computed at each scrape; None is exported as NaN."""
        nan = float("nan")
        family.gauge(self.registry).set_function(lambda: nan if (found := value()) is None else found)

    def findings(self, last: Callable[[], Audit | None]) -> None:
        """Add the metrics about the last audit."""
        self.registry.register(_Findings(last))


class _Findings(Collector):
    """Collects the metrics about the last audit, so that all values of a scrape are from the same audit."""

    def __init__(self, last: Callable[[], Audit | None]) -> None:
        self._last = last

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield from (_counted(family, ()) for family in (FINDINGS, BASELINED))

    def collect(self) -> Iterator[GaugeMetricFamily]:
        audit = self._last()
        yield _counted(FINDINGS, audit.found if audit else ())
        yield _counted(BASELINED, audit.baselined if audit else ())
        if audit:
            yield GaugeMetricFamily(OBJECTS.name, OBJECTS.help, value=audit.objects)


def _counted(family: Family, findings: Iterable[AuditedFinding]) -> GaugeMetricFamily:
    made = GaugeMetricFamily(family.name, family.help, labels=family.labels)
    counts = Count((each.judged.rule.id, each.judged.severity.value, each.dialect.value) for each in findings)
    for labels, count in sorted(counts.items()):
        made.add_metric(labels, count)
    return made
