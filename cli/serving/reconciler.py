"""Runs the reconciler: its Lease, its probes, and its shutdown."""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial

from prometheus_client import CollectorRegistry, ProcessCollector

from cli.exits import Exit, Misused, OutOfReach
from cli.serving.lifetime import signalled
from cli.serving.process import ProcessSettings
from cli.serving.prometheus import PrometheusSettings
from cluster.client import ClusterClient
from cluster.errors import ClusterError
from cluster.lease import Lease, LeaseTimes
from cluster.reflector import Pacing
from cluster.tracing.switch import TracingMisconfigured, tracing
from cluster.wire import Timeouts
from policies.configuration.settings import Dialect
from reconciler.configured import ReconcilerConfiguration
from reconciler.controllers.volcano import MANAGER_LEASE
from reconciler.metrics.chosen_queues import ChosenQueues
from reconciler.metrics.custom_labels import CustomLabels
from reconciler.metrics.export import export, export_certificate
from reconciler.metrics.observer import MetricsObserver
from reconciler.metrics.registry import ChosenRegistry
from reconciler.process import Reconciler
from reconciler.shell.permit import KUEUE_LEASE, ManagePermit, NeverPermitted, NoRivalLease, RivalLease
from webhook.logs import log_as_json

log = logging.getLogger(__name__)
_LEASE_WATCH = Pacing(first=0.2, longest=3.0, watch=20)
"""How the Lease of a rival is watched: a hanging watch is noticed in half a minute, a broken one is soon retried."""
_RIVALS = {
    Dialect.KUEUE: (KUEUE_LEASE, "Kueue's manager"),
    Dialect.VOLCANO: (MANAGER_LEASE, "Volcano's controller"),
}
"""The rivals of the reconciler, by dialect: the Lease of another controller, and its name. While the rival renews the
Lease, the reconciler does not write. The first dialect that is on counts.

If both are on, Volcano's Lease only keeps the reconciler from writing Volcano's queues. YuniKorn's scheduler may run at
the same time: the Pods that it binds have passed the gate.
"""
_TURNS = 0.001
"""The interpreter's switch interval in seconds, a fifth of Python's default.

A write needs about ten switches between threads. With the default, a write took a tenth of a second while the loop
computed a thousand statuses.
"""
_POLL = 0.5
"""Seconds between two checks that the loop still runs."""


