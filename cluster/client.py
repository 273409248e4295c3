"""A client for one API server, with plain dicts. One object per cluster, no global state."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import urllib3

from cluster.endpoint import Endpoint, endpoint_of
from cluster.errors import ApiError, BadAnswer, Gone, NotFound
from cluster.resource import Manifest, Resource
from cluster.stream import Watch, drop_managed_fields
from cluster.unreachable import unreachable
from cluster.wire import HttpRequest, Timeouts, Wire

T = TypeVar("T")


MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML too
LONGEST_TEXT = 16 * 2**20  # bytes
PAGE = 500  # objects per page, as in client-go's reflectors
_CACHE_BEHIND = "ResourceVersionTooLarge"  # the cause in a Status
_ONE_LIST = 10_000
"""Up to this many objects are listed without pages within the timeouts of a client and of an API server."""
_PATIENT = 20
"""Requests for a page of a longer list. While its cache is behind, an API server takes 3 s for each, so a minute."""


class Selection(TypedDict, total=False):
    """Which objects of a kind are read: of one namespace, and those that the selectors match; by default all."""

    namespace: str | None
    label_selector: str | None
    field_selector: str | None


@dataclass(frozen=True)
class ObjectListing(Generic[T]):
    """All objects of a kind at one resource version; a watch from there continues."""

    items: tuple[T, ...]
    resource_version: str


class ClusterClient:
    """Requests to one API server; thread-safe.

    Every method raises Unreachable, BadAnswer or an ApiError (NotFound, Conflict, Gone, Forbidden, ...), never an
    exception of urllib3.

    `attempts`: how often a request is sent at most, if it is safe to repeat.
    `connections`: how many idle connections are kept. A reconciler sends up to 128 writes and 8 reports at a time, and
    reads at the same time.
    `relogin`: fetches new credentials when the API server rejects the present ones.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeouts: Timeouts | Callable[[], Timeouts] | None = None,
        attempts: int = 3,
        connections: int = 144,
        relogin: Callable[[], Endpoint] | None = None,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._wire = Wire(
            endpoint,
            timeouts=timeouts or Timeouts(),
            attempts=attempts,
            connections=connections,
            relogin=relogin,
            pause=pause,
        )

    @classmethod
    def connect(
        cls,
        context: str | None = None,
        kubeconfig: str | None = None,
        timeouts: Timeouts | Callable[[], Timeouts] | None = None,
        attempts: int = 3,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> "ClusterClient":
        """A client for the cluster of `endpoint_of`. Raises NotConfigured."""
        login = partial(endpoint_of, context, kubeconfig, headers)
        return cls(login(), relogin=login, timeouts=timeouts, attempts=attempts)

    @property
    def host(self) -> str:
        return self._wire.host

    def __enter__(self) -> "ClusterClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections; a later request opens new ones."""
        self._wire.close()

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Manifest:
        return self._wire.call(HttpRequest("GET", path, params or {}, idempotent=True))

    def text(self, path: str) -> str:
        """The text at a path, such as the metrics of a Pod through the API server's proxy."""
        request = HttpRequest("GET", path)
        with self._wire.stream(request, self._wire.timeouts.read) as response:
            try:
                return str(response.read(LONGEST_TEXT).decode("utf-8", "replace"))
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise unreachable(self.host, error) from error

    def served(self, resource: Resource) -> bool:
        """Whether the API server serves this kind in this version (a CRD may not be installed)."""
        try:
            answer = self.get(resource.root)
        except NotFound:
            return False
        return any(entry.get("name") == resource.plural for entry in answer.get("resources") or ())

    def newest(self, versions: Sequence[Resource]) -> Resource:
        """The first of these versions of a kind that the API server serves; if it serves none, the first one."""
        return next((each for each in versions if self.served(each)), versions[0])

    def list(
        self,
        resource: Resource,
        limit: int = PAGE,
        **chosen: Unpack[Selection],
    ) -> Iterator[Manifest]:
        """All objects, one by one, read in pages; see `pages`."""
        for page in self.pages(resource, limit, **chosen):
            yield from page.items

    def pages(
        self,
        resource: Resource,
        limit: int = PAGE,
        *,
        attempts: int | None = None,
        **chosen: Unpack[Selection],
    ) -> Iterator[ObjectListing[Manifest]]:
        """All objects in pages, each with its apiVersion and kind, without managedFields unless `resource.owners`.

        `limit`: the maximum number of objects in a page; 0 means all objects in one page.
        `attempts`: how often a page is requested, at least _PATIENT times if more than _ONE_LIST objects are left.
        Raises Gone between two pages if reading took so long that the continue token expired.
        """
        path = resource.collection(chosen.get("namespace"))
        params = {**({"limit": str(limit)} if limit else {}), **_selectors(chosen)}
        while True:
            answer = self._wire.call(HttpRequest("GET", path, params, idempotent=True), attempts)
            page, proceed, left = _page(answer, path, owners=resource.owners)
            yield page
            if not proceed:
                return
            params = {**params, "continue": proceed}
            if left > _ONE_LIST:
                attempts = _PATIENT

    def snapshot(
        self,
        resource: Resource,
        keep: Callable[[Manifest], T],
        *,
        limit: int = PAGE,
        attempts: int | None = None,
        **chosen: Unpack[Selection],
    ) -> ObjectListing[T]:
        """The result of `keep` for every object, at one resource version. At most one page is held in full.

        Starts over if the continue token expires; raises Gone after three attempts. Starts over without pages if the
        API server's watch cache stays behind etcd, as during a flood of writes. Then the API server refuses later
        pages, which it serves only from that cache, but it reads a list without pages from etcd.
        """
        for attempt in range(3):
            kept: list[T] = []
            version = ""
            try:
                for page in self.pages(resource, limit, attempts=attempts, **chosen):
                    kept += map(keep, page.items)
                    version = page.resource_version
            except Gone:
                if attempt == 2:
                    raise
            except ApiError as error:
                if attempt == 2 or not error.has_cause(_CACHE_BEHIND):
                    raise
                limit = 0
            else:
                break
        return ObjectListing(tuple(kept), version)

    def watch(
        self,
        resource: Resource,
        resource_version: str,
        *,
        seconds: int,
        **chosen: Unpack[Selection],
    ) -> Watch:
        """The events after `resource_version`, with bookmarks; the server ends the watch after `seconds`.

        Use it in a `with` statement. A connection that is silent for much longer than `seconds` counts as broken.
        """
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
            **_selectors(chosen),
        }
        request = HttpRequest("GET", resource.collection(chosen.get("namespace")), params)
        response = self._wire.stream(request, seconds + self._wire.timeouts.watch_grace)
        return Watch(response, self.host, f"watch {request.path}", owners=resource.owners)

    def create(self, path: str, body: Manifest, *, field_manager: str | None = None, dry_run: bool = False) -> Manifest:
        """POST to a collection; Conflict (AlreadyExists) if the name is taken. A dry run stores nothing."""
        return self._wire.call(HttpRequest("POST", path, _writing(field_manager, dry_run), body))

    def replace(self, path: str, body: Manifest, *, field_manager: str | None = None) -> Manifest:
        """PUT; Conflict if the body has an outdated resource version."""
        return self._wire.call(HttpRequest("PUT", path, _writing(field_manager), body))

    def patch(
        self, path: str, body: Any, content_type: str, *, field_manager: str | None = None, dry_run: bool = False
    ) -> Manifest:
        """PATCH with a JSON Patch, merge patch or strategic merge patch. A dry run stores nothing."""
        return self._wire.call(HttpRequest("PATCH", path, _writing(field_manager, dry_run), body, content_type))

    def apply(self, path: str, body: Manifest, field_manager: str, force: bool = False) -> Manifest:
        """Server-side apply: creates or changes exactly the fields of `body`.

        Conflict if another manager owns one of them, unless `force` takes it over.
        """
        params = {"fieldManager": field_manager, "force": "true" if force else "false"}
        return self._wire.call(HttpRequest("PATCH", path, params, body, APPLY_PATCH, idempotent=True))

    def delete(
        self,
        path: str,
        *,
        resource_version: str | None = None,
        uid: str | None = None,
        propagation: str | None = None,
        grace_seconds: int | None = None,
    ) -> Manifest:
        """DELETE. If a resource version or UID is set, the object must still have it; otherwise raises Conflict.

        `propagation`: what happens to its dependents: Background, Foreground or Orphan. `grace_seconds`: how long a Pod
        may take to end; None means the period that the Pod names.
        """
        still = {"resourceVersion": resource_version, "uid": uid}
        preconditions = {key: value for key, value in still.items() if value}
        body = {
            **({"preconditions": preconditions} if preconditions else {}),
            **({"propagationPolicy": propagation} if propagation else {}),
            **({"gracePeriodSeconds": grace_seconds} if grace_seconds is not None else {}),
        }
        return self._wire.call(HttpRequest("DELETE", path, body=body or None))


