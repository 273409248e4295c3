"""What reconciler and audit have in common: where their probes and /v1 are, their Lease, their cluster."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from cli.exits import Misused
from cli.serving.lifetime import announce
from cluster.client import ClusterClient
from cluster.health import HealthServer, Problems
from cluster.lease import Lease, LeaseTimes
from cluster.wire import Timeouts

if TYPE_CHECKING:  # it takes long to load
    from cli.serving.api import ApiSettings, CallerIdentity


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """The address of its probes, its Lease as `namespace/name`, and its cluster. `api` None: /v1 is not served."""

    host: str
    port: int
    lease: str
    kubeconfig: str | None = None
    context: str | None = None
    address_file: Path | None = None
    api: ApiSettings | None = None
    metrics_auth: bool = False
    """Whether the API server is asked who may read the metrics. The port then speaks TLS, with /v1's certificate."""

    def check(self) -> None:
        """Check the name of the Lease, and that tokens do not cross a network unencrypted. Raises Misused."""
        namespace, _, name = self.lease.partition("/")
        if not (namespace and name) or "/" in name:
            raise Misused(f"--lease takes NAMESPACE/NAME, not {self.lease!r}")
        if self.api is not None:
            self.api.check()
        if self.metrics_auth and (self.api is None or self.api.certificates is None):
            raise Misused(
                "--metrics-auth needs --api-port and --api-certs: tokens must not cross a network in the clear"
            )

    def open_lease(self, cluster: ClusterClient, times: LeaseTimes) -> Lease:
        """Its Lease, with this process as another holder than any before."""
        namespace, _, name = self.lease.partition("/")
        return Lease(cluster, namespace, name, f"{socket.gethostname()}_{uuid.uuid4()}", times)

    def connect(self, timeouts: Timeouts | Callable[[], Timeouts] | None = None, attempts: int = 3) -> ClusterClient:
        return ClusterClient.connect(self.context, self.kubeconfig, timeouts, attempts)

    def open_health(
        self,
        identity: CallerIdentity | None,
        live: Problems,
        ready: Problems,
        registry: CollectorRegistry,
        notes: Problems,
    ) -> HealthServer:
        """Serves probes and metrics. Raises OSError where the address is not available."""
        more: dict[str, Any] = {}
        if self.metrics_auth and identity:
            from cluster.access import metrics_guard  # here, with what serves /v1

            more = {"tls": identity.tls, "guard": metrics_guard(identity.reviews)}
        server = HealthServer(self.host.strip("[]"), self.port, live, ready, registry, notes, **more)
        server.start()
        return server

    def announce(self, server: HealthServer, api: str | None) -> None:
        """`api`: the address of /v1."""
        scheme = "https" if self.metrics_auth else "http"
        announce(scheme, self.host, server.server_port, self.address_file, **({"api": api} if api else {}))
