"""Reads the certificate that a server presents to its clients."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from cluster.endpoint import in_pod
from policies.dialects.addresses import may_be_metadata
from policies.dialects.reading import mapping, text

_HTTPS = 443


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A TLS server: the address to connect to, and the name that its certificate must have."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def at_url(url: str, name: str | None = None) -> TlsServer | None:
    """The server of a URL; None if the URL is not valid or not https. `name`: the name in its certificate, by default
    the host."""
    parts = _parts(url)
    if parts is None or parts.scheme != "https" or not parts.hostname:
        return None
    return TlsServer(parts.hostname, parts.port or _HTTPS, name or parts.hostname)


def reached(configuration: Mapping[str, object], forwarded: str | None = None) -> TlsServer | None:
    """The server that a clientConfig names; None for a Service that only Pods can reach.

    `forwarded`: HOST:PORT at which this machine reaches it instead.
    """
    url, name = text(configuration.get("url")), server_name(configuration)
    if forwarded:
        address, _, number = forwarded.rpartition(":")
        return TlsServer(address.strip("[]"), int(number), name)
    if url:
        return at_url(url)
    port = mapping(configuration.get("service")).get("port") or _HTTPS
    return TlsServer(name, int(port), name) if in_pod() else None


def server_name(configuration: Mapping[str, object]) -> str:
    """The name that the API server expects in the certificate of this clientConfig."""
    service = mapping(configuration.get("service"))
    if service:
        return f"{service.get('name')}.{service.get('namespace')}.svc"
    parts = _parts(text(configuration.get("url")) or "")
    return parts.hostname or "" if parts is not None else ""


def _parts(url: str) -> SplitResult | None:
    """The parts of a URL. The API server stores a webhook whose URL has a port like 99999; then this is None."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def client_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)  # stricter than Go's, which the API server has
    return context


def presented(server: TlsServer, seconds: float) -> bytes:
    """The certificate of a server in PEM, whether it is trusted or not. Raises OSError if nothing serves TLS there."""
    context = client_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return ssl.DER_cert_to_PEM_cert(handshake(server, context, server.name, seconds)).encode()


def handshake(server: TlsServer, context: ssl.SSLContext, name: str, seconds: float) -> bytes:
    """The certificate of a server in DER. Raises OSError, also if `context` does not trust it."""
    with socket.create_connection((server.host, server.port), seconds) as plain:
        if may_be_metadata(str(plain.getpeername()[0])):
            raise OSError(f"{server} resolves to a link-local address or one of a cloud's metadata service")
        with context.wrap_socket(plain, server_hostname=name or server.host) as secured:
            return secured.getpeercert(binary_form=True) or b""