def _selectors(chosen: Selection) -> dict[str, str]:
    selectors = {"labelSelector": chosen.get("label_selector"), "fieldSelector": chosen.get("field_selector")}
    return {name: selector for name, selector in selectors.items() if selector}


def _writing(field_manager: str | None, dry_run: bool = False) -> dict[str, str]:
    return {**({"fieldManager": field_manager} if field_manager else {}), **({"dryRun": "All"} if dry_run else {})}


def _page(answer: Manifest, path: str, *, owners: bool) -> tuple[ObjectListing[Manifest], str, int]:
    """The objects of one page, the token for the next, and how many objects are left; 0 if the server does not say.

    Items of built-in lists lack apiVersion and kind, which come from the list.
    """
    metadata, items = answer.get("metadata"), answer.get("items")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("resourceVersion"), str):
        raise BadAnswer(f"GET {path}: the response is not a list with a resource version")
    kind = {"apiVersion": answer.get("apiVersion"), "kind": str(answer.get("kind")).removesuffix("List")}
    whole = ({**kind, **item} for item in items or ())
    items = tuple(whole if owners else map(drop_managed_fields, whole))
    left = metadata.get("remainingItemCount")
    proceed = metadata.get("continue") or ""
    return ObjectListing(items, metadata["resourceVersion"]), proceed, left if isinstance(left, int) else 0
