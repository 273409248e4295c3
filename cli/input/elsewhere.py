"""Reads the queues of Volcano and YuniKorn, and the work in them, from a cluster or a snapshot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from analysis.elsewhere import ManifestsElsewhere
from analysis.simulation import OtherQueues
from cli.exits import OutOfReach
from cli.input import snapshot_file
from cli.input.against import Against
from cli.output import note
from cluster.errors import ApiError, ClusterError, NotFound
from cluster.resource import CONFIG_MAPS, NAMESPACES, NODES, PODS, PRIORITY_CLASSES, Resource
from cluster.served import FOLLOWED
from cluster.sources import at_work
from policies.configuration.settings import Configuration
from policies.dialects import core, volcano, yunikorn
from policies.dialects.core import CONFIG_MAP, VOLCANO_SCHEDULER
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata, texts
from policies.dialects.yunikorn_config.configmap import refs
from policies.dialects.yunikorn_gangs import PLACEHOLDER, TASK_GROUP, TASK_GROUPS
from policies.model.objects import GroupKind
from scheduling.volcano.play.simulation import VolcanoSimulation as Volcano
from scheduling.yunikorn.simulation import YuniKornSimulation as YuniKorn

if TYPE_CHECKING:  # it takes long to load
    from cluster.client import ClusterClient

_OF_CONTAINERS = ("name", "resources", "restartPolicy")
_NOT_READ = ("volumes", "ephemeralContainers")


def of_cluster(against: Against, configuration: Configuration) -> OtherQueues:
    """The queues of Volcano and YuniKorn in a cluster. Raises OutOfReach.

    Nothing is simulated over time: waiting work is compared once with the queues and Nodes, to find the reasons.
    """
    read = manifests(against, configuration, idle=False)
    now = time.time_ns()
    yunikorn = YuniKorn(now, strict=False, version=configuration.yunikorn.version)  # not strict: as YuniKorn decides
    found = OtherQueues(Volcano(now), yunikorn)
    found.volcano.change(read.volcano)
    found.yunikorn.change(read.yunikorn)
    found.volcano.look()
    for problem in found.yunikorn.problems:
        note(f"{problem}; YuniKorn keeps the queues that it has loaded before, which are not known here")
    return found


def manifests(against: Against, configuration: Configuration, *, idle: bool = True) -> ManifestsElsewhere:
    """Read a cluster or a snapshot. A project whose objects may not be read is noted on standard error and left out.

    `idle`: also read the queues of a project that has no work. Raises OutOfReach if the cluster cannot be reached.
    """
    if against.kind == "snapshot":
        return _of_snapshot(snapshot_file.read(against.name).objects)
    try:
        with against.login.connect() as cluster:
            around = cache(partial(_surroundings, cluster))
            yunikorns = _of_yunikorn(cluster, around, configuration.yunikorn.namespace, idle)
            return ManifestsElsewhere(
                _noted("Volcano", _of_volcano(cluster, around, idle)), _noted("YuniKorn", yunikorns)
            )
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error


def _of_snapshot(objects: Iterable[Manifest]) -> ManifestsElsewhere:
    """The manifests in a snapshot. Pods of an earlier version's snapshot have no phase, so their work is left out."""
    by_kind: dict[GroupKind, list[Manifest]] = {}
    for each in objects:
        by_kind.setdefault(group_kind(each), []).append(each)

    def of(*kinds: GroupKind) -> list[Manifest]:
        return [each for kind in kinds for each in by_kind.get(kind, ())]

    around = of(core.NODE, PRIORITY_CLASS, core.NAMESPACE)
    pods = [each for each in of(core.POD) if mapping(each.get("status")).get("phase")]
    volcanos = [each for each in pods if mapping(each.get("spec")).get("schedulerName") == VOLCANO_SCHEDULER]
    yunikorns = [
        _without_gang(each) for each in pods if mapping(each.get("spec")).get("schedulerName") == yunikorn.SCHEDULER
    ]
    groups = of(volcano.POD_GROUP) if volcanos or not of(core.POD) else []
    return ManifestsElsewhere((*of(volcano.QUEUE), *around, *groups, *volcanos), (*of(CONFIG_MAP), *around, *yunikorns))


def _noted(project: str, found: Iterator[Manifest]) -> tuple[Manifest, ...]:
    """All manifests, or none if some may not be read. Raises ClusterError if the cluster cannot be reached."""
    try:
        return tuple(found)
    except ApiError as error:
        note(f"the work of {project} is left out: {error}")
        return ()


def _surroundings(cluster: ClusterClient) -> list[Manifest]:
    return [each for resource in (NODES, PRIORITY_CLASSES, NAMESPACES) for each in _listed(cluster, resource)]


def _of_volcano(cluster: ClusterClient, around: Callable[[], list[Manifest]], idle: bool) -> Iterator[Manifest]:
    """Volcano's objects; empty if it is not installed. Instead of Jobs, their PodGroups and Pods are read."""
    (queues,), (groups,) = FOLLOWED[volcano.QUEUE], FOLLOWED[volcano.POD_GROUP]
    found = _listed(cluster, groups)
    trees = _listed(cluster, queues) if found or idle else []
    if not found and not trees:
        return
    yield from trees
    yield from around()
    yield from found
    yield from _pods(cluster, VOLCANO_SCHEDULER)


def _of_yunikorn(
    cluster: ClusterClient, around: Callable[[], list[Manifest]], namespace: str, idle: bool
) -> Iterator[Manifest]:
    """YuniKorn's objects; empty if it schedules no Pod."""
    pods = _pods(cluster, yunikorn.SCHEDULER)
    if not pods and not idle:
        return
    for ref in refs(namespace):
        yield from _listed(cluster, CONFIG_MAPS, ref.namespace, f"metadata.name={ref.name}")
    yield from around()
    yield from map(_without_gang, pods)


def _pods(cluster: ClusterClient, scheduler: str) -> list[Manifest]:
    return _listed(cluster, PODS, where=at_work(scheduler), keep=_trimmed)


def _listed(
    cluster: ClusterClient,
    resource: Resource,
    namespace: str | None = None,
    where: str = "",
    keep: Callable[[Manifest], Manifest] = dict,
) -> list[Manifest]:
    """The objects of a kind; an empty list if it is not installed."""
    try:
        return [*cluster.snapshot(resource, keep, namespace=namespace, field_selector=where or None).items]
    except NotFound:
        return []


def _trimmed(pod: Manifest) -> Manifest:
    """The Pod without fields that no scheduler reads, since there may be many Pods."""
    spec = {key: value for key, value in mapping(pod.get("spec")).items() if key not in _NOT_READ}
    for key in ("containers", "initContainers"):
        if key in spec:
            spec[key] = [_container_fields(container) for container in listing(spec[key])]
    return {**pod, "spec": spec}


def _container_fields(container: Any) -> dict[str, Any]:
    return {key: value for key, value in mapping(container).items() if key in _OF_CONTAINERS}


def _without_gang(pod: Manifest) -> Manifest:
    """The Pod without its gang, since the placeholders of the gang are Pods of their own in a cluster."""
    notes = texts(metadata(pod).get("annotations"))
    kept = {key: value for key, value in notes.items() if key not in (PLACEHOLDER, TASK_GROUP, TASK_GROUPS)}
    return {**pod, "metadata": {**metadata(pod), "annotations": kept}}
