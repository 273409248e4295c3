"""The alerts on a real Prometheus that scrapes real processes: quiet in normal running, fired by real failures.

The tests follow one another on one installation: the last one ends it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Set
from functools import partial
from pathlib import Path

import pytest

from tests.apiserver.monitoring.installation import (
    JOBS,
    WEBHOOK,
    Installation,
    expiring_webhook,
    installed,
    watched,
    webhook_target,
)
from tests.apiserver.monitoring.prometheus import LONGEST, Prometheus
from tests.apiserver.needs import debian_program
from tests.monitoring.expressions import OF_THE_PROCESS, RULES, metrics, queries
from tests.waiting import eventually

Alert = tuple[str, str]
TARGETS = 4
"""The webhook, two replicas of the reconciler, the API server."""
WORKER, PENDING = ("QuotreeWorkerLost", "warning"), ("QuotreePendingWithoutProgress", "warning")
CREDENTIALS, LEDGER = ("QuotreeWorkerCredentialsEnd", "warning"), ("QuotreeLedgerRefuses", "critical")
CERTIFICATE = {("QuotreeWebhookCertificateEnds", severity) for severity in ("warning", "critical")}
NOBODY, PAUSED = ("QuotreeNobodyWrites", "critical"), ("QuotreeReconcilerPaused", "critical")
DOWN, CLOSED = ("QuotreeWebhookDown", "critical"), ("QuotreeTreesFailClosed", "critical")
REPLICA = ("QuotreeWebhookReplicaDown", "warning")
UNJUDGED = ("QuotreeWorkNotJudged", "warning")
SELDOM = {"quotree-queues: Queues that are not active: A"}
"""Queries that say nothing while all is well."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, programs: object) -> Iterator[Installation]:
    debian_program("prometheus")  # before anything is started for it
    with installed(tmp_path_factory.mktemp("monitoring")) as found:
        yield found


@pytest.fixture(scope="module")
def prometheus(world: Installation) -> Iterator[Prometheus]:
    with watched(world) as found:
        yield found


def fired(prometheus: Prometheus, wanted: Set[Alert], besides: Set[Alert] = frozenset()) -> None:
    """All of these fire, and at that moment nothing else does, but for `besides`."""
    last: set[Alert] = set()

    def found() -> set[Alert] | None:
        last.clear()
        last.update(prometheus.firing())
        return set(last) if wanted <= last else None

    seen: set[Alert] = eventually(found, lambda: f"fires: {last}, wanted: {wanted}")
    assert seen - besides == set(wanted)


def quiet(prometheus: Prometheus) -> bool:
    return not prometheus.firing()


def test_nothing_fires_while_work_is_admitted_and_trees_are_edited(world: Installation, prometheus: Prometheus) -> None:
    eventually(lambda: len(prometheus.query("up == 1")) == TARGETS, prometheus.log)
    eventually(
        lambda: quiet(prometheus), lambda: f"fires: {prometheus.firing()}"
    )  # it began before it knew its targets
    for number in range(3):
        world.submit(f"work-{number}")
        eventually(partial(world.runs, f"work-{number}"), world.logs)
        assert world.edits(f"tree-{number}")
    time.sleep(LONGEST + 1)

    assert prometheus.query(f'count_over_time(ALERTS{{alertstate="firing"}}[{int(LONGEST)}s])') == []


def test_every_query_of_a_dashboard_and_every_alert_can_be_asked(world: Installation, prometheus: Prometheus) -> None:
    """One whose metrics are all there has something to show; others wait for other queues or for failures."""
    there = {labels["__name__"] for labels, _ in prometheus.query('count by (__name__) ({job=~".+"})')}
    empty = [where for where, query in queries() if not prometheus.query(query) and metrics(query) <= there]
    for rule in RULES:
        prometheus.query(rule["expr"])

    assert [where for where in empty if where not in SELDOM] == []
    assert len([query for _, query in queries() if metrics(query) <= there]) > 40
    assert there >= OF_THE_PROCESS


def test_a_worker_is_cut_off_the_ledger_refuses_certificates_end_and_work_waits(
    world: Installation, prometheus: Prometheus, tmp_path: Path
) -> None:
    world.log_in(hours=1)
    world.line.turn("refused")
    world.deny_ledger()
    world.submit("too-large", "5", "idle")
    assert not world.edits("refused")
    with expiring_webhook(tmp_path / "expiring") as target:
        prometheus.scrape(WEBHOOK, webhook_target(world), target)
        eventually(lambda: LEDGER in prometheus.firing(), lambda: f"fires: {prometheus.firing()}")
        wanted = {WORKER, CREDENTIALS, *CERTIFICATE, PENDING}
        fired(prometheus, wanted, besides={LEDGER})  # one refusal counts for ten minutes, which are ten seconds here
        prometheus.scrape(WEBHOOK, webhook_target(world))
    world.line.turn("open")
    world.log_in(hours=720)
    world.grant_ledger()
    world.server.request("DELETE", f"{JOBS}/too-large")
    eventually(lambda: world.edits("allowed-again"), world.logs)
    world.remove_workloads("idle")
    eventually(lambda: quiet(prometheus), lambda: f"fires: {prometheus.firing()}")


def test_the_lease_is_lost_the_webhook_is_down_and_then_the_api_server_takes_no_writes(
    world: Installation, prometheus: Prometheus
) -> None:
    world.refuse(leases=True)
    world.guard.stop()
    fired(prometheus, {NOBODY, DOWN}, besides={REPLICA})
    assert not world.edits("refused")
    world.submit("unjudged")
    fired(prometheus, {NOBODY, DOWN, CLOSED, UNJUDGED}, besides={REPLICA})
    world.guard.start()
    world.refuse(leases=False)
    world.submit("paused")
    fired(prometheus, {PAUSED}, besides={NOBODY, CLOSED, UNJUDGED, ("QuotreeWritesFail", "warning")})
    world.allow()


def test_the_reconciler_is_gone(world: Installation, prometheus: Prometheus) -> None:
    for replica in world.replicas:
        replica.end(signal.SIGKILL)
    last = {PAUSED, CLOSED, UNJUDGED, ("QuotreeReconcilerReplicaDown", "warning"), ("QuotreeWritesFail", "warning")}
    fired(prometheus, {("QuotreeReconcilerDown", "critical")}, besides=last)
