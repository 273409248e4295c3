"""Running the reconciler: its Lease, its probes, and its end."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector

from cli.exits import Exit, Misused, OutOfReach
from cli.serving.api import Visible, serving
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.lease import Lease, LeaseTimes
from cluster.reflector import Pacing
from cluster.wire import Timeouts
from reconciler.configured import Configured
from reconciler.exported import Counting, export
from reconciler.health import HealthServer
from reconciler.left_out import Chosen
from reconciler.permit import Manage, Never, Rival
from reconciler.process import Reconciler
from webhook.logs import log_as_json

log = logging.getLogger(__name__)
_CLOSE = Pacing(first=0.2, longest=3.0, watch=20)
"""Of the watch of Kueue's Lease: one that hangs is noticed within half a minute, one that broke is soon resumed."""
_GLANCE = 0.5
"""Seconds between two looks whether the loop still runs."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where it runs: the address of its probes, its Lease as `namespace/name`, and its cluster.

    `visible`: where /v1 is served, None where it is not.
    """

    host: str
    port: int
    lease: str
    kubeconfig: str | None = None
    context: str | None = None
    address_file: Path | None = None
    visible: Visible | None = None

    def connect(self, timeouts: Timeouts | None = None) -> Cluster:
        return Cluster.connect(self.context, self.kubeconfig, timeouts)


def run(manage: bool, configured: Configured, place: Place) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach where it cannot even begin."""
    namespace, _, name = place.lease.partition("/")
    if not (namespace and name) or "/" in name:
        raise Misused(f"--lease takes NAMESPACE/NAME, not {place.lease!r}")
    if place.visible is not None:
        place.visible.check()
    log_as_json()
    for key in configured.idle:
        log.info("%s of the configuration has no meaning here", key)
    try:
        with ExitStack() as opened:
            times = configured.times
            permit = _permit(opened, place, namespace, name, times) if manage else Never()
            cluster = opened.enter_context(place.connect())
            registry = Chosen(resources=configured.resources, local_queues=configured.local_queues)
            reconciler = Reconciler(
                cluster,
                configured.settings,
                permit,
                partial(Counting, leads=permit.held, registry=registry, kueue=manage),
                opened.enter_context(_writing(place, times)),
            )
            return _Running(reconciler, permit, registry).until_told(place)
    except (ClusterError, OSError) as error:
        raise OutOfReach(f"the reconciler cannot be served: {error}") from error


def _permit(opened: ExitStack, place: Place, namespace: str, name: str, times: LeaseTimes) -> Manage:
    """Over connections of its own, which give up in time for another attempt before the Lease is lost."""
    patience = Timeouts(connect=times.renew_deadline / 3, read=times.renew_deadline / 3, watch_grace=5.0)
    cluster = opened.enter_context(place.connect(patience))
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    return Manage(Lease(cluster, namespace, name, identity, times), Rival(cluster, pacing=_CLOSE))


def _writing(place: Place, times: LeaseTimes) -> Cluster:
    """Over connections that give up before another replica may write, and are asked by the loop to try again."""
    margin = times.duration - times.renew_deadline
    patience = Timeouts(connect=margin * 0.3, read=margin * 0.6)
    return Cluster.connect(place.context, place.kubeconfig, patience, attempts=1)


class _Running:
    """What probes and metrics say of a reconciler."""

    def __init__(self, reconciler: Reconciler, permit: Manage | Never, registry: CollectorRegistry) -> None:
        self._reconciler = reconciler
        self._permit = permit
        self._ended = threading.Event()
        self.registry = registry
        ProcessCollector(registry=registry)
        export(registry, reconciler, permit.held, kueue=isinstance(permit, Manage))

    def until_told(self, place: Place) -> Exit:
        """Serve until a signal comes, or the loop ends by a fault. Raises OSError where the address cannot be had."""
        server = HealthServer(place.host.strip("[]"), place.port, self.live, self.ready, self.registry, self.notes)
        server.start()
        try:
            with _signals(self._ended), ExitStack() as opened:
                shown = place.visible
                api = opened.enter_context(serving(self._reconciler, shown, place.connect)) if shown else None
                self._reconciler.start()
                self._announce(server, place, api)
                while self._reconciler.alive and not self._ended.wait(_GLANCE):
                    pass
                told = self._ended.is_set()
                log.info("stopping")
                self._reconciler.stop()
                return Exit.CLEAN if told else Exit.UNJUDGED
        finally:
            server.close()

    def live(self) -> list[str]:
        return [] if self._reconciler.alive else ["the loop has ended, which is a fault of ours; restart the process"]

    def ready(self) -> list[str]:
        """Why it is not; a standby that knows everything is."""
        if self._ended.is_set():
            return ["stopping"]
        obstacle = self._permit.obstacle() if isinstance(self._permit, Manage) else ""
        return [*self._reconciler.obstacles(), *([obstacle] if obstacle else [])]

    def notes(self) -> list[str]:
        absent = self._reconciler.absent()
        return [f"{resource}: not installed; it is looked for again from time to time" for resource in absent]

    def _announce(self, server: HealthServer, place: Place, api: str | None) -> None:
        host = f"[{place.host.strip('[]')}]" if ":" in place.host else place.host
        address = {"url": f"http://{host}:{server.server_port}", "pid": os.getpid(), **({"api": api} if api else {})}
        log.info("serving", extra={"fields": address})
        if place.address_file:
            draft = place.address_file.with_name(place.address_file.name + ".new")
            draft.write_text(json.dumps(address))
            draft.replace(place.address_file)


@contextmanager
def _signals(ended: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT set the event; a second one ends the process as if nobody listened."""
    told = (signal.SIGTERM, signal.SIGINT)

    def end(number: int, _: object) -> None:
        ended.set()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, end) for number in told}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
