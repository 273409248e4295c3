"""gunicorn as a library: one worker process with threads, so that a pod has one cache and one set of metrics.

The master process only supervises the worker. Threads (reflectors, metrics) start in the worker, since a fork does not
copy threads.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import ssl
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

from certs.tls import ReloadingContext
from cluster.store import ObjectCache
from webhook.app import create_app
from webhook.decision import warm_up
from webhook.ledger.ledger import Order
from webhook.logs import log_as_json
from webhook.metrics import Metrics, MetricsServer
from webhook.settings import TLS_VERSIONS, WebhookSettings

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
    open_order: Callable[[], Order | None] = lambda: None,
) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code. Call it in the main thread.

    `open_cache`, then `open_order` and `announce`, are called in the worker process: once when it starts, and again if
    it was killed and replaced. Raises BadCertificate if the certificate cannot be served.
    """
    tls = ReloadingContext(settings.certificate, settings.key, minimum_version=TLS_VERSIONS[settings.tls_minimum])
    log_as_json()
    master = os.getpid()
    try:
        _Master(_Application(settings, open_cache, tls, announce, open_order)).run()
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
        open_order: Callable[[], Order | None],
    ) -> None:
        self.settings = settings
        self.draining = threading.Event()
        self._open_cache = open_cache
        self._open_order = open_order
        self._order: Order | None = None
        self._tls = tls
        self._announce = announce
        self._cache: ObjectCache | None = None
        self._metrics = Metrics()
        self._metrics_server: MetricsServer | None = None
        super().__init__()

    def load_config(self) -> None:
        settings = self.settings
        chosen: dict[str, Any] = {
            "bind": [f"{_bracketed(settings.host)}:{settings.port}"],
            "worker_class": _Worker,
            "workers": 1,
            "threads": settings.threads,
            "keepalive": settings.keepalive_seconds,
            "timeout": _BOOT_SECONDS,
            # How long the master waits for the worker, which drains first.
            "graceful_timeout": settings.graceful_seconds + int(settings.drain_seconds) + 1,
            "control_socket_disable": True,
            "worker_tmp_dir": str(_MEMORY) if os.access(_MEMORY, os.W_OK) else None,
            "certfile": str(settings.certificate),
            "keyfile": str(settings.key),
            "ssl_context": self._context,
            "logger_class": _Log,
            "post_fork": self._forked,
            "pre_request": self._before_request,
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
            self._metrics.ledger(order.entries)
        warm_up()
        self._metrics.watch(lambda: cache, lambda: self._tls.not_after.timestamp())
        return create_app(self.settings, lambda: cache, metrics=self._metrics, draining=self.draining, order=order)

    def _context(self, config: object, default: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
        context = self._tls.hook(config, default)
        context.sslsocket_class = _stalling_for(self.settings.stall_seconds)
        return context

    def _forked(self, _master: object, worker: Any) -> None:
        worker.cfg.set("graceful_timeout", self.settings.graceful_seconds)

    def _before_request(self, _worker: object, request: Any) -> None:
        """Close the connection after a body that is rejected unread; else gunicorn would read all of it."""
        if any(name == "CONTENT-LENGTH" and int(size) > self.settings.body_limit for name, size in request.headers):
            request.force_close()

    def _serving(self, worker: Any) -> None:
        settings = self.settings
        self._metrics_server = _metrics_server(self._metrics, settings)
        host, port = worker.sockets[0].getsockname()[:2]
        addresses = Addresses(
            webhook=f"https://{_bracketed(host)}:{port}",
            metrics=f"http://{_bracketed(settings.metrics_host)}:{self._metrics_server.port}/metrics",
            pid=worker.ppid,
        )
        log.info("serving", extra={"fields": asdict(addresses)})
        if settings.address_file:
            _write_whole(settings.address_file, json.dumps(asdict(addresses)))
        if self._announce:
            self._announce(addresses)
            sys.stdout.flush()  # somebody may wait at a pipe

    def _ended(self, _master: object, _worker: object) -> None:
        """Runs in the worker, and in the master if the worker is gone; the master has nothing to close."""
        if self._metrics_server:
            self._metrics_server.close()
        if self._order:
            self._order.close()
        if self._cache:
            self._cache.close()


class _Master(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    """Keeps one worker: ignores the signals that make gunicorn add or replace workers."""

    def _ignored(self) -> None:
        self.log.info("signal ignored: certificates are reloaded automatically; to scale, add pods")

    handle_hup = handle_ttin = handle_ttou = handle_usr2 = handle_winch = _ignored


class _Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """On SIGTERM it first becomes not ready, and keeps serving until load balancers have noticed."""

    def init_signals(self) -> None:
        super().init_signals()
        signal.signal(signal.SIGALRM, self._drained)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        drain_seconds = self.app.settings.drain_seconds
        if drain_seconds and not self.app.draining.is_set():
            self.app.draining.set()
            signal.setitimer(signal.ITIMER_REAL, drain_seconds)  # a thread must not be started in a signal handler
        elif not drain_seconds:
            self._drained(sig, frame)

    def _drained(self, sig: int, frame: FrameType | None) -> None:
        self.app.draining.set()
        super().handle_exit(sig, frame)


class _Log(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Sends gunicorn's own log records to the root logger."""

    def setup(self, cfg: object) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def _stalling_for(seconds: float) -> type[ssl.SSLSocket]:
    """Sockets that time out after `seconds` of silence, or eight silent clients would block all threads."""

    class Socket(ssl.SSLSocket):
        def setblocking(self, flag: bool) -> None:
            self.settimeout(None if flag else 0.0)

        def settimeout(self, value: float | None) -> None:
            super().settimeout(seconds if value is None else value)

    return Socket


def _metrics_server(metrics: Metrics, settings: WebhookSettings) -> MetricsServer:
    """Start the metrics server; if its address is not available, log that and end the process."""
    try:
        return MetricsServer.start(metrics, settings.metrics_host.strip("[]"), settings.metrics_port)
    except OSError as error:
        log.error("metrics on %s:%d: %s; choose another", settings.metrics_host, settings.metrics_port, error)
        raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _write_whole(path: Path, text: str) -> None:
    """Write atomically: a reader sees the whole file or none."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.replace(path)
