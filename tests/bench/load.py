"""Requests over kept-alive TLS connections, and how long each took."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of each request of a run, sorted, and of the whole run."""

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
    """`requests` in all over so many connections at once, each in a process of its own.

    Threads would wait for one another in the client and show that as the server's time. With a `rate`, in requests a
    second over all connections, each is sent in its turn; without, as soon as the one before it is answered.
    Raises RuntimeError where an answer is no decision.
    """
    pause = connections / rate if rate else 0.0
    body = json.dumps(review).encode()
    with ProcessPoolExecutor(connections) as pool:
        begin = time.time() + 0.3 + 0.1 * connections  # when every process is up
        works = [
            pool.submit(
                _work, address, str(ca), path, body, requests // connections, begin + i * pause / connections, pause
            )
            for i in range(connections)
        ]
        results = [work.result() for work in works]
    each = sorted(seconds for times, _ in results for seconds in times)
    return Timing(each, max(end for _, end in results) - begin)


def _work(
    address: str, ca: str, path: str, body: bytes, count: int, begin: float, pause: float
) -> tuple[list[float], float]:
    """The seconds of each request, and when the last was answered."""
    host, port = address.removeprefix("https://").rsplit(":", 1)
    context = ssl.create_default_context(cafile=ca)
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=30)
    connection.connect()
    time.sleep(max(0.0, begin - time.time()))
    times = []
    for turn in range(count):
        if pause:
            time.sleep(max(0.0, begin + turn * pause - time.time()))
        started = time.perf_counter()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        times.append(time.perf_counter() - started)
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {content[:200]!r}")
    connection.close()
    return times, time.time()
