"""Runs the webhook in gunicorn with one worker, and starts and ends what belongs to the worker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask

from certs.tls import ReloadingContext
from cluster.addresses import url_of, write_address
from cluster.gunicorn_server import OneWorker, run, start_health
from cluster.health import Guard, HealthServer
from cluster.store import ManifestCache
from cluster.tracing.span import SpanRecorder
from webhook.app import create_app, unready
from webhook.decision import warm_up
from webhook.ledger.keeping import MaintainedLedger
from webhook.logs import log_as_json
from webhook.metrics import WebhookMetrics
from webhook.review_handler import ReviewHandler
from webhook.settings import TLS_VERSIONS, WebhookSettings
from webhook.worker import FrontWorker

log = logging.getLogger(__name__)

_BOOT_SECONDS = 60  # the master kills a worker that is silent for longer; starting one takes less


def serve(
    settings: WebhookSettings,
    open_cache: Callable[[], ManifestCache],
    metrics_guard: Callable[[], Guard] | None = None,
    open_order: Callable[[], MaintainedLedger | None] = lambda: None,
    open_spans: Callable[[], SpanRecorder] | None = None,
    ended: Callable[[], object] = lambda: None,
) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code. Call it in the main thread.

    The callables are called in the worker process when it starts, and again in the worker that replaces a killed one:
    `open_cache`, `open_order`, `open_spans`: return the cache, the ledger and the recorder of traces; without
    `open_spans` nothing is traced.
    `metrics_guard`: returns the check for clients of the metrics. With one, metrics and probes are served over TLS,
    since clients send tokens.
    `ended`: is called before the cache is closed.

    Raises BadCertificate if the certificate cannot be used.
    """
    tls = _tls(settings, settings.client_ca)
    log_as_json()
    log.info("gates and defaults are those of Kueue %s", settings.configuration.kueue.version)
    return run(_Application(settings, open_cache, tls, metrics_guard, open_order, open_spans, ended))


class _Application(OneWorker):
    """gunicorn's application: its settings and, in the worker, the WSGI app."""

    def __init__(
        self,
        settings: WebhookSettings,
        open_cache: Callable[[], ManifestCache],
        tls: ReloadingContext,
        metrics_guard: Callable[[], Guard] | None,
        open_order: Callable[[], MaintainedLedger | None],
        open_spans: Callable[[], SpanRecorder] | None,
        ended: Callable[[], object],
    ) -> None:
        self.settings = settings
        self.draining = threading.Event()
        self._open_cache = open_cache
        self._open_order = open_order
        self._order: MaintainedLedger | None = None
        self._open_spans = open_spans
        self._spans: SpanRecorder | None = None
        self._closing = ended
        self.tls = tls
        self._metrics_guard = metrics_guard
        self._cache: ManifestCache | None = None
        self.metrics = WebhookMetrics()
        self._health: HealthServer | None = None
        super().__init__()

    def address(self) -> tuple[str, int]:
        return self.settings.host, self.settings.port

    def gunicorn_settings(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "worker_class": FrontWorker,
            "timeout": _BOOT_SECONDS,
            # How long the master waits for the worker, which drains before it ends.
            "graceful_timeout": settings.graceful_seconds + int(settings.drain_seconds) + 1,
            "certfile": str(settings.certificate),  # only so that gunicorn logs https; the loop does TLS itself
            "keyfile": str(settings.key),
            "post_fork": self._forked,
            "post_worker_init": self._serving,
            "worker_exit": self._ended,
        }

    def load(self) -> Flask:
        """Open everything and return the app. gunicorn calls this in the worker."""
        self._cache = cache = self._open_cache()
        self._order = order = self._open_order()
        if order is not None:
            self.metrics.ledger(order.entries)
        warm_up()
        self.metrics.watch(lambda: cache, lambda: self.tls.expires().timestamp())
        shared: dict[str, Any] = {"metrics": self.metrics, "order": order}
        self._spans = self._open_spans() if self._open_spans else None
        self.handler = handler = ReviewHandler(self.settings, lambda: cache, **shared, spans=self._spans)
        return create_app(self.settings, lambda: cache, draining=self.draining, judge=handler, **shared)

    def _forked(self, _master: object, worker: Any) -> None:
        worker.cfg.set("graceful_timeout", self.settings.graceful_seconds)

    def _serving(self, worker: Any) -> None:
        settings = self.settings
        self._health = health = self._health_server()
        host, port = worker.sockets[0].getsockname()[:2]
        scheme = "https" if self._metrics_guard else "http"
        addresses: dict[str, Any] = {
            "webhook": url_of("https", host, port),
            "metrics": url_of(scheme, settings.metrics_host, health.server_port) + "/metrics",
            "pid": worker.ppid,  # the process that ends on SIGTERM
        }
        log.info("serving", extra={"fields": addresses})
        write_address(settings.address_file, addresses)

    def _health_server(self) -> HealthServer:
        cache, order, settings = self._cache, self._order, self.settings
        assert cache is not None
        ready = partial(unready, cache, self.draining, order)
        more: dict[str, Any] = {}
        if self._metrics_guard:
            more = {"tls": _tls(settings).current, "guard": self._metrics_guard()}
        return start_health(settings.metrics_host, settings.metrics_port, ready, self.metrics.registry, **more)

    def _ended(self, _master: object, _worker: object) -> None:
        """Close everything. gunicorn calls this in the worker, and in the master, which has nothing open, if the worker
        was killed."""
        if self._health:
            self._health.close()
        if self._order:
            self._order.close()
        if self._spans:
            self._spans.close()
        if self._cache:
            self._closing()
            self._cache.close()


def _tls(settings: WebhookSettings, client_ca: Path | None = None) -> ReloadingContext:
    lowest = TLS_VERSIONS[settings.tls_minimum]
    return ReloadingContext(settings.certificate, settings.key, minimum_version=lowest, client_ca=client_ca)
