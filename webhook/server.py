"""gunicorn as a library: one worker process, so that a pod has one cache and one set of metrics.

The master process only supervises the worker. Threads (reflectors, metrics) start in the worker, since a fork does not
copy threads.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from certs.tls import ReloadingContext
from cluster.health import Guard, HealthServer
from cluster.store import ObjectCache
from cluster.tracing.span import SpanRecorder
from webhook.app import create_app, unready
from webhook.decision import warm_up
from webhook.desk import Desk
from webhook.ledger.ledger import Order
from webhook.logs import log_as_json
from webhook.metrics import Metrics
from webhook.settings import TLS_VERSIONS, WebhookSettings
from webhook.worker import FrontWorker

log = logging.getLogger(__name__)

_MEMORY = Path("/dev/shm")  # noqa: S108  for gunicorn's heartbeat file, which would hang on a slow disk
_BOOT_SECONDS = 60  # the master kills a worker that is silent for longer; booting waits for nothing, so it is enough


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of the process, with its actual ports."""

    webhook: str
    metrics: str
    pid: int
    """The process to send SIGTERM to."""


def serve(
    settings: WebhookSettings,
    open_cache: Callable[[], ObjectCache],
    announce: Callable[[Addresses], None] | None = None,
    metrics_guard: Callable[[], Guard] | None = None,
    open_order: Callable[[], Order | None] = lambda: None,
    open_spans: Callable[[], SpanRecorder] | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code. Call it in the main thread.

    `open_cache`, then `open_order`, `open_spans`, `announce` and `metrics_guard` are called in the worker process: once
    when it starts, and again if it was killed and replaced. Without `open_spans` nothing is traced. With a guard,
    metrics and probes are served over TLS, since tokens come along. Raises BadCertificate if the certificate cannot be
    served.
    """
    tls = _tls(settings, settings.client_ca)
    log_as_json()
    master = os.getpid()
    try:
        _Master(_Application(settings, open_cache, tls, announce, metrics_guard, open_order, open_spans)).run()
        code = 0
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    if os.getpid() != master:
        os._exit(code)  # this is the worker, which has cleaned up: only the master may return to the caller
    return code


class _Application(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's application: its settings and, in the worker, the WSGI app."""

    def __init__(
        self,
        settings: WebhookSettings,
        open_cache: Callable[[], ObjectCache],
        tls: ReloadingContext,
        announce: Callable[[Addresses], None] | None,
        metrics_guard: Callable[[], Guard] | None,
        open_order: Callable[[], Order | None],
        open_spans: Callable[[], SpanRecorder] | None,
    ) -> None:
        self.settings = settings
        self.draining = threading.Event()
        self._open_cache = open_cache
        self._open_order = open_order
        self._order: Order | None = None
        self._open_spans = open_spans
        self._spans: SpanRecorder | None = None
        self.tls = tls
        self._announce = announce
        self._metrics_guard = metrics_guard
        self._cache: ObjectCache | None = None
        self.metrics = Metrics()
        self._health: HealthServer | None = None
        super().__init__()

    def load_config(self) -> None:
        settings = self.settings
        chosen: dict[str, Any] = {
            "bind": [f"{_bracketed(settings.host)}:{settings.port}"],
            "worker_class": FrontWorker,
            "workers": 1,
            "timeout": _BOOT_SECONDS,
            # How long the master waits for the worker, which drains first.
            "graceful_timeout": settings.graceful_seconds + int(settings.drain_seconds) + 1,
            "control_socket_disable": True,
            "worker_tmp_dir": str(_MEMORY) if os.access(_MEMORY, os.W_OK) else None,
            "certfile": str(settings.certificate),  # it logs that it listens for https
            "keyfile": str(settings.key),
            "logger_class": _Log,
            "post_fork": self._forked,
            "post_worker_init": self._serving,
            "worker_exit": self._ended,
        }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Called in the worker."""
        self._cache = cache = self._open_cache()
        self._order = order = self._open_order()
        if order is not None:
            self.metrics.ledger(order.entries)
        warm_up()
        self.metrics.watch(lambda: cache, lambda: self.tls.expires().timestamp())
        shared: dict[str, Any] = {"metrics": self.metrics, "order": order}
        self._spans = self._open_spans() if self._open_spans else None
        self.desk = desk = Desk(self.settings, lambda: cache, **shared, spans=self._spans)
        return create_app(self.settings, lambda: cache, draining=self.draining, judge=desk, **shared)

    def _forked(self, _master: object, worker: Any) -> None:
        worker.cfg.set("graceful_timeout", self.settings.graceful_seconds)

    def _serving(self, worker: Any) -> None:
        settings = self.settings
        self._health = health = self._health_server()
        host, port = worker.sockets[0].getsockname()[:2]
        scheme = "https" if self._metrics_guard else "http"
        addresses = Addresses(
            webhook=f"https://{_bracketed(host)}:{port}",
            metrics=f"{scheme}://{_bracketed(settings.metrics_host)}:{health.server_port}/metrics",
            pid=worker.ppid,
        )
        log.info("serving", extra={"fields": asdict(addresses)})
        if settings.address_file:
            _write_whole(settings.address_file, json.dumps(asdict(addresses)))
        if self._announce:
            self._announce(addresses)
            sys.stdout.flush()  # somebody may wait at a pipe

    def _health_server(self) -> HealthServer:
        """Probes and metrics; if their address is not available, log that and end the process."""
        host, port = self.settings.metrics_host, self.settings.metrics_port
        cache, order, registry = self._cache, self._order, self.metrics.registry
        assert cache is not None
        ready = partial(unready, cache, self.draining, order)
        more: dict[str, Any] = {}
        if self._metrics_guard:
            more = {"tls": _tls(self.settings).current, "guard": self._metrics_guard()}
        try:
            server = HealthServer(host.strip("[]"), port, list, ready, registry, **more)
        except OSError as error:
            log.error("metrics on %s:%d: %s; choose another", host, port, error)
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from error
        server.start()
        return server

    def _ended(self, _master: object, _worker: object) -> None:
        """Runs in the worker, and in the master if the worker is gone; the master has nothing to close."""
        if self._health:
            self._health.close()
        if self._order:
            self._order.close()
        if self._spans:
            self._spans.close()
        if self._cache:
            self._cache.close()


class _Master(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    """Keeps one worker: ignores the signals that make gunicorn add or replace workers."""

    def _ignored(self) -> None:
        self.log.info("signal ignored: certificates are reloaded automatically; to scale, add pods")

    handle_hup = handle_ttin = handle_ttou = handle_usr2 = handle_winch = _ignored


class _Log(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Sends gunicorn's own log records to the root logger."""

    def setup(self, cfg: object) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def _tls(settings: WebhookSettings, client_ca: Path | None = None) -> ReloadingContext:
    lowest = TLS_VERSIONS[settings.tls_minimum]
    return ReloadingContext(settings.certificate, settings.key, minimum_version=lowest, client_ca=client_ca)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _write_whole(path: Path, text: str) -> None:
    """Write atomically: a reader sees the whole file or none."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.replace(path)
