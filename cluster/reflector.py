"""List, then watch: keeps the caller told about every object of one kind, for as long as it runs."""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from cluster.client import PAGE, Cluster
from cluster.errors import BadAnswer, ClusterError, Gone, NotFound
from cluster.resource import Resource
from cluster.retry import Backoff, asked_wait
from cluster.stream import Event, Manifest, Watch

T = TypeVar("T")
State = Literal["new", "listing", "watching", "waiting", "absent", "stopped"]
ChangeKind = Literal["ADDED", "MODIFIED", "DELETED"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pacing:
    """Seconds, all drawn with jitter so that many reflectors never act in step.

    `probe`: between two looks for a CRD that is not installed. `watch`: how long the server keeps one watch open.
    `brief`: a watch that ends sooner and brought nothing counts as a failure. `first`, `longest`: see Backoff.
    """

    first: float = 0.5
    longest: float = 30.0
    probe: float = 30.0
    watch: int = 290
    brief: float = 5.0


class Reflector(Generic[T]):
    """Follows all objects of one resource, or those that the selectors choose, in a thread of its own.

    `keep` makes of each object what the caller wants to hold (see `whole`). `on_replace(items, version)` hands
    over the full set: at first, after every new list and, empty, when the CRD is not installed; what is not in
    it is gone. `on_change(kind, item, version)` tells of one object since. Both run in the reflector's thread,
    never at the same time; if one raises, that is logged and everything is listed anew after a wait.

    A list that failed, a 410, a cut line or a broken callback leads to a new list; a watch that merely broke is
    resumed from the last version. Every failure waits, so that no answer of a server can make a hot loop.
    """

    def __init__(
        self,
        cluster: Cluster,
        resource: Resource,
        on_change: Callable[[ChangeKind, T, str], None],
        *,
        on_replace: Callable[[tuple[T, ...], str], None],
        keep: Callable[[Manifest], T],
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = PAGE,
        pacing: Pacing | None = None,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], object] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self.resource = resource
        self.synced = threading.Event()
        self.last_error: Exception | None = None
        self.state: State = "new"
        self._cluster = cluster
        self._on_change = on_change
        self._on_replace = on_replace
        self._keep = keep
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._limit = limit
        self._pacing = pacing or Pacing()
        self._clock = clock
        self._stop = threading.Event()
        self._rest = rest or self._stop.wait
        self._chance = chance or random.Random()  # noqa: S311 - draws waiting times, no secrets
        self._backoff = Backoff(self._pacing.first, self._pacing.longest, self._chance)
        self._version: str | None = None
        self._contact: float | None = None
        self._known_absent = False
        self._current: Watch | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"reflector {resource}", daemon=True)

    def start(self) -> None:
        """Begin to list; returns at once. `synced` is set after the first full set was handed over."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread, also out of a blocked read; returns when it has ended or after `timeout` seconds.

        Only a connection attempt or a list in progress can outlast that; it is abandoned and hands over nothing.
        """
        with self._lock:
            self._stop.set()
            if self._current is not None:
                self._current.interrupt()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def age(self) -> float | None:
        """Seconds since what was handed over was last known to be all (None: never); failures do not count.

        A quiet watch has a bookmark about each minute, so an age of minutes means that something is wrong.
        """
        return None if self._contact is None else self._clock() - self._contact

    def _run(self) -> None:
        while not self._stop.is_set():
            wait = self._attempt()
            if wait > 0 and not self._stop.is_set():
                self._rest(wait)
        self.state = "stopped"

    def _attempt(self) -> float:
        """One list if there is no version to go on from, then one watch; returns the seconds to wait afterwards."""
        try:
            if self._version is None:
                self._list()
            return self._watch()
        except NotFound as error:
            return self._absent(error)
        except (Gone, BadAnswer) as error:
            self._version = None  # what happened meanwhile, or in the line that cannot be read, only a list can tell
            return self._failed(error)
        except ClusterError as error:
            return self._failed(error)
        except Exception as error:
            log.exception("%s: a listener failed; everything is listed anew", self.resource)
            self._version = None
            return self._failed(error)

    def _list(self) -> None:
        self.state = "listing"
        listing = self._cluster.snapshot(
            self.resource,
            self._keep,
            limit=self._limit,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            attempts=1,  # waiting is our own business here
        )
        self._heard()
        self._known_absent = False
        self._replace(listing.items, listing.resource_version)
        self._version = listing.resource_version

    def _watch(self) -> float:
        version = self._version or ""
        seconds = round(self._pacing.watch * self._chance.uniform(0.9, 1.1))
        started = self._clock()
        with self._cluster.watch(
            self.resource,
            version,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            seconds=seconds,
        ) as watch:
            self._heard()
            self.state = "watching"
            self._hold(watch)
            try:
                for event in watch:
                    self._take(event)
            finally:
                self._hold(None)
        if self._version != version or self._clock() - started >= self._pacing.brief:
            self._backoff.reset()
            return 0.0
        log.info("%s: the server ended the watch at once", self.resource)
        self.state = "waiting"
        return self._backoff.next()

    def _hold(self, watch: Watch | None) -> None:
        """Name the watch that `stop` has to interrupt."""
        with self._lock:
            self._current = watch
            if watch is not None and self._stop.is_set():
                watch.interrupt()

    def _take(self, event: Event) -> None:
        self._heard()
        if self._stop.is_set() or not _is_newer(event.resource_version, self._version):
            return  # a repeated or late event: what it says is known, or overtaken
        if event.kind != "BOOKMARK":
            self._on_change(event.kind, self._keep(event.manifest), event.resource_version)
        self._version = event.resource_version
        self._backoff.reset()
        self.last_error = None

    def _replace(self, items: tuple[T, ...], version: str) -> None:
        if not self._stop.is_set():
            self._on_replace(items, version)
            self.synced.set()

    def _absent(self, error: NotFound) -> float:
        """The CRD is not installed (or no longer): there are no objects, and now and then another look."""
        self._heard()
        self._version = None
        if not self._known_absent:
            log.info("%s is not installed in %s; looking again from time to time", self.resource, self._cluster.host)
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

    def _heard(self) -> None:
        self._contact = self._clock()


def whole(manifest: Manifest) -> Manifest:
    """For `keep`: the object as it is (without managedFields, which no listener gets)."""
    return manifest


def _is_newer(version: str, than: str | None) -> bool:
    """Whether an event comes after what is known; the versions of one resource are growing decimal numbers.

    Anything else is opaque and counts as newer. Source: KEP-5504, Comparable Resource Version.
    """
    known = than or ""
    if not (version.isdecimal() and known.isdecimal()):
        return True
    return (len(version), version) > (len(known), known)
