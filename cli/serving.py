"""Running the webhook: its certificates and its world, both kept current while it serves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from certs import files
from certs import secret as secrets
from certs.renewal import Renewal
from certs.rotate import Bundle
from cli.certs import LOOPBACK
from cli.context import Against, load
from cli.exits import Exit, Misused, OutOfReach
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.sources import FOLLOWED, Source, sources
from cluster.store import FixedWorld, Store, World
from policies.forest import Forest
from webhook.server import serve
from webhook.settings import Settings

Keeper = Callable[[], bool]
"""Makes or renews the certificates where that is due; False where it should be tried again soon."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where they come from: others put them into `folder` (`supplied`), we keep them there, or in a Secret for all."""

    folder: Path
    supplied: bool
    names: Sequence[str]
    secret: str | None
    service: str | None
    validating: Sequence[str]
    mutating: Sequence[str]
    conversion: Sequence[str]

    def keeper(self, cluster: Callable[[], Cluster]) -> Keeper | None:
        """Raises Misused, or ClusterError where a cluster is needed and not configured."""
        if self.secret and self.supplied:
            raise Misused("--secret and --supplied exclude each other")
        if self.secret:
            settings = self._in_secret(self.secret)
            return _InSecret(cluster(), settings, self.folder)
        return None if self.supplied else partial(_in_folder, self.folder, self.names or LOOPBACK)

    def _in_secret(self, secret: str) -> secrets.SecretSettings:
        namespace, _, name = secret.partition("/")
        if not (namespace and name and self.service):
            raise Misused("--secret takes NAMESPACE/NAME and needs --service, by whose name the API server calls")
        callers: list[secrets.Caller] = []
        callers += [secrets.Webhooks("ValidatingWebhookConfiguration", each) for each in self.validating]
        callers += [secrets.Webhooks("MutatingWebhookConfiguration", each) for each in self.mutating]
        callers += map(secrets.Conversion, self.conversion)
        names = (*secrets.service_names(self.service, namespace), *self.names)
        return secrets.SecretSettings(namespace, name, names, tuple(callers))


def run(settings: Settings, against: Against, kubeconfig: str | None, certificates: Certificates) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach where it cannot even begin."""
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
        code = serve(settings, lambda: _Tended(opening(), keeper))
    except (ClusterError, OSError, ValueError) as error:
        raise OutOfReach(f"the webhook cannot be served: {error}") from error
    return Exit.UNJUDGED if code else Exit.CLEAN


def _in_folder(folder: Path, names: Sequence[str]) -> bool:
    files.ensure(folder, names, datetime.now(UTC))
    return True


class _InSecret:
    """Keeps the folder a copy of the Secret, without the authority's key."""

    def __init__(self, cluster: Cluster, settings: secrets.SecretSettings, folder: Path) -> None:
        self._cluster = cluster
        self._settings = settings
        self._folder = folder
        self._written: Bundle | None = None

    def __call__(self) -> bool:
        ensured = secrets.ensure(self._cluster, self._settings, datetime.now(UTC))
        if ensured.bundle != self._written:
            files.write(ensured.bundle, self._folder, signing_key=False)
            self._written = ensured.bundle
        return not ensured.missing


def _following(cluster: Cluster, following: Sequence[Source]) -> World:
    """Called in the worker process, since threads do not survive the fork before it."""
    store = Store(following=following)
    store.start(cluster)
    return store


def _forest(against: Against) -> Forest:
    """The files are all there is, work included."""
    context = load(against)
    for item in context.unreadable:
        raise Misused(f"{item.place}: unreadable: {item.message}")
    return context.world.knowing(FOLLOWED)


def _fixed(forest: Forest) -> World:
    return FixedWorld(forest)


class _Tended:
    """A world; until it is closed its certificates are renewed."""

    def __init__(self, world: World, keeper: Keeper | None) -> None:
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

    def close(self) -> None:
        if self._renewal:
            self._renewal.stop()
        self._world.close()
