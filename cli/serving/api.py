"""Serving /v1 of reconciler and audit: its address, its certificates, and the client that authorizes callers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from ssl import SSLContext

from certs.tls import ReloadingContext
from cli.exits import Misused, OutOfReach
from cli.serving.certificates import Certificates, KeptCertificates
from cluster.access import REVIEW_TIMEOUTS, Reviews
from cluster.addresses import url_of
from cluster.api.server import Answers, ApiServer, is_loopback
from cluster.client import Cluster
from cluster.wire import Timeouts


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """The address of /v1. `certificates` None: plain HTTP, which is allowed on loopback only."""

    host: str
    port: int
    certificates: Certificates | None = None

    def check(self) -> None:
        """Raises Misused where tokens would cross a network unencrypted."""
        if self.certificates is None and not is_loopback(self.host.strip("[]")):
            raise Misused(f"--api-host {self.host}: tokens must not cross a network in the clear; use --api-certs")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server needs for callers with tokens: who asks the API server about them, and its own certificate."""

    reviews: Reviews
    tls: Callable[[], SSLContext] | None
    expires: Callable[[], datetime] | None = None
    """When that certificate expires (UTC)."""

    @classmethod
    @contextmanager
    def opened(cls, settings: ApiSettings, connect: Callable[[Timeouts], Cluster]) -> Iterator[Identity]:
        """Renews the certificate until the end of the block. Raises OSError, ClusterError or OutOfReach."""
        with ExitStack() as stack:
            cluster = stack.enter_context(connect(REVIEW_TIMEOUTS))
            tls = _tls(stack, settings.certificates, lambda: cluster)
            yield cls(Reviews(cluster), tls.current, tls.expires) if tls else cls(Reviews(cluster), None)


@contextmanager
def serving(answers: Answers, settings: ApiSettings, identity: Identity) -> Iterator[str]:
    """Serve /v1 until the end of the block; yields its address. Raises OSError."""
    host = settings.host.strip("[]")
    server = ApiServer(host, settings.port, answers, identity.tls)
    server.start()
    try:
        yield url_of("https" if identity.tls else "http", host, server.server_port)
    finally:
        server.close()


def _tls(
    opened: ExitStack, certificates: Certificates | None, cluster: Callable[[], Cluster]
) -> ReloadingContext | None:
    if certificates is None:
        return None
    try:
        keeper = certificates.keeper(cluster)
        if keeper is not None:
            keeper()
            renewal = KeptCertificates(keeper)
            renewal.start()
            opened.callback(renewal.stop)
        return ReloadingContext(certificates.folder / "tls.crt", certificates.folder / "tls.key")
    except ValueError as error:  # a broken certificate, or a name that no certificate can have
        raise OutOfReach(f"/v1 cannot be served: {error}") from error
