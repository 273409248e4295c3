"""Moves stored objects of Kueue to the version that their definition stores today.

The API server stores an object in the storage version of its definition when it is written, and
`status.storedVersions` lists every version that may still be in its store. A patch without fields makes the API server
read an object and store it again: nothing of it can be overwritten, even if a client changes it meanwhile. An object
that is stored in the right version already is not written. Then the list is trimmed. So the cluster is the only memory:
after a kill the same call continues.
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
"""Rests for so many seconds."""
MANAGER = "quotree-migrate"
"""The field manager of all writes."""
GROUP, WANTED = "kueue.x-k8s.io", "v1beta2"
_AT_ONCE = 16
"""Writes at the same time; as many as an API server's priority level leaves to one client."""
_ATTEMPTS = 8
"""How often a request is sent before the API server counts as failing: about a minute."""
_STARTS = 3
"""How often a kind is begun whose definition changes meanwhile."""


class DefinitionUnsteady(ClusterError):
    """The definition of a kind changed each time that its objects were moved."""


@dataclass(frozen=True, slots=True)
class StoredKind:
    """A kind with objects that may be stored in another version than `resource`, its storage version.

    `stored`: its status.storedVersions. `generation`: of the definition when it was read.
    """

    definition: str
    resource: Resource
    stored: tuple[str, ...]
    generation: int

    @property
    def old(self) -> tuple[str, ...]:
        """The versions that are to go."""
        return tuple(version for version in self.stored if version != self.resource.version)


@dataclass(frozen=True, slots=True)
class KindMoved:
    """The result for one kind. `objects` were found, `gone` of them deleted meanwhile.

    `refused`: each object that the API server does not store as it is, with its reason; the kind then keeps its old
    versions. `trimmed`: status.storedVersions has the storage version alone.
    """

    kind: StoredKind
    objects: int
    gone: int = 0
    refused: tuple[str, ...] = ()
    trimmed: bool = False


def stored_kinds(cluster: ClusterClient) -> tuple[tuple[StoredKind, ...], tuple[str, ...]]:
    """The kinds of Kueue with old versions in the store, and why some cannot be moved. Raises ClusterError."""
    kinds: list[StoredKind] = []
    refusals: list[str] = []
    for definition in cluster.list(CUSTOM_RESOURCE_DEFINITIONS):
        if definition["spec"].get("group") != GROUP:
            continue
        kind = _stored(definition)
        if not _is_new(definition, kind):
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


def _is_new(definition: Manifest, kind: StoredKind) -> bool:
    """Kinds that exist as v1alpha1 alone stay there."""
    versions = {str(each["name"]) for each in definition["spec"]["versions"]}
    return kind.resource.version == WANTED or not versions & {WANTED, "v1beta1"}


def move(cluster: ClusterClient, kind: StoredKind, *, dry_run: bool, pause: Pause = time.sleep) -> KindMoved:
    """Store each object of the kind again, then trim status.storedVersions.

    With `dry_run` the API server is asked and stores nothing. Raises ClusterError if it cannot be reached or fails;
    what is done stays.
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
    listing = _patiently(partial(cluster.snapshot, kind.resource, partial(_path, kind.resource)), pause)
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
    """Why the API server refuses the object, empty if it does not; None if the object is gone."""
    write = partial(cluster.patch, path, {}, MERGE_PATCH, field_manager=MANAGER, dry_run=dry_run)
    try:
        _patiently(write, pause)
    except NotFound:
        return None
    except (Unauthorized, Conflict):
        raise
    except ApiError as error:
        if error.status == 429 or error.status >= 500:
            raise
        return str(error)
    return ""


def _patiently(request: Callable[[], T], pause: Pause) -> T:
    """The answer of a request that may be sent any number of times. Raises its last ClusterError."""
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
            continue  # its status changed: the answer is in what is read next
        except NotFound:
            return None
        return None
