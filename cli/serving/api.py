"""Serves /v1 of the reconciler and the audit: its address, its certificates, and the client that authorizes callers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from ssl import SSLContext

from certs.tls import ReloadingContext
from cli.exits import Misused, OutOfReach
from cli.serving.certificates import Certificates, KeptCertificates
from cli.serving.front_proxy import FollowedProxy
from cluster.access import REVIEW_TIMEOUTS, Reviews
from cluster.addresses import is_loopback, url_of
from cluster.api.server import Answers, ApiServer, Passed
from cluster.client import ClusterClient
from cluster.wire import Timeouts


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """The address of /v1.

    `certificates`: None means plain HTTP, which is allowed on loopback only.
    `aggregated`: whether the API server forwards requests of an APIService to it.
    """

    host: str
    port: int
    certificates: Certificates | None = None
    aggregated: bool = False

    def check(self) -> None:
        """Check that tokens do not cross a network unencrypted. Raises Misused."""
        if self.certificates is None and not is_loopback(self.host.strip("[]")):
            raise Misused(f"--api-host {self.host}: tokens must not cross a network in the clear; use --api-certs")


@dataclass(frozen=True, slots=True)
class CallerIdentity:
    """The parts that a server for callers with tokens needs.

    `reviews`: authenticates and authorizes callers.
    `tls`: returns the TLS context for the next connection; None means plain HTTP.
    `expires`: returns when the certificate expires (UTC).
    `proxy`: verifies requests that the API server forwards; None if it forwards none.
    """

    reviews: Reviews
    tls: Callable[[], SSLContext] | None
    expires: Callable[[], datetime] | None = None
    proxy: FollowedProxy | None = None

    @classmethod
    @contextmanager
    def opened(cls, settings: ApiSettings, connect: Callable[[Timeouts], ClusterClient]) -> Iterator[CallerIdentity]:
        """Open the parts, and renew the certificate until the `with` block ends.

        Raises OSError, ClusterError or OutOfReach.
        """
        with ExitStack() as stack:
            cluster = stack.enter_context(connect(REVIEW_TIMEOUTS))
            proxy = _proxy(stack, settings, cluster)
            tls = _tls(stack, settings.certificates, lambda: cluster, proxy.authority if proxy else None)
            yield cls(Reviews(cluster), tls.current, tls.expires, proxy) if tls else cls(Reviews(cluster), None)


@contextmanager
def serving(
    answers: Answers, settings: ApiSettings, identity: CallerIdentity, passed: Passed | None = None
) -> Iterator[str]:
    """Serve /v1 until the `with` block ends; yields its address. Raises OSError."""
    host = settings.host.strip("[]")
    server = ApiServer(host, settings.port, answers, identity.tls, passed)
    server.start()
    try:
        yield url_of("https" if identity.tls else "http", host, server.server_port)
    finally:
        server.close()


def _proxy(opened: ExitStack, settings: ApiSettings, cluster: ClusterClient) -> FollowedProxy | None:
    if not settings.aggregated or settings.certificates is None:
        return None
    folder = settings.certificates.folder
    folder.mkdir(parents=True, exist_ok=True)
    proxy = FollowedProxy(cluster, folder / "front-proxy-ca.crt")
    if not proxy.start():
        return None
    opened.callback(proxy.stop)
    return proxy


def _tls(
    opened: ExitStack, certificates: Certificates | None, cluster: Callable[[], ClusterClient], client_ca: Path | None
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
        folder = certificates.folder
        return ReloadingContext(folder / "tls.crt", folder / "tls.key", client_ca=client_ca)
    except ValueError as error:  # a broken certificate, or a name that no certificate can have
        raise OutOfReach(f"/v1 cannot be served: {error}") from error
