"""Requests over kept-alive TLS connections, and how long each took."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
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


def run(address: str, ca: Path, path: str, review: dict[str, Any], connections: int, requests: int) -> Timing:
    """`requests` in all over so many connections at once. Raises RuntimeError where an answer is no decision."""
    host, port = address.removeprefix("https://").rsplit(":", 1)
    context = ssl.create_default_context(cafile=str(ca))
    body = json.dumps(review).encode()
    seconds: list[float] = []
    faults: list[str] = []

    def work(count: int) -> None:
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=30)
        mine = []
        for _ in range(count):
            started = time.perf_counter()
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            mine.append(time.perf_counter() - started)
            if answer.status != 200:
                faults.append(f"{answer.status}: {content[:200]!r}")
                break
        connection.close()
        seconds.extend(mine)

    threads = [threading.Thread(target=work, args=(requests // connections,)) for _ in range(connections)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = time.perf_counter() - started
    if faults:
        raise RuntimeError(faults[0])
    return Timing(sorted(seconds), whole)
