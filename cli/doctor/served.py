"""The certificate that a process serves, and whether clients that trust a caBundle accept it."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from certs.pki import BadCertificate, canonical, inspect, signed_by, split
from certs.presented import TlsServer, client_context, handshake, presented
from policies.dialects.reading import Manifest, mapping

_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class Served:
    """A served certificate.

    `source`: the server or Secret that it was read from, for messages.
    `certificate`: PEM.
    `distrust`: takes a client's authorities (PEM) and the host name, and returns why the client refuses the
    certificate; empty if it does not.
    """

    source: str
    certificate: bytes
    distrust: Callable[[bytes, str], str] = field(repr=False)


def from_server(server: TlsServer) -> Served:
    """The certificate that a server presents. Raises OSError if nothing serves TLS there."""
    return Served(str(server), presented(server, _TIMEOUT), lambda ca, name: _refusal(server, ca, name))


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


def _refusal(server: TlsServer, authorities: bytes, name: str) -> str:
    context = client_context()
    try:
        context.load_verify_locations(cadata=authorities.decode())
        handshake(server, context, name, _TIMEOUT)
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
