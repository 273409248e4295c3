"""TLS with certificates that may change at any time. New connections use the new one; old connections stay open."""

import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from certs.pki import BadCertificate, CertificateFacts, inspect

_RETRY_AFTER = 5.0  # seconds until unusable files are read again, even if they have not changed
# TLS 1.2 with forward secrecy and authenticated encryption only; TLS 1.3 has nothing else.
_CIPHERS_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20"

Fingerprint = tuple[tuple[int, int, int, int], ...]

log = logging.getLogger(__name__)


class ReloadingContext:
    """The SSLContext for a certificate and key file, reloaded when the files change.

    `client_ca`: a file of authorities. If it is set, the server requests a client certificate. A certificate of another
    authority ends the handshake. A client without a certificate is accepted; `getpeercert` of its socket returns None.

    If the files are missing, unreadable or do not match, it reports that (`problem`, `failures`, the log) and keeps
    serving the last good pair. Checking costs one `stat` call per file for each new connection.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        *,
        minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        client_ca: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load the pair. Raises BadCertificate if it cannot be used."""
        self.problem: str | None = None
        self.failures = 0
        self._certificate = certificate
        self._key = key
        self._minimum_version = minimum_version
        self._client_ca = client_ca
        self._clock = clock
        self._tried_at = clock()
        self._lock = threading.Lock()
        self._loaded = self._fingerprint()
        self._context, self._facts = self._load()

    @property
    def not_after(self) -> datetime:
        """When the served certificate expires (UTC)."""
        return self._facts.not_after

    def expires(self) -> datetime:
        """When the certificate of the next connection expires (UTC). Reloads the files if they have changed."""
        self.current()
        return self.not_after

    def served(self) -> CertificateFacts:
        self.current()
        return self._facts

    def current(self) -> ssl.SSLContext:
        """The context for the next connection; thread-safe."""
        found = self._fingerprint()
        if found == self._loaded and (self.problem is None or self._clock() - self._tried_at < _RETRY_AFTER):
            return self._context
        with self._lock:
            if found != self._loaded or self.problem is not None:
                self._reload(found)
            return self._context

    def _reload(self, found: Fingerprint) -> None:
        self._loaded = found
        self._tried_at = self._clock()
        try:
            self._context, self._facts = self._load()
        except BadCertificate as error:
            self.failures += 1
            self.problem = str(error)
            log.error("%s; still serving the certificate that expires at %s", self.problem, self.not_after)
            return
        self.problem = None
        log.info("%s: serving a certificate that expires at %s", self._certificate, self.not_after)

    def _load(self) -> tuple[ssl.SSLContext, CertificateFacts]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._minimum_version
        if self._minimum_version < ssl.TLSVersion.TLSv1_3:
            context.set_ciphers(_CIPHERS_1_2)
        context.set_alpn_protocols(["http/1.1"])
        try:
            # With an empty password, an encrypted key is an error. Otherwise OpenSSL would prompt on the terminal.
            context.load_cert_chain(self._certificate, self._key, password="")
            if self._client_ca:
                context.load_verify_locations(self._client_ca)
                context.verify_mode = ssl.CERT_OPTIONAL
            return context, inspect(self._certificate.read_bytes())
        except (OSError, BadCertificate) as error:  # ssl.SSLError is an OSError
            files = " and ".join(map(str, self._files()))
            raise BadCertificate(f"{files} cannot be served: {_text(error)}") from error

    def _files(self) -> list[Path]:
        return [self._certificate, self._key, *([self._client_ca] if self._client_ca else [])]

    def _fingerprint(self) -> Fingerprint:
        """A value that changes when a file is replaced, rewritten or made readable; empty if a file is missing."""
        try:
            stats = [path.stat() for path in self._files()]
        except OSError:
            return ()
        return tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for stat in stats)


def names_of(certificate: Mapping[str, Any]) -> frozenset[str]:
    """The common name and the alternative names of a certificate from `ssl.SSLSocket.getpeercert`."""
    common = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return frozenset(common | {value for _, value in certificate.get("subjectAltName", ()) if isinstance(value, str)})


def _text(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return "the private key belongs to another certificate"
    return str(error) or type(error).__name__