def run(configured: ReconcilerConfiguration, process: ProcessSettings, past: PrometheusSettings | None = None) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach if it cannot start.

    `past`: the Prometheus with the histories of queues.
    """
    process.check()
    try:
        open_spans = tracing("quotree-reconciler")
    except TracingMisconfigured as error:
        raise Misused(str(error)) from error
    log_as_json()
    log.info("gates and defaults are those of Kueue %s", configured.settings.configuration.kueue.version)
    for key in configured.idle:
        log.info("%s of the configuration has no effect here", key)
    if never := configured.never_started:
        log.warning(
            "the webhook suspends jobs of %s that name a queue, and integrations.frameworks leaves these kinds out, so "
            "that nobody starts them; set kueue.frameworks in Quotree's Configuration to the same kinds",
            ", ".join(never),
        )
    sys.setswitchinterval(_TURNS)
    try:
        with ExitStack() as opened:
            times, settings = configured.times, configured.settings
            manage = not settings.observes
            rival = next((_RIVALS[each] for each in _RIVALS if each in settings.dialects), None)
            permit: ManagePermit | NeverPermitted = NeverPermitted()
            writing: ClusterClient | None = None
            if manage:
                leasing = opened.enter_context(_lease_client(process, times))
                lease = process.open_lease(leasing, times)
                permit = ManagePermit(lease, _rival_lease(leasing, rival))
                writing = opened.enter_context(_write_client(process, times, lease))
            cluster = opened.enter_context(process.connect())
            labels = CustomLabels(configured.custom_labels, configured.settings.configuration.kueue.version)
            queues = ChosenQueues(configured.local_queues)
            spans = open_spans() if open_spans else None
            if spans is not None:
                opened.callback(spans.close)
            registry = ChosenRegistry(configured.metrics_off, labels, queues)
            reconciler = Reconciler(
                cluster,
                settings,
                permit,
                partial(
                    MetricsObserver,
                    leads=permit.held,
                    registry=registry,
                    labels=labels,
                    queues=queues,
                    kueue=manage,
                    gates=bool(settings.dialects - {Dialect.KUEUE}),
                    yunikorn=settings.configuration.yunikorn,
                ),
                writing,
                spans,
            )
            return _Running(reconciler, permit, registry, labels, past).until_signalled(process)
    except (ClusterError, OSError) as error:
        raise OutOfReach(f"the reconciler cannot start: {error}") from error


def _lease_client(process: ProcessSettings, times: LeaseTimes) -> ClusterClient:
    """A client for the Lease. Its timeouts leave time for another attempt before the Lease is lost.

    The API server has half of the renew deadline for a response. An attempt sends one request.
    """
    timeouts = Timeouts(connect=times.renew_deadline / 3, read=times.renew_deadline / 2, watch_grace=5.0)
    return process.connect(timeouts, attempts=1)


def _rival_lease(cluster: ClusterClient, rival: tuple[str, str] | None) -> RivalLease | NoRivalLease:
    """Watch the Lease of another controller. `rival`: its name, and the controller that renews it; None for none."""
    if rival is None:
        return NoRivalLease()
    name, who = rival
    return RivalLease(cluster, name, pacing=_LEASE_WATCH, controller=who)


def _write_client(process: ProcessSettings, times: LeaseTimes, lease: Lease) -> ClusterClient:
    """A client for writes, which time out before another replica may write. The loop retries them."""
    return process.connect(lambda: write_timeouts(times, lease.left()), attempts=1)


def write_timeouts(times: LeaseTimes, left: float) -> Timeouts:
    """The timeouts of a write that begins now. `left`: the seconds until another replica may write.

    The timeouts use all of that time except a tenth of the margin. A shorter timeout would add load to a busy API
    server, since a write that times out is sent again. If the Lease has been lost meanwhile, they are short.
    """
    margin = times.duration - times.renew_deadline
    connect = margin * 0.3
    return Timeouts(connect=connect, read=max(margin * 0.1, left - connect - margin * 0.1))


class _Running:
    def __init__(
        self,
        reconciler: Reconciler,
        permit: ManagePermit | NeverPermitted,
        registry: CollectorRegistry,
        labels: CustomLabels,
        past: PrometheusSettings | None,
    ) -> None:
        self._past = past
        self._reconciler = reconciler
        self._permit = permit
        self._ended = threading.Event()
        self.registry = registry
        ProcessCollector(registry=registry)
        export(registry, reconciler, permit.held, kueue=isinstance(permit, ManagePermit), labels=labels)

    def until_signalled(self, process: ProcessSettings) -> Exit:
        """Serve until a signal arrives or the loop fails. Raises OSError if an address is not available."""
        with ExitStack() as opened:
            settings, identity = process.api, None
            if settings:
                from cli.serving.api import CallerIdentity  # here, since most processes serve no /v1

                identity = opened.enter_context(CallerIdentity.opened(settings, process.connect))
                if identity.expires:
                    export_certificate(self.registry, identity.expires)
            server = process.open_health(identity, self.live, self.ready, self.registry, self.notes)
            opened.callback(server.close)
            stopped = opened.enter_context(signalled(self._ended))
            api = answers = None
            if settings and identity:
                from cli.serving.api import serving  # here, since most processes serve no /v1
                from cli.serving.front_proxy import PassedOn
                from reconciler.api.past_usage import PastUsage
                from reconciler.api.routes import ReconcilerApi

                past = None
                if self._past is not None:
                    past = PastUsage(opened.enter_context(self._past.connect()).get, self._past.match)
                answers = ReconcilerApi(self._reconciler.ask, identity.reviews, past)
                passed = PassedOn(identity.proxy, answers.answer_to) if identity.proxy else None
                api = opened.enter_context(serving(answers, settings, identity, passed))
            self._reconciler.start()
            process.announce(server, api)
            while self._reconciler.alive and not stopped(_POLL):
                if answers is not None:
                    answers.note_usage(time.time())
            asked = self._ended.is_set()
            log.info("stopping")
            self._reconciler.stop()
            return Exit.CLEAN if asked else Exit.UNJUDGED

    def live(self) -> list[str]:
        return [] if self._reconciler.alive else ["internal error: the loop has ended; restart the process"]

    def ready(self) -> list[str]:
        """Why the process is not ready. It is ready when it has read everything, also if it may not write: its API
        answers, and an APIService without a server would block the deletion of all namespaces."""
        return ["stopping"] if self._ended.is_set() else self._reconciler.obstacles()

    def notes(self) -> list[str]:
        absent = [f"{each}: not installed; checked again from time to time" for each in self._reconciler.absent()]
        obstacle = self._permit.obstacle() if isinstance(self._permit, ManagePermit) else ""
        return [*([obstacle] if obstacle else []), *absent, *self._reconciler.held_back()]
