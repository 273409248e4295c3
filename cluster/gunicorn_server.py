"""gunicorn as a library: a master that keeps one worker process, so that a pod has one cache and one set of metrics.

The master process only supervises the worker. Threads (reflectors, metrics) start in the worker, since a fork does not
copy threads.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from prometheus_client import CollectorRegistry

from cluster.addresses import bracketed
from cluster.health import HealthServer, Problems

log = logging.getLogger(__name__)
_MEMORY = Path("/dev/shm")  # noqa: S108  for gunicorn's heartbeat file, which would hang on a slow disk


def run(application: BaseApplication) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code. Call it in the main thread."""
    master = os.getpid()
    try:
        _Master(application).run()
        code = 0
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    if os.getpid() != master:
        os._exit(code)  # this is the worker, which has cleaned up: only the master may return to the caller
    return code


class OneWorker(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's application. A subclass adds its settings of gunicorn, and `load`, which the worker calls."""

    def gunicorn_settings(self) -> Mapping[str, Any]:
        """The settings of gunicorn in addition to those that all servers share. `__init__` calls it once."""
        raise NotImplementedError

    def address(self) -> tuple[str, int]:
        raise NotImplementedError

    def load_config(self) -> None:
        host, port = self.address()
        common: dict[str, Any] = {
            "bind": [f"{bracketed(host)}:{port}"],
            "workers": 1,
            "control_socket_disable": True,
            "worker_tmp_dir": str(_MEMORY) if os.access(_MEMORY, os.W_OK) else None,
            "logger_class": _Log,
        }
        for name, value in (common | dict(self.gunicorn_settings())).items():
            self.cfg.set(name, value)


def start_health(host: str, port: int, ready: Problems, registry: CollectorRegistry, **more: Any) -> HealthServer:
    """Serve probes and metrics in the worker. If their address is not available, log that and end the process."""
    try:
        server = HealthServer(host.strip("[]"), port, list, ready, registry, **more)
    except OSError as error:
        log.error("probes and metrics on %s:%d: %s; choose another", host, port, error)
        raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from error
    server.start()
    return server


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
