"""The metrics of the webhook."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from prometheus_client import CollectorRegistry

from cluster.metrics import Family
from cluster.store import ManifestCache
from policies.conversion import VERSIONS
from policies.judging.verdict import Verdict

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)
"""The buckets, in seconds. A decision should fall into the first three; the API server waits 3 s."""


REQUESTS = Family(
    "quotree_admission_requests_total",
    "Admission requests answered; the result is allowed, warned, denied, patched, unavailable (the ledger could not"
    " order it), busy (too many changes around it are open), or http- and the status of an error.",
    ("endpoint", "operation", "result", "dry_run"),
)
FINDINGS = Family("quotree_findings_total", "Findings of rules, without dry runs.", ("rule", "severity"))
DURATION = Family(
    "quotree_admission_duration_seconds", "Time from the request's first line to its answer.", ("endpoint",), BUCKETS
)
CONVERTED = Family(
    "quotree_converted_objects_total", "Objects of Kueue that were requested in another version.", ("to", "result")
)
_REASONS = (
    "no-room",
    "malformed",
    "no-certificate",
    "slow-request",
    "slow-handshake",
    "bad-handshake",
    "slow-reader",
    "crowded",
)
TURNED_AWAY = Family(
    "quotree_turned_away_total",
    "Clients that were rejected; no-room is answered with 429, crowded means too many connections.",
    ("reason",),
    initial=tuple((reason,) for reason in _REASONS),
)
CACHE_AGE = Family(
    "quotree_cache_age_seconds", "Age of the oldest cache: time since its last answer from the API server."
)
CACHE_SYNCED = Family("quotree_cache_synced", "1 when every cache holds all objects of its kind.")
CERTIFICATE_EXPIRY = Family("quotree_certificate_expiry_timestamp_seconds", "When the serving certificate expires.")
LEDGER_ENTRIES = Family(
    "quotree_ledger_entries",
    "Changes of trees in the ledger: allowed, and not known to be stored. Hundreds mean that many requests fail later.",
)
_SERIES = 1024
"""The most series that are kept for quick counting. Fewer exist."""
FAMILIES = (
    REQUESTS,
    FINDINGS,
    DURATION,
    CONVERTED,
    TURNED_AWAY,
    CACHE_AGE,
    CACHE_SYNCED,
    CERTIFICATE_EXPIRY,
    LEDGER_ENTRIES,
)
"""All metrics. `WebhookMetrics` says where their values come from."""


class WebhookMetrics:
    """All metrics of one process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # Each series is looked up once, since the look-up of the library takes longer than counting.
        self._requests = lru_cache(_SERIES)(REQUESTS.counter(self.registry).labels)
        self._findings = FINDINGS.counter(self.registry)
        self._seconds = lru_cache(_SERIES)(DURATION.histogram(self.registry).labels)
        self._conversions = CONVERTED.counter(self.registry)
        self._turned_away = TURNED_AWAY.counter(self.registry)

    def answered(self, endpoint: str, operation: str, result: str, dry_run: bool, seconds: float) -> None:
        """Count an answered request. `operation`: empty if the body could not be read."""
        self._requests(endpoint, operation, result, "true" if dry_run else "false").inc()
        self._seconds(endpoint).observe(seconds)

    def converted(self, to: str, objects: int, failed: bool) -> None:
        """Count a request to convert objects. `failed`: whether one of them, and so all, could not be converted."""
        known = to if to in VERSIONS else "unknown"  # a client must not be able to create label values
        self._conversions.labels(known, "failure" if failed else "success").inc(objects)

    def turned_away(self, reason: str) -> None:
        self._turned_away.labels(reason).inc()

    def found(self, verdict: Verdict) -> None:
        for judged in verdict.findings:
            self._findings.labels(judged.rule.id, judged.severity.value).inc()

    def ledger(self, entries: Callable[[], int]) -> None:
        LEDGER_ENTRIES.gauge(self.registry).set_function(entries)

    def watch(self, world: Callable[[], ManifestCache], expiry: Callable[[], float | None] | None = None) -> None:
        """Add the state of the caches and the expiry of the serving certificate, in Unix seconds."""
        nan = float("nan")
        age, synced = CACHE_AGE.gauge(self.registry), CACHE_SYNCED.gauge(self.registry)
        age.set_function(lambda: nan if (seconds := world().age()) is None else seconds)
        synced.set_function(lambda: 0.0 if world().ready() else 1.0)
        if expiry is not None:
            ends = CERTIFICATE_EXPIRY.gauge(self.registry)
            ends.set_function(lambda: nan if (end := expiry()) is None else end)
