"""What is counted."""

from __future__ import annotations

from prometheus_client import generate_latest

from cluster.store import FixedCache
from policies.model.forest import Forest
from tests.builders import forest, queue
from tests.webhook.reviews import VOLCANO, answer, client, review
from webhook.metrics import Metrics


class Deaf(FixedCache):
    """Has never heard of its API server."""

    def ready(self) -> list[str]:
        return ["Queue: not listed yet"]

    def age(self) -> float | None:
        return None


def shown(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def test_each_request_is_counted_by_its_outcome() -> None:
    metrics = Metrics()
    app = client(forest("eng"), metrics=metrics)
    answer(app, VOLCANO, review(queue("a", "eng")))
    answer(app, VOLCANO, review(queue("b", "nowhere")))
    answer(app, VOLCANO, review(queue("b", "nowhere"), dryRun=True))
    app.post(VOLCANO, data=b"{", content_type="application/json")

    lines = shown(metrics).splitlines()

    count = (
        'quotree_admission_requests_total{dry_run="%s",endpoint="/v1/validate/volcano",operation="%s",result="%s"} 1.0'
    )
    assert count % ("false", "CREATE", "allowed") in lines
    assert count % ("false", "CREATE", "denied") in lines
    assert count % ("true", "CREATE", "denied") in lines
    assert count % ("false", "", "http-400") in lines
    assert 'quotree_findings_total{rule="parent-missing",severity="error"} 1.0' in lines
    assert 'quotree_admission_duration_seconds_count{endpoint="/v1/validate/volcano"} 4.0' in lines


def test_the_entries_of_the_ledger_are_shown() -> None:
    metrics = Metrics()
    metrics.ledger(lambda: 3)

    assert "quotree_ledger_entries 3.0" in shown(metrics).splitlines()


def test_reasons_to_turn_clients_away_are_shown_before_there_is_one() -> None:
    """Prometheus sees no increase in a series that begins at 50."""
    lines = shown(Metrics()).splitlines()

    for reason in ("no-room", "crowded", "slow-handshake"):
        assert f'quotree_turned_away_total{{reason="{reason}"}} 0.0' in lines


def test_probes_are_not_counted() -> None:
    metrics = Metrics()

    client(Forest(), metrics=metrics).get("/readyz")

    assert "endpoint=" not in shown(metrics)


def test_the_state_of_the_caches_and_the_certificate_is_shown() -> None:
    metrics = Metrics()
    known = FixedCache(Forest())
    metrics.watch(lambda: known, lambda: 1_800_000_000.0)

    lines = shown(metrics).splitlines()

    assert "quotree_cache_age_seconds 0.0" in lines
    assert "quotree_cache_synced 1.0" in lines
    assert "quotree_certificate_expiry_timestamp_seconds 1.8e+09" in lines


def test_what_is_not_known_is_not_a_number() -> None:
    metrics = Metrics()
    deaf = Deaf(Forest())
    metrics.watch(lambda: deaf)

    lines = shown(metrics).splitlines()

    assert "quotree_cache_age_seconds NaN" in lines
    assert "quotree_cache_synced 0.0" in lines
