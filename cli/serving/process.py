"""The settings that the reconciler and the audit share: the addresses of probes and /v1, the Lease, and the cluster."""

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
    """The settings of a process.

    `host`, `port`: the address of its probes.
    `lease`: `namespace/name`.
    `api`: the address of /v1; None if /v1 is not served.
    `metrics_auth`: whether the API server authorizes callers of /metrics. The port then uses TLS, with the certificate
    of /v1.
    """

    host: str
    port: int
    lease: str
    kubeconfig: str | None = None
    context: str | None = None
    address_file: Path | None = None
    api: ApiSettings | None = None
    metrics_auth: bool = False

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
        """The Lease of the process. Each process has a different identity as its holder."""
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
        """Serve probes and metrics. Raises OSError if the address is not available."""
        more: dict[str, Any] = {}
        if self.metrics_auth and identity:
            from cluster.access import metrics_guard  # here, since only processes that serve /v1 need it

            more = {"tls": identity.tls, "guard": metrics_guard(identity.reviews)}
        server = HealthServer(self.host.strip("[]"), self.port, live, ready, registry, notes, **more)
        server.start()
        return server

    def announce(self, server: HealthServer, api: str | None) -> None:
        scheme = "https" if self.metrics_auth else "http"
        announce(scheme, self.host, server.server_port, self.address_file, **({"api": api} if api else {}))
