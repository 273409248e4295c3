"""Running the reconciler: its Lease, its probes, and its shutdown."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, ProcessCollector

from cli.exits import Exit, Misused, OutOfReach
from cli.serving.lifetime import announce, signalled
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.health import HealthServer
from cluster.lease import Lease, LeaseTimes
from cluster.reflector import Pacing
from cluster.tracing.switch import TracingMisconfigured, tracing
from cluster.wire import Timeouts
from policies.configuration.settings import Dialect
from reconciler.configured import Configured
from reconciler.controllers.volcano import MANAGER_LEASE
from reconciler.metrics.chosen_queues import ChosenQueues
from reconciler.metrics.custom_labels import CustomLabels
from reconciler.metrics.export import export, export_certificate
from reconciler.metrics.observer import MetricsObserver
from reconciler.metrics.registry import ChosenRegistry
from reconciler.process import Reconciler
from reconciler.shell.permit import KUEUE_LEASE, Manage, Never, NoRival, Rival
from webhook.logs import log_as_json

if TYPE_CHECKING:
    from cli.serving.api import ApiSettings, Identity

log = logging.getLogger(__name__)
_LEASE_WATCH = Pacing(first=0.2, longest=3.0, watch=20)
"""For the watch of Kueue's Lease: half a minute until one that hangs is noticed, a soon retry of one that broke."""
_RIVALS = {
    Dialect.KUEUE: (KUEUE_LEASE, "Kueue's manager"),
    Dialect.VOLCANO: (MANAGER_LEASE, "Volcano's controller"),
}
"""Whose Lease keeps us from writing anything, by the first of these dialects that is on.

Where both are, Volcano's keeps us from its queues alone. YuniKorn's scheduler may run beside us: what it binds has
passed the gate.
"""
_TURNS = 0.001
"""Seconds that a thread computes while another one waits for the interpreter; Python's own are five times as many. A
write takes some ten turns: behind the loop that works out a thousand statuses it took a tenth of a second."""
_POLL = 0.5
"""Seconds between two checks that the loop still runs."""


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
        """Raises Misused where tokens would cross a network unencrypted."""
        if self.api is not None:
            self.api.check()
        if self.metrics_auth and (self.api is None or self.api.certificates is None):
            raise Misused(
                "--metrics-auth needs --api-port and --api-certs: tokens must not cross a network in the clear"
            )

    def connect(self, timeouts: Timeouts | None = None) -> Cluster:
        return Cluster.connect(self.context, self.kubeconfig, timeouts)


