"""Runs the audit: its caches, its Lease, its probes, and its shutdown."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack

from audit import metrics as declared
from audit.api import AuditApi
from audit.auditor import Auditor
from audit.metrics import AuditMetrics
from audit.publisher import Publisher
from cli.exits import Exit, OutOfReach
from cli.serving.api import CallerIdentity, serving
from cli.serving.lifetime import signalled
from cli.serving.process import ProcessSettings
from cluster.client import ClusterClient
from cluster.errors import ClusterError
from cluster.lease import Lease, LeaseTimes
from cluster.reflector import Pacing
from cluster.sources import sources
from cluster.store import Store
from cluster.wire import Timeouts
from policies.configuration.settings import Configuration
from webhook.logs import log_as_json

log = logging.getLogger(__name__)
_POLL = 0.5
"""Seconds between two checks for changes. A check is cheap."""
_REPORTS = Pacing(probe=10.0)
"""The pacing of the watches of reports: every ten seconds they check whether their API is installed."""


def run(
    configuration: Configuration,
    process: ProcessSettings,
    interval: float,
    most: int,
    baseline: frozenset[str] = frozenset(),
) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach if it cannot start.

    `interval`: the seconds between two audits. `most`: the maximum number of results in a report. `baseline`: the
    fingerprints of known findings.
    """
    process.check()
    times = LeaseTimes()
    log_as_json()
    try:
        with ExitStack() as opened:
            cluster = opened.enter_context(process.connect())
            leasing = opened.enter_context(process.connect(timeouts=_short_timeouts(times.renew_deadline)))
            # A write must time out before another replica may write.
            margin = times.duration - times.renew_deadline
            writing = opened.enter_context(process.connect(timeouts=_short_timeouts(margin), attempts=1))
            lease = process.open_lease(leasing, times)
            following = sources(configuration.yunikorn, orchestrated=configuration.kueue.orchestrated)
            store, metrics = Store(following=following), AuditMetrics()
            auditor = Auditor(store, configuration, interval, metrics, baseline)
            publisher = Publisher(cluster, writing, lease, most, metrics, pacing=_REPORTS)
            _show(metrics, store, auditor, publisher, lease)
            metrics.show(declared.ENTRIES, lambda: float(len(baseline)))
            return _Running(cluster, store, auditor, publisher, lease, metrics).until_signalled(process)
    except (ClusterError, OSError) as error:
        raise OutOfReach(f"the audit cannot start: {error}") from error


def _short_timeouts(seconds: float) -> Timeouts:
    return Timeouts(connect=seconds / 3, read=seconds / 2)


def _show(metrics: AuditMetrics, store: Store, auditor: Auditor, publisher: Publisher, lease: Lease) -> None:
    metrics.findings(lambda: auditor.last)
    metrics.show(declared.AGE, auditor.age)
    metrics.show(declared.REPORTS, publisher.count)
    metrics.show(declared.LEADER, lambda: float(lease.held()))
    metrics.show(declared.CACHE_AGE, store.age)
    metrics.show(declared.CACHE_SYNCED, lambda: 0.0 if store.ready() else 1.0)


class _Running:
    def __init__(
        self,
        cluster: ClusterClient,
        store: Store,
        auditor: Auditor,
        publisher: Publisher,
        lease: Lease,
        metrics: AuditMetrics,
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._auditor = auditor
        self._publisher = publisher
        self._lease = lease
        self._metrics = metrics
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="audit", daemon=True)

    def until_signalled(self, process: ProcessSettings) -> Exit:
        """Serve until a signal arrives or the audit's thread fails. Raises OSError if an address is not available."""
        with ExitStack() as opened:
            identity = (
                opened.enter_context(CallerIdentity.opened(process.api, process.connect)) if process.api else None
            )
            notes, registry = self._publisher.notes, self._metrics.registry
            server = process.open_health(identity, self.live, self.ready, registry, notes)
            opened.callback(server.close)
            stopped = opened.enter_context(signalled(self._ended))
            api = None
            if process.api and identity:
                answers = AuditApi(lambda: self._auditor.last, identity.reviews)
                api = opened.enter_context(serving(answers, process.api, identity))
            self._begin()
            process.announce(server, api)
            while self._thread.is_alive() and not stopped(_POLL):
                pass
            asked = self._ended.is_set()
            self._end()
            return Exit.CLEAN if asked else Exit.UNJUDGED

    def _begin(self) -> None:
        self._store.start(self._cluster)
        self._publisher.start()
        self._lease.start()
        self._thread.start()

    def _end(self) -> None:
        """End the thread before the Lease is released, since nothing may be written afterwards."""
        log.info("stopping")
        self._ended.set()
        self._thread.join(timeout=10.0)
        self._lease.stop()
        self._publisher.stop()
        self._store.close()

    def _work(self) -> None:
        while not self._ended.wait(_POLL):
            self._auditor.step()
            self._publisher.step(self._auditor.last)

    def live(self) -> list[str]:
        started = self._thread.ident is not None
        return (
            ["internal error: the audit has ended; restart the process"]
            if started and not self._thread.is_alive()
            else []
        )

    def ready(self) -> list[str]:
        """Why the audit is not ready. It is ready when it has audited everything once."""
        if self._ended.is_set():
            return ["stopping"]
        if lacking := self._store.lacking():
            return lacking
        return [] if self._auditor.last else ["nothing was audited yet"]
