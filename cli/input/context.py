"""What the given files are judged against: nothing, the files of a folder, a snapshot, or a cluster as it is now."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cli.input import snapshot_file
from cli.input.against import Against
from cli.input.documents import Unreadable
from cli.input.given import gather
from cli.input.login import unavailable
from cli.input.snapshot_file import WORK, SnapshotFile
from cli.progress import stage, tick
from policies import dialects
from policies.configuration.settings import YuniKornSettings
from policies.dialects.declared import DECLARED
from policies.dialects.reading import Manifest, identity
from policies.model.forest import Forest
from policies.model.objects import GroupKind, Ref

if TYPE_CHECKING:
    from cluster.client import ClusterClient
    from cluster.sources import WatchSource

Keep = Callable[[Ref, Manifest], None]
"""Gets each object, and keeps the parts that it needs."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, what the user called it, and when it was made."""

    name: str
    commit: str
    committed: datetime


@dataclass(frozen=True, slots=True)
class Context:
    """The world before the change; `unreadable` are the parts that could not be read.

    `manifests` are those of the world where it is made of files; else those of the objects that were asked for.
    `snapshot` is the one that the world was made of, `as_of` when the world was so; None for what is read now.
    """

    against: Against
    world: Forest
    unreadable: tuple[Unreadable, ...] = ()
    manifests: Mapping[Ref, Manifest] = field(default_factory=dict)
    snapshot: SnapshotFile | None = None
    as_of: datetime | None = None


def load(
    against: Against,
    yunikorn: YuniKornSettings | None = None,
    wanted: Container[Ref] = (),
) -> Context:
    """Raises OutOfReach where a cluster or a snapshot cannot be read. `yunikorn` says where YuniKorn's objects are.

    `wanted` are objects that will be compared with their manifests.
    """
    if against.kind == "nothing":
        return Context(against, Forest(frozenset(DECLARED)))
    if against.kind == "files":
        held = gather([against.name])
        objects = (placed.obj for placed in held.objects.values())
        manifests = {ref: placed.document.manifest for ref, placed in held.objects.items()}
        return Context(against, Forest.of(objects, DECLARED), held.unreadable, manifests)
    if against.kind == "snapshot":
        return _of_snapshot(against, wanted)
    kept: dict[Ref, Manifest] = {}
    now = datetime.now(UTC)
    world = _of_cluster(against, yunikorn or YuniKornSettings(), wanted, kept)
    return Context(against, world, manifests=kept, as_of=now)


def _of_snapshot(against: Against, wanted: Container[Ref]) -> Context:
    """The world of the snapshot, without work in `wanted`: a snapshot has only a part of it, too little to compare."""
    taken = snapshot_file.read(against.name)
    found = [(each, manifest) for manifest in taken.objects if (each := dialects.read(manifest)) is not None]
    found = [(each, manifest) for each, manifest in found if each.ref.group_kind in taken.complete]
    objects = (each for each, _ in found if each.ref.group_kind not in WORK or each.ref not in wanted)
    manifests = {each.ref: manifest for each, manifest in found if each.ref in wanted}
    return Context(against, Forest.of(objects, taken.complete), manifests=manifests, snapshot=taken, as_of=taken.taken)


def _of_cluster(
    against: Against,
    yunikorn: YuniKornSettings,
    wanted: Container[Ref],
    manifests: dict[Ref, Manifest],
) -> Forest:
    """The world; `manifests` gets the manifests of `wanted`."""

    def keep(ref: Ref, manifest: Manifest) -> None:
        if ref in wanted:
            manifests[ref] = manifest

    from cluster.errors import ClusterError  # here, since these take long to load and only this needs them
    from cluster.sources import sources

    try:
        with against.login.connect() as cluster:
            return followed(cluster, sources(yunikorn), keep)
    except ClusterError as error:
        raise unavailable(error, f"cannot read {against}") from error


def followed(cluster: ClusterClient, following: Iterable[WatchSource], keep: Keep) -> Forest:
    """All objects of these kinds, as they are now; `keep` is shown each manifest. Raises ClusterError."""
    from cluster.store import load as read_all  # here, since it takes long to load

    stage("reading the cluster")
    return read_all(cluster, [_noticed(source, keep) for source in following])


def collect(against: Against, yunikorn: YuniKornSettings, keep: Keep) -> frozenset[GroupKind]:
    """Pass `keep` each object of a cluster that rules or decisions read. Returns the kinds that were read completely.

    Raises OutOfReach.
    """
    from cluster.errors import ClusterError  # here, since it takes long to load

    try:
        with against.login.connect() as cluster:
            return followed(cluster, read_kinds(yunikorn), keep).known
    except ClusterError as error:
        raise unavailable(error, f"cannot read {against}") from error


def read_kinds(yunikorn: YuniKornSettings | None = None) -> list[WatchSource]:
    """All kinds of a cluster that rules or decisions read."""
    from cluster.sources import WatchSource, sources  # here, since these take long to load
    from reconciler.objects.watched import WATCHED_KINDS

    followed = [*sources(yunikorn)]
    kinds = {source.kind for source in followed}
    watched = [(GroupKind(each.resource.group, each.kind), each.resource) for each in WATCHED_KINDS]
    return followed + [WatchSource(kind, (resource,)) for kind, resource in watched if kind not in kinds]


def _noticed(source: WatchSource, keep: Keep) -> WatchSource:
    """The source; it passes each manifest to `keep`, so that the cluster is read once."""
    trim, namespaced = source.trim, source.versions[0].namespaced

    def note(manifest: dict[str, Any]) -> dict[str, Any]:
        tick()
        keep(identity(manifest, source.kind, namespaced), manifest)
        return trim(manifest) if trim else manifest

    return replace(source, trim=note)
