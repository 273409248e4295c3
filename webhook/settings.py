"""The settings of the webhook process."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from policies.configuration.settings import Configuration

TLS_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """The settings. The options of `quotree serve webhook` only accept valid values."""

    configuration: Configuration = field(default_factory=Configuration)
    """The profile, the actions of rules, and the switches of each project."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` or `[::]` in a pod."""

    port: int = 9443
    """Port of the webhook; 0 picks a free one."""

    metrics_host: str = "127.0.0.1"

    metrics_port: int = 8080
    """Port of the metrics and probes; 0 picks a free one. Plain HTTP, or TLS if clients must send a token."""

    certificate: Path = Path("tls.crt")
    """File with the serving certificate and its chain, PEM; reloaded when it changes."""

    key: Path = Path("tls.key")
    """File with the private key of the certificate, PEM; reloaded when it changes."""

    tls_minimum: str = "1.3"
    """Lowest TLS version: 1.3 or 1.2."""

    client_ca: Path | None = None
    """File with the authorities of client certificates, PEM; reloaded when it changes.

    Clients without such a certificate are refused; see `converts_for_all`.
    """

    client_names: tuple[str, ...] = ()
    """Accepted common names or SANs of client certificates. Empty: any."""

    converts_for_all: bool = True
    """Whether clients without a certificate may request conversions."""

    threads: int = 8
    """The number of worker threads, which is how many requests are judged at the same time."""

    body_limit: int = 8 * 1024 * 1024
    """Longest request body, in bytes.

    The API server accepts objects of 3 MiB, and an AdmissionReview contains the old and the new object.
    """

    conversion_limit: int = 16 * 1024 * 1024
    """Longest body of a conversion, in bytes: several objects may be in one request."""

    keepalive_seconds: int = 120
    """How long an idle connection is kept. API servers close theirs after 90 s, and the client must close first."""

    connections: int = 500
    """The most connections at a time. A further one closes the least important one, usually an idle one."""

    handshake_seconds: float = 5.0

    request_seconds: float = 15.0
    """The longest time for a request to arrive, and for its response to be read, in seconds."""

    bytes_in_flight: int = 32 * 1024 * 1024
    """Total bytes of request bodies in memory; bodies up to 64 KiB do not count. Requests beyond that get a 429."""

    patience_seconds: float = 0.0
    """How long a refusal that depends on other objects waits for the cache to change before it is final, in seconds.

    Use 0 if the cache never changes.
    """

    drain_seconds: float = 5.0
    """After SIGTERM: how long new requests are still accepted while /readyz already fails, in seconds."""

    graceful_seconds: int = 20
    """After the drain: how long requests in flight may take, in seconds."""

    log_one_allowed_in: int = 100
    """One in this many requests without a finding is logged; 1 logs all."""

    address_file: Path | None = None
    """File for the addresses as JSON, written once they are served; useful if a port is 0."""
