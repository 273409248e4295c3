"""Send requests over kept-alive TLS connections and measure the time of each."""

from __future__ import annotations

import json
import socket
import ssl
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a run: of each request, sorted, and of the whole."""

    each: list[float]
    whole: float

    @property
    def per_second(self) -> float:
        return len(self.each) / self.whole

    def quantile(self, share: float) -> float:
        return self.each[min(len(self.each) - 1, int(share * len(self.each)))]

    @property
    def p50(self) -> float:
        return median(self.each)


def run(
    address: str, ca: Path, path: str, review: dict[str, Any], connections: int, requests: int, rate: float = 0.0
) -> Timing:
    """Send `requests` requests over so many connections at once, each in its own process.

    Threads would wait for one another, and this would count as the server's time. `rate`: requests a second over all
    connections; 0 sends each request as soon as the previous one is answered.
    Raises RuntimeError if an answer is not a decision.
    """
    pause = connections / rate if rate else 0.0
    data = request(path, json.dumps(review).encode())
    with ProcessPoolExecutor(connections) as pool:
        begin = time.time() + 0.3 + 0.1 * connections  # when every process is up
        works = [
            pool.submit(_work, address, str(ca), data, requests // connections, begin + i * pause / connections, pause)
            for i in range(connections)
        ]
        results = [work.result() for work in works]
    each = sorted(seconds for times, _ in results for seconds in times)
    return Timing(each, max(end for _, end in results) - begin)


def request(path: str, body: bytes) -> bytes:
    """The bytes of a request as an API server sends it."""
    head = (
        f"POST {path}?timeout=3s HTTP/1.1",
        "Host: quotree-webhook.quotree-system.svc:443",
        "User-Agent: kube-apiserver-admission",
        f"Content-Length: {len(body)}",
        "Accept: application/json, */*",
        "Content-Type: application/json",
        "Accept-Encoding: gzip",
    )
    return "\r\n".join((*head, "", "")).encode() + body


def _work(address: str, ca: str, data: bytes, count: int, begin: float, pause: float) -> tuple[list[float], float]:
    """The seconds of each request, and the time of the last answer."""
    host, port = address.removeprefix("https://").rsplit(":", 1)
    context = ssl.create_default_context(cafile=ca)
    times = []
    with (
        socket.create_connection((host, int(port)), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        time.sleep(max(0.0, begin - time.time()))
        for turn in range(count):
            if pause:
                time.sleep(max(0.0, begin + turn * pause - time.time()))
            started = time.perf_counter()
            connection.sendall(data)
            answer = _answer(connection)
            times.append(time.perf_counter() - started)
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"no decision: {answer[:200]!r}")
    return times, time.time()


def _answer(connection: ssl.SSLSocket) -> bytes:
    """The whole response, read at low cost because the client shares the machine with the server."""
    found = connection.recv(16384)
    while True:
        head, end, body = found.partition(_END_OF_HEAD)
        if end and len(body) >= int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]):
            return found
        more = connection.recv(16384)
        if not more:
            raise RuntimeError(f"the connection ended within an answer: {found[:200]!r}")
        found += more
