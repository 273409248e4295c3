"""The real server in a process of its own, on free ports of the loopback address."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from certs.files import ensure
from cluster.store import FixedCache
from cluster.tracing.switch import tracing
from policies.model.forest import Forest
from tests.builders import queue, world
from tests.waiting import SECONDS, eventually
from webhook.front.quick import SMALL
from webhook.server import serve
from webhook.settings import WebhookSettings

LONG_BODY = b" " * (SMALL + 1)
"""Behind a review: then it is answered in a thread of its own."""
PATIENCE = SECONDS
"""Seconds that a test waits for what must happen."""
HOST = "127.0.0.1"


class GatedWorld(FixedCache):
    """Is ready while the file `ready` is there; `forest` waits while there is a file `hold`, and says so by `held`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(world(queue("eng")))
        self._folder = folder

    def ready(self) -> list[str]:
        return [] if (self._folder / "ready").exists() else ["Queue: not listed yet"]

    def forest(self) -> Forest:
        while (self._folder / "hold").exists():
            (self._folder / "held").touch()
            time.sleep(0.01)
        return super().forest()


class Served:
    """A running server, seen from outside."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.process = process
        self.trust = ssl.create_default_context(cafile=str(folder / "ca.crt"))

    @property
    def addresses(self) -> dict[str, Any]:
        addresses: dict[str, Any] = json.loads((self.folder / "addresses.json").read_text())
        return addresses

    @property
    def port(self) -> int:
        port = urlsplit(self.addresses["webhook"]).port
        assert port
        return port

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(HOST, self.port, timeout=PATIENCE, context=self.trust)

    def get(self, path: str) -> tuple[int, str]:
        """Over a connection of its own."""
        connection = self.connect()
        try:
            return exchange(connection, "GET", path)
        finally:
            connection.close()

    def post(self, path: str, body: bytes) -> tuple[int, str]:
        connection = self.connect()
        try:
            return exchange(connection, "POST", path, body)
        finally:
            connection.close()

    def stop(self) -> int:
        """SIGTERM, as a kubelet sends it; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


def exchange(
    connection: http.client.HTTPSConnection, method: str, path: str, body: bytes | None = None
) -> tuple[int, str]:
    """Status and text of the answer; the connection stays open."""
    connection.request(method, path, body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    return reply.status, reply.read().decode()


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[Served]:
    """A server with these settings and its certificates in `folder`; ended with the block, one way or another."""
    process = _start(folder, settings)
    try:
        server = Served(folder, process)
        wait_for(folder / "addresses.json", server)
        yield server
    finally:
        (folder / "hold").unlink(missing_ok=True)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(folder: Path, **settings: Any) -> tuple[int, str]:
    """A server that ends by itself: its exit code and its log."""
    process = _start(folder, settings)
    try:
        return process.wait(PATIENCE), Served(folder, process).log
    finally:
        process.kill()
        process.wait()


def _start(folder: Path, settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    new_certificate(folder)
    (folder / "ready").touch()
    command = [sys.executable, "-m", "tests.webhook.serving", str(folder), json.dumps(settings)]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, stderr=log, stdout=log, start_new_session=True)


def new_certificate(folder: Path, *more_names: str) -> None:
    """Another name in it makes it another certificate."""
    ensure(folder, ["localhost", HOST, *more_names], datetime.now(UTC))


def wait_for(file: Path, server: Served) -> None:
    eventually(lambda: file.exists() or server.process.poll() is not None, lambda: f"no {file.name}: {server.log}")
    assert server.process.poll() is None, server.log


def main() -> int:
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    authority = options.pop("client_ca", None)
    settings = WebhookSettings(
        port=0,
        certificate=folder / "tls.crt",
        key=folder / "tls.key",
        address_file=folder / "addresses.json",
        **{"metrics_port": 0, "drain_seconds": 0, **options, "client_ca": Path(authority) if authority else None},
    )
    code = serve(settings, lambda: GatedWorld(folder), open_spans=tracing("quotree-webhook"))
    with (folder / "returned").open("a") as returned:
        returned.write(f"{os.getpid()}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
