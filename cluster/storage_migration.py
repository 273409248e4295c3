"""Migrates stored objects of Kueue to the storage version of their CustomResourceDefinition.

The API server writes an object in the storage version of its definition. `status.storedVersions` of the definition
lists every version that may still be in etcd. An empty patch makes the API server read an object and store it again. It
cannot overwrite anything, even if a client changes the object at the same time, and does not write an object that has
the right version already. When all objects are migrated, the old versions are removed from `status.storedVersions`. All
progress is in the cluster: if the process is killed, the same call continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.errors import ApiError, ClusterError, Conflict, NotFound, Unauthorized
from cluster.resource import CUSTOM_RESOURCE_DEFINITIONS, Manifest, Resource
from cluster.retry import RandomBackoff, asked_wait, may_repeat

T = TypeVar("T")
Pause = Callable[[float], object]
"""Waits for a number of seconds."""
MANAGER = "quotree-migrate"
"""The field manager of all writes."""
GROUP, WANTED = "kueue.x-k8s.io", "v1beta2"
_AT_ONCE = 16
"""The number of concurrent writes: about as many as a priority level of the API server allows one client."""
_ATTEMPTS = 8
"""How often a request is sent before the API server counts as failing: about a minute."""
_STARTS = 3
"""How often the migration of a kind starts, at most, if its definition changes meanwhile."""


class DefinitionUnsteady(ClusterError):
    """The definition of a kind changed during each attempt to migrate its objects."""


@dataclass(frozen=True, slots=True)
class StoredKind:
    """A kind with objects that may be stored in an old version.

    `definition`: the name of its CustomResourceDefinition.
    `resource`: the kind in its storage version.
    `stored`: the status.storedVersions of the definition.
    `generation`: the generation of the definition when it was read.
    """

    definition: str
    resource: Resource
    stored: tuple[str, ...]
    generation: int

    @property
    def old(self) -> tuple[str, ...]:
        """The stored versions other than the storage version."""
        return tuple(version for version in self.stored if version != self.resource.version)


@dataclass(frozen=True, slots=True)
class KindMoved:
    """The result for one kind.

    `objects`: how many were found.
    `gone`: how many of them were deleted meanwhile.
    `refused`: for each object that the API server refuses to store, its reason. The kind then keeps its old versions.
    `trimmed`: whether status.storedVersions now has only the storage version.
    """

    kind: StoredKind
    objects: int
    gone: int = 0
    refused: tuple[str, ...] = ()
    trimmed: bool = False


def stored_kinds(cluster: ClusterClient) -> tuple[tuple[StoredKind, ...], tuple[str, ...]]:
    """The kinds of Kueue with old stored versions, and why others cannot be migrated. Raises ClusterError."""
    kinds: list[StoredKind] = []
    refusals: list[str] = []
    for definition in cluster.list(CUSTOM_RESOURCE_DEFINITIONS):
        if definition["spec"].get("group") != GROUP:
            continue
        kind = _stored(definition)
        if not _is_current(definition, kind):
            refusals.append(
                f"{kind.definition} stores {kind.resource.version}, not {WANTED}: upgrade Kueue to 0.19 first"
            )
        elif kind.old:
            kinds.append(kind)
    return tuple(kinds), tuple(refusals)


def _stored(definition: Manifest) -> StoredKind:
    spec, meta = definition["spec"], definition["metadata"]
    version = next(str(each["name"]) for each in spec["versions"] if each.get("storage"))
    resource = Resource(GROUP, version, str(spec["names"]["plural"]), namespaced=spec.get("scope") == "Namespaced")
    stored = (definition.get("status") or {}).get("storedVersions") or ()
    return StoredKind(str(meta["name"]), resource, tuple(map(str, stored)), int(meta.get("generation") or 0))


def _is_current(definition: Manifest, kind: StoredKind) -> bool:
    """Whether the storage version is the newest one: v1beta2, or another one if the kind has no v1beta version."""
    versions = {str(each["name"]) for each in definition["spec"]["versions"]}
    return kind.resource.version == WANTED or not versions & {WANTED, "v1beta1"}


def move(cluster: ClusterClient, kind: StoredKind, *, dry_run: bool, pause: Pause = time.sleep) -> KindMoved:
    """Store each object of the kind again, then trim status.storedVersions.

    With `dry_run`, all writes are dry runs. Raises ClusterError if the API server cannot be reached or fails; finished
    writes remain.
    """
    for _ in range(_STARTS):
        moved = _rewritten(cluster, kind, dry_run, pause)
        if dry_run or moved.refused:
            return moved
        now = _trimmed(cluster, kind)
        if now is None:
            return KindMoved(kind, moved.objects, moved.gone, trimmed=True)
        kind = now
    raise DefinitionUnsteady(f"{kind.definition} changed {_STARTS} times meanwhile; run the command again")


def _rewritten(cluster: ClusterClient, kind: StoredKind, dry_run: bool, pause: Pause) -> KindMoved:
    listing = _until_success(partial(cluster.snapshot, kind.resource, partial(_path, kind.resource)), pause)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="migrate") as pool:
        try:
            answers = list(pool.map(partial(_store_again, cluster, dry_run, pause), listing.items))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    refused = tuple(answer for answer in answers if answer)
    return KindMoved(kind, len(answers), answers.count(None), refused)


def _path(resource: Resource, manifest: Mapping[str, Any]) -> str:
    meta = manifest["metadata"]
    return resource.item(str(meta["name"]), meta.get("namespace"))


def _store_again(cluster: ClusterClient, dry_run: bool, pause: Pause, path: str) -> str | None:
    """Store an object again. Returns why the API server refuses it, or an empty text; None if the object is gone."""
    write = partial(cluster.patch, path, {}, MERGE_PATCH, field_manager=MANAGER, dry_run=dry_run)
    try:
        _until_success(write, pause)
    except NotFound:
        return None
    except (Unauthorized, Conflict):
        raise
    except ApiError as error:
        if error.status == 429 or error.status >= 500:
            raise
        return str(error)
    return ""


def _until_success(request: Callable[[], T], pause: Pause) -> T:
    """Send a repeatable request until it succeeds, and return its response. Raises the last ClusterError."""
    backoff = RandomBackoff()
    for _ in range(_ATTEMPTS - 1):
        try:
            return request()
        except ClusterError as error:
            if not (isinstance(error, Conflict) or may_repeat(error, idempotent=True)):
                raise
            pause(backoff.next(asked_wait(error)))
    return request()


def _trimmed(cluster: ClusterClient, kind: StoredKind) -> StoredKind | None:
    """Remove the old versions from status.storedVersions. Returns None, or the kind if its definition has changed.

    A changed definition may store another version again.
    """
    path = CUSTOM_RESOURCE_DEFINITIONS.item(kind.definition)
    while True:
        try:
            definition = cluster.get(path)
            now = _stored(definition)
            if (now.resource, now.generation) != (kind.resource, kind.generation):
                return now
            body = {
                "metadata": {"resourceVersion": definition["metadata"]["resourceVersion"]},
                "status": {"storedVersions": [kind.resource.version]},
            }
            cluster.patch(f"{path}/status", body, MERGE_PATCH, field_manager=MANAGER)
        except Conflict:
            continue  # the status changed: read it again
        except NotFound:
            return None
        return None
