"""Runs the dashboard in gunicorn with one threaded worker process, so that its caches exist only once."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable
from typing import Any

from flask import Flask
from prometheus_client import CollectorRegistry, ProcessCollector

from certs.tls import ReloadingContext
from cluster.addresses import url_of, write_address
from cluster.gunicorn_server import OneWorker, run, start_health
from cluster.health import HealthServer
from dashboard.app import compile_templates, create_app
from dashboard.backend import Backend
from dashboard.settings import DashboardSettings
from dashboard.worker import CONNECTIONS, BoundedWorker

log = logging.getLogger(__name__)
_KEEPALIVE = 75
_GRACE = 20


def serve(settings: DashboardSettings, open_backend: Callable[[], Backend], announce: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code. Call it in the main thread.

    `open_backend` and `announce` are called in the worker process; `announce` receives the URL. Raises BadCertificate.
    """
    return run(_Application(settings, open_backend, announce))


class _Application(OneWorker):
    def __init__(
        self, settings: DashboardSettings, open_backend: Callable[[], Backend], announce: Callable[[str], None]
    ) -> None:
        self.settings, self.draining = settings, threading.Event()
        self._open_backend, self._announce = open_backend, announce
        self._tls = (
            ReloadingContext(settings.certificate, settings.key) if settings.certificate and settings.key else None
        )
        self._health: HealthServer | None = None
        super().__init__()

    def address(self) -> tuple[str, int]:
        return self.settings.host, self.settings.port

    def gunicorn_settings(self) -> dict[str, Any]:
        settings = self.settings
        chosen: dict[str, Any] = {
            "worker_class": BoundedWorker,
            "threads": settings.threads,
            "worker_connections": CONNECTIONS,
            "keepalive": _KEEPALIVE,
            "graceful_timeout": _GRACE,
            "forwarded_allow_ips": "",  # use the address of the connection as the peer's, and ignore headers about it
            "post_worker_init": self._serving,
            "worker_exit": self._ended,
        }
        if self._tls:
            chosen |= {
                "certfile": str(settings.certificate),
                "keyfile": str(settings.key),
                "ssl_context": self._context,
            }
        return chosen

    def load(self) -> Flask:
        """Create the app. gunicorn calls this in the worker."""
        if self.settings.sessions:
            self.settings.sessions.start()
        app = create_app(self.settings, self._open_backend(), self._tls.served if self._tls else None)
        # in a thread, so that a user who only opens one page does not wait for the compilation of all templates
        threading.Thread(target=compile_templates, args=[app], name="templates", daemon=True).start()
        return app

    def _context(self, _config: object, _default: object) -> ssl.SSLContext:
        assert self._tls is not None
        return self._tls.current()

    def _serving(self, worker: Any) -> None:
        settings = self.settings
        host, port = worker.sockets[0].getsockname()[:2]
        address: dict[str, Any] = {
            "url": url_of("https" if settings.secure else "http", host, port),
            "pid": worker.ppid,
        }
        if settings.health_port is not None:
            registry = CollectorRegistry()
            ProcessCollector(registry=registry)
            self._health = health = start_health(settings.health_host, settings.health_port, self._unready, registry)
            address["metrics"] = url_of("http", settings.health_host, health.server_port) + "/metrics"
        log.info("serving", extra={"fields": address})
        write_address(settings.address_file, address)
        self._announce(str(address["url"]))

    def _unready(self) -> list[str]:
        if self.draining.is_set():
            return ["stopping"]
        return self.settings.sessions.unready() if self.settings.sessions else []

    def _ended(self, _master: object, _worker: object) -> None:
        if self._health:
            self._health.close()
