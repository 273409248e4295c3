"""Lists and watches all objects of one kind, and reports every change to the caller."""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, Unpack

from cluster.client import PAGE, ClusterClient, Selection
from cluster.errors import BadAnswer, ClusterError, Gone, NotFound, SetBack
from cluster.resource import Manifest, Resource
from cluster.retry import RandomBackoff, asked_wait
from cluster.stream import Watch, WatchEvent
from cluster.versions import is_newer, is_older

T = TypeVar("T")
State = Literal["new", "listing", "watching", "waiting", "absent", "stopped"]
ChangeKind = Literal["ADDED", "MODIFIED", "DELETED"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pacing:
    """Intervals in seconds, all with jitter so that many reflectors do not act at the same time.

    `first`, `longest`: see RandomBackoff.
    `probe`: how often to check for a CRD that is not installed.
    `watch`: how long the server keeps a watch open. It is short because a kind without changes may get its first
    bookmark only after two minutes.
    `brief`: a watch that ends sooner than this, without events, counts as a failure.
    """

    first: float = 0.5
    longest: float = 30.0
    probe: float = 30.0
    watch: int = 75
    brief: float = 5.0


class Reflector(Generic[T]):
    """Follows all objects of one resource, or those that the selectors choose, in its own thread.

    `keep`: converts each object into the value that the callbacks get (see `whole`).
    `on_replace(items, version)`: gets the full set after every list; it is empty if the CRD is not installed. Objects
    that are not in it are gone.
    `on_change(kind, item, version)`: gets each later change.
    `on_list`: called before each list begins.
    `on_set_back`: called if the API server has older data than before. Later callbacks have older versions.
    `newest`: returns the resource in the version to list, since a CRD may be installed later, and in other versions;
    called before each list. May raise ClusterError. By default the version is always that of `resource`.
    All callbacks run in the reflector's thread, one at a time. If one raises, the reflector logs that and lists again
    after a wait.

    A failed list, a 410, a truncated line or a failed callback leads to a new list. A broken watch resumes from the
    last version, if the API server still has that version. The reflector waits after every failure, so that no response
    can cause a hot loop.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        resource: Resource,
        on_change: Callable[[ChangeKind, T, str], None],
        *,
        on_replace: Callable[[tuple[T, ...], str], None],
        keep: Callable[[Manifest], T],
        on_list: Callable[[], None] = lambda: None,
        on_set_back: Callable[[SetBack], None] = lambda _: None,
        newest: Callable[[], Resource] | None = None,
        limit: int = PAGE,
        pacing: Pacing | None = None,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], object] | None = None,
        chance: random.Random | None = None,
        **chosen: Unpack[Selection],
    ) -> None:
        self.resource = resource
        self.synced = threading.Event()
        self.last_error: Exception | None = None
        self.state: State = "new"
        self._cluster = cluster
        self._on_change = on_change
        self._on_replace = on_replace
        self._keep = keep
        self._on_list = on_list
        self._on_set_back = on_set_back
        self._newest = newest or (lambda: resource)
        self._chosen = chosen
        self._limit = limit
        self._pacing = pacing or Pacing()
        self._clock = clock
        self._stop = threading.Event()
        self._rest = rest or self._stop.wait
        self._chance = chance or random.Random()  # noqa: S311 - draws waiting times, no secrets
        self._backoff = RandomBackoff(self._pacing.first, self._pacing.longest, self._chance)
        self._version: str | None = None
        self._newest_seen = ""
        self._cut_off = False
        self._contact: float | None = None
        self._known_absent = False
        self._current: Watch | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"reflector {resource}", daemon=True)

    def start(self) -> None:
        """Begin to list; returns at once. `synced` is set after the first full set was delivered."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread, even in a blocked read; returns when it has ended or after `timeout` seconds.

        Only a connection attempt or a list in progress can take longer; it is abandoned and delivers nothing.
        """
        with self._lock:
            self._stop.set()
            if self._current is not None:
                self._current.interrupt()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def age(self) -> float | None:
        """Seconds since the API server's last successful response; None if there was none.

        Every watch ends after about `Pacing.watch` seconds and a new one starts, which counts as a response. An age of
        minutes therefore means that something is wrong.
        """
        return None if self._contact is None else self._clock() - self._contact

    def _run(self) -> None:
        while not self._stop.is_set():
            wait = self._attempt()
            if wait > 0 and not self._stop.is_set():
                self._rest(wait)
        self.state = "stopped"

    def _attempt(self) -> float:
        """List if there is no version to resume from, then watch; returns the seconds to wait afterwards."""
        try:
            return self._follow()
        except SetBack as error:
            self._version, self._newest_seen = None, ""
            self._on_set_back(error)
            return self._failed(error)
        except (Gone, BadAnswer) as error:
            self._version = None  # only a list can show what the watch missed
            return self._failed(error)
        except ClusterError as error:
            return self._failed(error)
        except Exception as error:
            log.exception("%s: a callback failed; listing again", self.resource)
            self._version = None
            return self._failed(error)

    def _follow(self) -> float:
        try:
            if self._version is None:
                self._list()
            elif self._cut_off:
                self._check_version()
            return self._watch()
        except NotFound as error:
            if self._version is None:
                return self._absent(error)
            self._version = None  # the list shows whether another version is served
            return self._failed(error)

    def _list(self) -> None:
        self.state = "listing"
        self.resource = self._newest()
        self._on_list()
        listing = self._cluster.snapshot(
            self.resource,
            self._keep,
            limit=self._limit,
            **self._chosen,
            attempts=1,  # the reflector does its own waiting
        )
        self._received()
        self._known_absent = False
        self._compare(listing.resource_version)
        self._replace(listing.items, listing.resource_version)
        self._version = self._newest_seen = listing.resource_version

    def _check_version(self) -> None:
        """Check that the API server has the version of the last event. It may have been restored in the meantime."""
        pages = self._cluster.pages(
            self.resource,
            1,
            **self._chosen,
            attempts=1,
        )
        self._compare(next(pages).resource_version)

    def _compare(self, listed: str) -> None:
        """Raise SetBack if a list is older than what this reflector has seen. `listed`: the version of the list.

        The API server reads a list from its storage, or waits until its cache has the same version.
        """
        if is_older(listed, self._newest_seen):
            raise SetBack(
                f"{self._cluster.host} was set back from version {self._newest_seen} to {listed}, as by a restore from"
                " a backup"
            )

    def _watch(self) -> float:
        version = self._version or ""
        self._cut_off = True
        seconds = round(self._pacing.watch * self._chance.uniform(0.9, 1.1))
        started = self._clock()
        with self._cluster.watch(
            self.resource,
            version,
            **self._chosen,
            seconds=seconds,
        ) as watch:
            self._received()
            self.state = "watching"
            self._hold(watch)
            try:
                for event in watch:
                    self._take(event)
            finally:
                self._hold(None)
        self._cut_off = self._clock() - started < seconds
        if self._version != version or self._clock() - started >= self._pacing.brief:
            self._backoff.reset()
            return 0.0
        log.info("%s: the server ended the watch at once", self.resource)
        self.state = "waiting"
        return self._backoff.next()

    def _hold(self, watch: Watch | None) -> None:
        """Set the watch that `stop` must interrupt."""
        with self._lock:
            self._current = watch
            if watch is not None and self._stop.is_set():
                watch.interrupt()

    def _take(self, event: WatchEvent) -> None:
        self._received()
        if self._stop.is_set() or not is_newer(event.resource_version, self._version):
            return  # a repeated or late event
        if event.kind != "BOOKMARK":
            self._on_change(event.kind, self._keep(event.manifest), event.resource_version)
        self._version = self._newest_seen = event.resource_version
        self._backoff.reset()
        self.last_error = None

    def _replace(self, items: tuple[T, ...], version: str) -> None:
        if not self._stop.is_set():
            self._on_replace(items, version)
            self.synced.set()

    def _absent(self, error: NotFound) -> float:
        """Report that there are no objects, since the CRD is not installed; returns the wait until the next check."""
        self._received()
        self._version = None
        if not self._known_absent:
            log.info("%s is not installed in %s; checking again from time to time", self.resource, self._cluster.host)
            self._replace((), "")
            self._known_absent = True
        self.state = "absent"
        self.last_error = error
        return self._pacing.probe * self._chance.uniform(0.8, 1.2)

    def _failed(self, error: Exception) -> float:
        wait = self._backoff.next(asked_wait(error) if isinstance(error, ClusterError) else None)
        self.state = "waiting"
        self.last_error = error
        log.warning("%s: %s; next attempt in %.1f s", self.resource, error, wait)
        return wait

    def _received(self) -> None:
        self._contact = self._clock()


def whole(manifest: Manifest) -> Manifest:
    """A `keep` function that keeps the whole object, except managedFields, which are always dropped."""
    return manifest


def of_one(
    cluster: ClusterClient,
    resource: Resource,
    name: str,
    take: Callable[[T | None], None],
    *,
    keep: Callable[[Manifest], T],
    namespace: str | None = None,
    pacing: Pacing | None = None,
    on_set_back: Callable[[SetBack], None] = lambda _: None,
) -> Reflector[T]:
    """A reflector of one object. `take` gets its state after every list and change; None if it does not exist."""
    return Reflector(
        cluster,
        resource,
        lambda change, item, _: take(None if change == "DELETED" else item),
        on_replace=lambda items, _: take(next(iter(items), None)),
        on_set_back=on_set_back,
        keep=keep,
        namespace=namespace,
        field_selector=f"metadata.name={name}",
        pacing=pacing,
    )
