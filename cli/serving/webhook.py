"""Running the webhook: its certificates and its store, both kept current while it serves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cli.exits import Exit, Misused, OutOfReach
from cli.input.context import Against, load
from cli.serving.certificates import Certificates, Keeper, KeptCertificates
from cluster.access import REVIEW_TIMEOUTS, Reviews, metrics_guard
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.sources import FOLLOWED, Source, sources
from cluster.store import FixedCache, ObjectCache, Store
from policies.model.forest import Forest
from webhook.server import serve
from webhook.settings import WebhookSettings


def run(
    settings: WebhookSettings,
    against: Against,
    kubeconfig: str | None,
    certificates: Certificates,
    metrics_auth: bool = False,
) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach where it cannot start.

    `metrics_auth`: the API server is asked who may read the metrics.
    """
    context = against.name if against.kind == "cluster" else ""
    connect = partial(Cluster.connect, context or None, kubeconfig)
    try:
        keeper = certificates.keeper(connect)
        opening = (
            partial(_following, connect(), sources(settings.configuration.yunikorn))
            if against.kind == "cluster"
            else partial(_fixed, _forest(against))
        )
        if keeper:
            keeper()
        guard = (lambda: metrics_guard(Reviews(connect(timeouts=REVIEW_TIMEOUTS)))) if metrics_auth else None
        code = serve(settings, lambda: _WithRenewal(opening(), keeper), metrics_guard=guard)
    except (ClusterError, OSError, ValueError) as error:
        raise OutOfReach(f"the webhook cannot start: {error}") from error
    return Exit.UNJUDGED if code else Exit.CLEAN


def _following(cluster: Cluster, following: Sequence[Source]) -> ObjectCache:
    """Called in the worker process, since threads do not survive a fork."""
    store = Store(following=following)
    store.start(cluster)
    return store


def _forest(against: Against) -> Forest:
    """The files are everything that exists, work included."""
    context = load(against)
    for item in context.unreadable:
        raise Misused(str(item))
    return context.world.knowing(FOLLOWED)


def _fixed(forest: Forest) -> ObjectCache:
    return FixedCache(forest)


class _WithRenewal:
    """A world; the certificates are renewed until it is closed."""

    def __init__(self, world: ObjectCache, keeper: Keeper | None) -> None:
        self._world = world
        self._renewal = KeptCertificates(keeper) if keeper else None
        if self._renewal:
            self._renewal.start()

    def forest(self) -> Forest:
        return self._world.forest()

    def ready(self) -> list[str]:
        return self._world.ready()

    def age(self) -> float | None:
        return self._world.age()

    def close(self) -> None:
        if self._renewal:
            self._renewal.stop()
        self._world.close()
