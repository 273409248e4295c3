"""Running the webhook: its certificates and its store, both kept current while it serves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from certs.renewal import Renewal
from cli.exits import Exit, Misused, OutOfReach
from cli.input.context import Against, load
from cli.serving.certificates import Certificates, Keeper
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.resource import Resource
from cluster.sources import FOLLOWED, Source, sources
from cluster.store import FixedCache, ObjectCache, Store
from cluster.stream import Manifest
from policies.model.forest import Forest
from webhook.server import serve
from webhook.settings import WebhookSettings


def run(settings: WebhookSettings, against: Against, kubeconfig: str | None, certificates: Certificates) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach where it cannot start."""
    connect = partial(Cluster.connect, against.name or None, kubeconfig)
    try:
        keeper = certificates.keeper(connect)
        opening = (
            partial(_following, connect(), sources(settings.configuration.yunikorn))
            if against.kind == "cluster"
            else partial(_fixed, _forest(against))
        )
        if keeper:
            keeper()
        code = serve(settings, lambda: _WithRenewal(opening(), keeper))
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
        self._renewal = Renewal(keeper) if keeper else None
        if self._renewal:
            self._renewal.start()

    def forest(self) -> Forest:
        return self._world.forest()

    def ready(self) -> list[str]:
        return self._world.ready()

    def age(self) -> float | None:
        return self._world.age()

    def fetch(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        return self._world.fetch(resource, namespace, name)

    def close(self) -> None:
        if self._renewal:
            self._renewal.stop()
        self._world.close()
