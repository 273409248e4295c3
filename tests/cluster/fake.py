"""An API server on loopback that fails in every way on request; the test writes its script."""

import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cluster.client import ClusterClient
from cluster.endpoint import Endpoint
from cluster.resource import Resource
from cluster.wire import Timeouts
from tests.waiting import SECONDS

WIDGETS = Resource("example.dev", "v1", "widgets", namespaced=True)
PATIENCE = SECONDS  # seconds that a test waits for what must happen; never for what must not

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def is_watch(self) -> bool:
        return "watch" in self.query

    @property
    def checks_version(self) -> bool:
        """Whether it reads only the version of a list."""
        return self.query.get("limit") == "1"


Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One connection; the replies below use it to answer, or to misbehave."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement
    server: "FakeApi"

    def setup(self) -> None:
        if self.server.tls:  # here and not on accept: a handshake that fails ends this thread only
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        self.server.connections.append(self.request)
        super().setup()

    def finish(self) -> None:
        super().finish()
        if self.server.tls:
            self.request.close()  # the server knows only the plain socket underneath

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the test's output is not for access logs."""

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the client hung up, as some tests want it to

    def answer(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        seen = Seen(self.command, url.path, dict(parse_qsl(url.query)), dict(self.headers), json.loads(body or b"null"))
        self.server.reply_to(seen)(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # every method is answered alike
            return self.answer
        raise AttributeError(name)

    def send_json(self, status: int, answer: object, headers: dict[str, str] | None = None) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_chunks(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def hold(self) -> None:
        """Say nothing more until the server is closed: a half-open connection, seen from the client."""
        self.close_connection = True
        self.server.released.wait(PATIENCE)

    def cut(self) -> None:
        """Close the connection in the middle of the answer; what was sent arrives."""
        self.close_connection = True

    def reset(self) -> None:
        """Drop the connection with RST; what was sent may be lost."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


class FakeApi(ThreadingHTTPServer):
    """Answers lists and watches from two scripts, in order, and then as an empty, quiet cluster would."""

    daemon_threads = False
    request_queue_size = 32

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "https" if tls else "http"
        self.tls = tls
        self.lists: deque[Reply] = deque()
        self.watches: deque[Reply] = deque()
        self.others: deque[Reply] = deque()
        self.newest = 10**9
        """The version of its storage."""
        self.seen: list[Seen] = []
        self.connections: list[socket.socket] = []
        self.released = threading.Event()
        self._arrived = threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Quiet: clients that hang up or refuse our certificate are what the tests are about."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def cluster(self, **options: Any) -> ClusterClient:
        options.setdefault("timeouts", Timeouts(connect=PATIENCE, read=PATIENCE, watch_grace=PATIENCE))
        return ClusterClient(Endpoint(self.url), **options)

    def reply_to(self, seen: Seen) -> Reply:
        with self._arrived:
            self.seen.append(seen)
            self._arrived.notify_all()
        if seen.method != "GET" or not seen.path.endswith("/widgets"):
            return self.others.popleft() if self.others else status(404, "NotFound")
        if seen.checks_version:
            return page(version=self.newest)
        if seen.is_watch:
            return self.watches.popleft() if self.watches else events(then=Handler.hold)
        return self.lists.popleft() if self.lists else page()

    def wait_for(self, condition: Callable[[list[Seen]], bool]) -> list[Seen]:
        """The requests so far, once they are what the test waits for."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: condition(self.seen), PATIENCE), f"not seen; only {self.seen}"
            return list(self.seen)

    def close(self) -> None:
        self.released.set()
        self.shutdown()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed already
        self.server_close()
        self._thread.join()


def widget(name: str, version: int, **spec: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(version)}
    return {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def page(*items: Manifest, version: int = 1, proceed: str = "", left: int = 0) -> Reply:
    """One page of a list; `proceed` is the continue token, `left` the number of objects on later pages."""
    metadata: Manifest = {"resourceVersion": str(version), **({"continue": proceed} if proceed else {})}
    metadata |= {"remainingItemCount": left} if left else {}
    answer = {"apiVersion": "example.dev/v1", "kind": "WidgetList", "metadata": metadata, "items": list(items)}
    return lambda handler: handler.send_json(200, answer)


def status(
    code: int, reason: str, retry_after: int | None = None, message: str = "says the fake", cause: str = ""
) -> Reply:
    answer: Manifest = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
    if cause:
        answer["details"] = {"causes": [{"reason": cause, "message": message}]}
    headers = {"Retry-After": str(retry_after)} if retry_after else {}
    return lambda handler: handler.send_json(code, answer, headers)


def line(kind: str, manifest: Manifest) -> bytes:
    return json.dumps({"type": kind, "object": manifest}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"kind": "Widget", "metadata": {"resourceVersion": str(version)}})


def expired() -> bytes:
    return line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})


def end(handler: Handler) -> None:
    """Finish the stream as a server does whose time is up."""
    handler.wfile.write(b"0\r\n\r\n")


def events(*lines: bytes, then: Reply = end) -> Reply:
    """A watch that sends these lines, then ends, holds or breaks."""

    def reply(handler: Handler) -> None:
        handler.begin_chunks()
        for data in lines:
            handler.send_chunk(data)
        then(handler)

    return reply
