"""The Prometheus that has the usage of queues in the last day."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from cli.exits import Misused
from cli.serving.connection import Address
from cluster.client import ClusterClient
from cluster.endpoint import Endpoint
from cluster.wire import Timeouts

_LABEL = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TIMEOUTS = Timeouts(connect=1.0, read=3.0)


@dataclass(frozen=True, slots=True)
class PrometheusSettings:
    """The address of a Prometheus.

    `token_file`: the file of the bearer token; None means no token. `match`: labels that its samples must have.
    """

    url: str
    ca: Path | None = None
    token_file: Path | None = None
    match: dict[str, str] = field(default_factory=dict)

    def connect(self) -> ClusterClient:
        """A client with short timeouts and without retries. Raises Misused."""
        return ClusterClient(self._endpoint(), timeouts=_TIMEOUTS, attempts=1)

    def _endpoint(self) -> Endpoint:
        if urlsplit(self.url).scheme == "http":
            if self.token_file is not None:
                raise Misused(f"--prometheus {self.url}: a token must not cross a network in the clear; use https")
            return Endpoint(self.url.rstrip("/"))
        token = self.token_file
        endpoint = Address(self.url, self.ca).endpoint()
        if token is None:
            return endpoint
        return replace(endpoint, authorization=lambda: f"Bearer {token.read_text().strip()}")


def labels(pairs: Iterable[str]) -> dict[str, str]:
    """The labels of LABEL=VALUE texts. Raises Misused."""
    found = {}
    for pair in pairs:
        label, equals, value = pair.partition("=")
        if not equals or not _LABEL.fullmatch(label):
            raise Misused(f"--prometheus-match takes LABEL=VALUE, not {pair!r}")
        found[label] = value
    return found