def run(configured: Configured, process: ProcessSettings) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach where it cannot start."""
    namespace, _, name = process.lease.partition("/")
    if not (namespace and name) or "/" in name:
        raise Misused(f"--lease takes NAMESPACE/NAME, not {process.lease!r}")
    process.check()
    try:
        open_spans = tracing("quotree-reconciler")
    except TracingMisconfigured as error:
        raise Misused(str(error)) from error
    log_as_json()
    for key in configured.idle:
        log.info("%s of the configuration has no effect here", key)
    sys.setswitchinterval(_TURNS)
    try:
        with ExitStack() as opened:
            times, settings = configured.times, configured.settings
            manage = not settings.observes
            rival = next((_RIVALS[each] for each in _RIVALS if each in settings.dialects), None)
            permit = _permit(opened, process, (namespace, name), times, rival) if manage else Never()
            cluster = opened.enter_context(process.connect())
            labels = CustomLabels(configured.custom_labels)
            queues = ChosenQueues(configured.local_queues)
            spans = open_spans() if open_spans else None
            if spans is not None:
                opened.callback(spans.close)
            registry = ChosenRegistry(configured.metrics_off, labels, queues)
            reconciler = Reconciler(
                cluster,
                settings,
                permit,
                partial(
                    MetricsObserver,
                    leads=permit.held,
                    registry=registry,
                    labels=labels,
                    queues=queues,
                    kueue=manage,
                    gates=bool(settings.dialects - {Dialect.KUEUE}),
                    yunikorn=settings.configuration.yunikorn,
                ),
                opened.enter_context(_writing(process, times)),
                spans,
            )
            return _Running(reconciler, permit, registry).until_signalled(process)
    except (ClusterError, OSError) as error:
        raise OutOfReach(f"the reconciler cannot start: {error}") from error


def _permit(
    opened: ExitStack, process: ProcessSettings, ours: tuple[str, str], times: LeaseTimes, rival: tuple[str, str] | None
) -> Manage:
    """`rival`: the name of the other Lease, and who renews it; None: there is none.

    Over its own connections, whose timeouts leave time for another attempt before the Lease is lost.
    """
    timeouts = Timeouts(connect=times.renew_deadline / 3, read=times.renew_deadline / 3, watch_grace=5.0)
    cluster = opened.enter_context(process.connect(timeouts))
    lease = Lease(cluster, *ours, f"{socket.gethostname()}_{uuid.uuid4()}", times)
    if rival is None:
        return Manage(lease, NoRival())
    name, who = rival
    return Manage(lease, Rival(cluster, name, pacing=_LEASE_WATCH, who=who))


def _writing(process: ProcessSettings, times: LeaseTimes) -> Cluster:
    """Over connections that time out before another replica may write; the loop retries."""
    margin = times.duration - times.renew_deadline
    timeouts = Timeouts(connect=margin * 0.3, read=margin * 0.6)
    return Cluster.connect(process.context, process.kubeconfig, timeouts, attempts=1)


class _Running:
    """A reconciler with its probes and metrics."""

    def __init__(self, reconciler: Reconciler, permit: Manage | Never, registry: CollectorRegistry) -> None:
        self._reconciler = reconciler
        self._permit = permit
        self._ended = threading.Event()
        self.registry = registry
        ProcessCollector(registry=registry)
        export(registry, reconciler, permit.held, kueue=isinstance(permit, Manage))

    def until_signalled(self, process: ProcessSettings) -> Exit:
        """Serve until a signal arrives or the loop fails. Raises OSError where the address is not available."""
        with ExitStack() as opened:
            settings, identity = process.api, None
            if settings:
                from cli.serving.api import Identity  # here, since most processes serve no /v1

                identity = opened.enter_context(Identity.opened(settings, process.connect))
                if identity.expires:
                    export_certificate(self.registry, identity.expires)
            server = self._health(process, identity)
            opened.callback(server.close)
            opened.enter_context(signalled(self._ended))
            api = None
            if settings and identity:
                from cli.serving.api import serving
                from reconciler.api.routes import Api

                api = opened.enter_context(serving(Api(self._reconciler.ask, identity.reviews), settings, identity))
            self._reconciler.start()
            self._announce(server, process, api)
            while self._reconciler.alive and not self._ended.wait(_POLL):
                pass
            asked = self._ended.is_set()
            log.info("stopping")
            self._reconciler.stop()
            return Exit.CLEAN if asked else Exit.UNJUDGED

    def _health(self, process: ProcessSettings, identity: Identity | None) -> HealthServer:
        more: dict[str, Any] = {}
        if process.metrics_auth and identity:
            from cluster.access import metrics_guard  # here, with what serves /v1

            more = {"tls": identity.tls, "guard": metrics_guard(identity.reviews)}
        host = process.host.strip("[]")
        server = HealthServer(host, process.port, self.live, self.ready, self.registry, self.notes, **more)
        server.start()
        return server

    def live(self) -> list[str]:
        return [] if self._reconciler.alive else ["internal error: the loop has ended; restart the process"]

    def ready(self) -> list[str]:
        """Why it is not ready; a standby is ready when it has read everything."""
        if self._ended.is_set():
            return ["stopping"]
        obstacle = self._permit.obstacle() if isinstance(self._permit, Manage) else ""
        return [*self._reconciler.obstacles(), *([obstacle] if obstacle else [])]

    def notes(self) -> list[str]:
        absent = self._reconciler.absent()
        return [f"{resource}: not installed; checked again from time to time" for resource in absent]

    def _announce(self, server: HealthServer, process: ProcessSettings, api: str | None) -> None:
        scheme = "https" if process.metrics_auth else "http"
        announce(scheme, process.host, server.server_port, process.address_file, **({"api": api} if api else {}))
