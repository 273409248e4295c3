"""The certificate that the webhook serves, and whether clients that trust a caBundle accept it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from certs.pki import BadCertificate, canonical, inspect, signed_by, split
from cluster.endpoint import in_pod
from policies.dialects.reading import Manifest, mapping, text

_TIMEOUT = 5.0
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class Client:
    """How a caller reaches the webhook: the address to connect to, and the name that the certificate must have."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Served:
    """A served certificate in PEM, and its source. `distrust` says why a client that trusts these PEMs refuses it."""

    source: str
    certificate: bytes
    distrust: Callable[[bytes, str], str] = field(repr=False)


def reached(configuration: Mapping[str, object], forwarded: str | None) -> Client | None:
    """The address from a clientConfig as this machine reaches it; None for a Service that only a Pod can reach."""
    url, name = text(configuration.get("url")), server_name(configuration)
    if forwarded:
        address, _, number = forwarded.rpartition(":")
        return Client(address.strip("[]"), int(number), name)
    if url:
        return Client(name, urlsplit(url).port or _HTTPS, name)
    port = mapping(configuration.get("service")).get("port") or _HTTPS
    return Client(name, int(port), name) if in_pod() else None


def server_name(configuration: Mapping[str, object]) -> str:
    """The name that the API server expects in the certificate."""
    service = mapping(configuration.get("service"))
    if service:
        return f"{service.get('name')}.{service.get('namespace')}.svc"
    return urlsplit(text(configuration.get("url")) or "").hostname or ""


def from_server(client: Client) -> Served:
    """The certificate that a server presents. Raises OSError if nothing serves TLS there."""
    context = _context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    certificate = _handshake(client, context, client.name)
    return Served(
        str(client), ssl.DER_cert_to_PEM_cert(certificate).encode(), lambda ca, name: _refusal(client, ca, name)
    )


def from_secret(source: str, chain: Sequence[bytes]) -> Served:
    """The certificate that a replica serves once it has read the Secret."""
    return Served(source, chain[0], lambda authorities, name: _unsigned(chain, authorities, name))


def client_configurations(manifest: Manifest) -> Iterator[Mapping[str, object]]:
    """The clientConfigs of a webhook configuration or a CustomResourceDefinition."""
    for hook in manifest.get("webhooks") or ():
        yield mapping(mapping(hook).get("clientConfig"))
    conversion = mapping(mapping(manifest.get("spec")).get("conversion"))
    if conversion.get("strategy") == "Webhook":
        yield mapping(mapping(conversion.get("webhook")).get("clientConfig"))


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)  # stricter than Go's, which the API server has
    return context


def _handshake(client: Client, context: ssl.SSLContext, name: str) -> bytes:
    with (
        socket.create_connection((client.host, client.port), _TIMEOUT) as plain,
        context.wrap_socket(plain, server_hostname=name or client.host) as secured,
    ):
        return secured.getpeercert(binary_form=True) or b""


def _refusal(client: Client, authorities: bytes, name: str) -> str:
    context = _context()
    try:
        context.load_verify_locations(cadata=authorities.decode())
        _handshake(client, context, name)
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _unsigned(chain: Sequence[bytes], authorities: bytes, name: str) -> str:
    try:
        trusted = split(authorities)
        if canonical(name) not in inspect(chain[0]).names:
            return f"it is not for {name}"
        if not any(signed_by(each, authority) for each in chain for authority in trusted):
            return "none of the authorities has signed it"
    except BadCertificate as error:
        return str(error)
    return ""
