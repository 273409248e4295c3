"""Serving /v1 of the reconciler: its address, its certificates, and the client that authorizes callers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from certs.tls import ReloadingContext
from cli.exits import Misused, OutOfReach
from cli.serving.certificates import Certificates, KeptCertificates
from cluster.client import Cluster
from cluster.wire import Timeouts
from reconciler.api.access import Reviews
from reconciler.api.routes import Api
from reconciler.api.server import ApiServer, is_loopback
from reconciler.process import Reconciler

_TIMEOUTS = Timeouts(connect=3.0, read=5.0)
"""A caller waits while the API server authorizes the request."""


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


@contextmanager
def serving(reconciler: Reconciler, settings: ApiSettings, connect: Callable[[Timeouts], Cluster]) -> Iterator[str]:
    """Serve /v1 until the end of the block; yields its address. Raises OSError, ClusterError or OutOfReach."""
    with ExitStack() as opened:
        cluster = opened.enter_context(connect(_TIMEOUTS))
        tls = _tls(opened, settings.certificates, lambda: cluster)
        host = settings.host.strip("[]")
        server = ApiServer(host, settings.port, Api(reconciler.ask, Reviews(cluster)), tls.current if tls else None)
        server.start()
        opened.callback(server.close)
        yield f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{server.server_port}"


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
