"""Reads the context that inputs are judged against: nothing, the files of a folder, a snapshot, or a cluster."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from analysis.context import Context
from cli.input import snapshot_file
from cli.input.against import Against
from cli.input.documents import gather
from cli.input.snapshot_file import WORK
from cli.progress import stage, tick
from cluster.sources import NODES_ONCE, WatchSource, sources
from policies import dialects
from policies.configuration.settings import Configuration, YuniKornSettings
from policies.dialects import core, yunikorn
from policies.dialects.declared import DECLARED
from policies.dialects.reading import Manifest
from policies.model.forest import Forest
from policies.model.objects import GroupKind, KubeObject, Ref

if TYPE_CHECKING:  # these take long to load
    from analysis.cluster import Keep
    from reconciler.objects.node_use import NodeUse


def load(against: Against, configuration: Configuration | None = None, wanted: Container[Ref] = ()) -> Context:
    """Read the context. Raises OutOfReach if a cluster or a snapshot cannot be read.

    `configuration`: where YuniKorn's objects are, and which quotas of Kueue's queues apply.
    `wanted`: the objects whose manifests the caller will compare; only their manifests are kept.
    """
    configuration = configuration or Configuration()
    if against.kind == "nothing":
        return Context(against, Forest(frozenset(DECLARED)))
    if against.kind == "files":
        held = gather([against.name])
        objects = (placed.obj for placed in held.objects.values())
        manifests = {ref: placed.document.manifest for ref, placed in held.objects.items()}
        return Context(against, Forest.of(objects, DECLARED), held.unreadable, manifests)
    if against.kind == "snapshot":
        return _of_snapshot(against, configuration, wanted)
    kept: dict[Ref, Manifest] = {}
    now = datetime.now(UTC)
    world = _of_cluster(against, configuration, wanted, kept)
    return Context(against, world, manifests=kept, as_of=now)


def _of_snapshot(against: Against, configuration: Configuration, wanted: Container[Ref]) -> Context:
    """The context of a snapshot. Work in `wanted` is left out, since a snapshot has only some of its fields."""
    taken = snapshot_file.read(against.name)
    read = partial(dialects.read, orchestrated=configuration.kueue.orchestrated)
    found = [(each, manifest) for manifest in taken.objects if (each := read(manifest)) is not None]
    found = [(each, manifest) for each, manifest in found if each.ref.group_kind in taken.complete and _is_read(each)]
    objects = (each for each, _ in found if each.ref.group_kind not in WORK or each.ref not in wanted)
    manifests = {each.ref: manifest for each, manifest in found if each.ref in wanted}
    world = Forest.of(objects, taken.complete)
    return Context(against, world, manifests=manifests, as_of=taken.taken, cluster=taken.cluster)


def _is_read(found: KubeObject) -> bool:
    """Whether rules would also read the object in a cluster. Of Pods, they read only those of YuniKorn."""
    return not isinstance(found, core.Pod) or found.scheduler_name == yunikorn.SCHEDULER


def _of_cluster(
    against: Against, configuration: Configuration, wanted: Container[Ref], manifests: dict[Ref, Manifest]
) -> Forest:
    """The objects of the cluster. Adds the manifests of `wanted` to `manifests`."""

    def keep(ref: Ref, manifest: Manifest) -> None:
        if ref in wanted:
            manifests[ref] = manifest

    following = sources(configuration.yunikorn, orchestrated=configuration.kueue.orchestrated)
    return _read(against, (*following, NODES_ONCE), keep)


def collect(against: Against, yunikorn: YuniKornSettings, keep: Keep) -> frozenset[GroupKind]:
    """Pass each object of a cluster that rules or decisions read to `keep`. Raises OutOfReach.

    Returns the kinds that were read completely.
    """
    from analysis.cluster import read_kinds  # here, since it takes long to load

    return _read(against, read_kinds(yunikorn), keep).known


def node_use(against: Against) -> NodeUse:
    """The use of each Node by Pods that are not placed by a topology. Raises OutOfReach."""
    from reconciler.api.snapshot import use_on_nodes  # here, since it takes long to load

    stage("reading the Pods of the cluster")
    with against.login.connected(f"cannot read {against}") as cluster:
        return use_on_nodes(cluster)


def _read(against: Against, sources: Iterable[WatchSource], keep: Keep) -> Forest:
    from analysis.cluster import followed  # here, since these take long to load

    def noted(ref: Ref, manifest: Manifest) -> None:
        tick()
        keep(ref, manifest)

    stage("reading the cluster")
    with against.login.connected(f"cannot read {against}") as cluster:
        return followed(cluster, sources, noted)
