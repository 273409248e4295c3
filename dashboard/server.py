"""gunicorn as a library: one worker process with threads, so that what is kept is kept once."""

from __future__ import annotations

import json
import logging
import os
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from prometheus_client import CollectorRegistry, ProcessCollector

from certs.tls import ReloadingContext
from cluster.health import HealthServer
from dashboard.app import create_app
from dashboard.backend import Backend
from dashboard.settings import DashboardSettings
from dashboard.worker import CONNECTIONS, BoundedWorker

log = logging.getLogger(__name__)
_MEMORY = Path("/dev/shm")  # noqa: S108  for gunicorn's heartbeat file, which would hang on a slow disk
_KEEPALIVE = 75
_GRACE = 20


def serve(settings: DashboardSettings, open_backend: Callable[[], Backend], announce: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code. Call it in the main thread.

    `open_backend` and `announce` are called in the worker process; the second gets the address. Raises BadCertificate.
    """
    master = os.getpid()
    try:
        _Master(_Application(settings, open_backend, announce)).run()
        code = 0
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    if os.getpid() != master:
        os._exit(code)  # this is the worker: only the master may return to the caller
    return code


class _Application(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
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

    def load_config(self) -> None:
        settings = self.settings
        chosen: dict[str, Any] = {
            "bind": [f"{_bracketed(settings.host)}:{settings.port}"],
            "worker_class": BoundedWorker,
            "workers": 1,
            "threads": settings.threads,
            "worker_connections": CONNECTIONS,
            "keepalive": _KEEPALIVE,
            "graceful_timeout": _GRACE,
            "control_socket_disable": True,
            "worker_tmp_dir": str(_MEMORY) if os.access(_MEMORY, os.W_OK) else None,
            "forwarded_allow_ips": "",  # the peer's address is that of the connection, whatever a header says
            "logger_class": _Log,
            "post_worker_init": self._serving,
            "worker_exit": self._ended,
        }
        if self._tls:
            chosen |= {
                "certfile": str(settings.certificate),
                "keyfile": str(settings.key),
                "ssl_context": self._context,
            }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Called in the worker."""
        return create_app(self.settings, self._open_backend())

    def _context(self, _config: object, _default: object) -> ssl.SSLContext:
        assert self._tls is not None
        return self._tls.current()

    def _serving(self, worker: Any) -> None:
        settings = self.settings
        host, port = worker.sockets[0].getsockname()[:2]
        address: dict[str, Any] = {
            "url": f"{'https' if settings.secure else 'http'}://{_bracketed(host)}:{port}",
            "pid": worker.ppid,
        }
        if settings.health_port is not None:
            self._health = health = self._probes(settings.health_host, settings.health_port)
            address["metrics"] = f"http://{_bracketed(settings.health_host)}:{health.server_port}/metrics"
        log.info("serving", extra={"fields": address})
        if settings.address_file:
            draft = settings.address_file.with_name(settings.address_file.name + ".new")
            draft.write_text(json.dumps(address))
            draft.replace(settings.address_file)
        self._announce(str(address["url"]))

    def _probes(self, host: str, port: int) -> HealthServer:
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        try:
            server = HealthServer(host.strip("[]"), port, list, self._unready, registry)
        except OSError as error:
            log.error("probes on %s:%d: %s; choose another", host, port, error)
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from error
        server.start()
        return server

    def _unready(self) -> list[str]:
        return ["stopping"] if self.draining.is_set() else []

    def _ended(self, _master: object, _worker: object) -> None:
        if self._health:
            self._health.close()


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


def _bracketed(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host
