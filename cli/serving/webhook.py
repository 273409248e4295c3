"""Runs the webhook, and keeps its certificates and its store up to date."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from cli.exits import Exit, Misused, OutOfReach
from cli.input.against import Against
from cli.input.context import load
from cli.serving.certificates import Certificates, KeptCertificates
from cluster.access import REVIEW_TIMEOUTS, Reviews, metrics_guard
from cluster.client import ClusterClient
from cluster.errors import ClusterError
from cluster.served import FOLLOWED
from cluster.sources import sources
from cluster.store import FixedCache, ManifestCache, Store
from cluster.tracing.switch import TracingMisconfigured, tracing
from cluster.wire import Timeouts
from policies.model.forest import Forest
from webhook.ledger.contents import LEDGER_KINDS
from webhook.ledger.keeping import MaintainedLedger
from webhook.ledger.ledger import Ledger
from webhook.ledger.store import ConfigMapStore
from webhook.server import serve
from webhook.settings import WebhookSettings

_TIMEOUTS = Timeouts(connect=0.5, read=1.0)
"""The timeouts of the ledger and of single reads: two attempts must fit into the 3 s that the API server waits."""


def run(
    settings: WebhookSettings,
    against: Against,
    kubeconfig: str | None,
    certificates: Certificates,
    metrics_auth: bool = False,
) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach if it cannot start.

    `metrics_auth`: whether the API server authorizes callers of /metrics.
    """
    context = against.name if against.kind == "cluster" else ""
    connect = partial(ClusterClient.connect, context or None, kubeconfig)
    renewal = ExitStack()

    def open_cache() -> ManifestCache:
        cache = open_world()
        if keeper:
            kept = KeptCertificates(keeper)
            kept.start()
            renewal.callback(kept.stop)
        return cache

    try:
        open_spans = tracing("quotree-webhook")
        keeper = certificates.keeper(connect)
        if against.kind == "cluster":
            world = _Cluster(settings, connect)
            open_world, open_order = world.cache, world.order
        else:  # files never change, so no ledger is needed
            open_world, open_order = partial(FixedCache, _forest(against)), lambda: None
        if keeper:
            keeper()
        guard = (lambda: metrics_guard(Reviews(connect(timeouts=REVIEW_TIMEOUTS)))) if metrics_auth else None
        code = serve(
            settings, open_cache, open_order=open_order, metrics_guard=guard, open_spans=open_spans, ended=renewal.close
        )
    except TracingMisconfigured as error:
        raise Misused(str(error)) from error
    except (ClusterError, OSError, ValueError) as error:
        raise OutOfReach(f"the webhook cannot start: {error}") from error
    return Exit.UNJUDGED if code else Exit.CLEAN


class _Cluster:
    """A live cluster, with the ledger unless the configuration turns that off. Raises ClusterError.

    Its methods are called in the worker process, since threads do not survive a fork; `order` after `cache`.
    """

    def __init__(self, settings: WebhookSettings, connect: Callable[..., ClusterClient]) -> None:
        self._settings = settings
        self._connect = connect
        self._cluster = connect()
        of_queues = settings.configuration
        following = sources(of_queues.yunikorn, orchestrated=of_queues.kueue.orchestrated)
        self._store = Store(following=following, sighted=LEDGER_KINDS)

    def cache(self) -> ManifestCache:
        self._store.start(self._cluster, self._connect(timeouts=_TIMEOUTS))
        return self._store

    def order(self) -> MaintainedLedger | None:
        if not self._settings.configuration.ledger:
            return None
        store = ConfigMapStore(self._connect(timeouts=_TIMEOUTS, attempts=1))
        waiting = max(1, self._settings.threads // 2)
        ledger = MaintainedLedger(
            Ledger(store, self._store, patience=self._settings.patience_seconds, waiting=waiting), store
        )
        ledger.start()
        return ledger


def _forest(against: Against) -> Forest:
    """The objects of the files. They count as complete: nothing else exists, not even work."""
    context = load(against)
    for item in context.unreadable:
        raise Misused(str(item))
    return context.world.knowing(FOLLOWED)
