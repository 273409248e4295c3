"""The writes to workers: at most one in flight for each object, a backoff after each failure, and no duplicate jobs."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from cluster.actions import Action, Create
from cluster.errors import ApiError, Conflict, Unreachable
from cluster.retry import RandomBackoff
from reconciler.core.retries import refused
from reconciler.multikueue.worker_cache import WORKLOAD
from reconciler.objects.observed import Key
from reconciler.objects.outcomes import Failed, ObjectRead, Outcome, Written
from reconciler.objects.workers import WorkerWrite
from scheduling.objects.times import SECOND
from scheduling.placement.group import PlacementRefusal

log = logging.getLogger(__name__)
_FIRST, _LONGEST = 0.5, 60.0
_REJECTED_AFTER = 10 * SECOND
"""How long creations may fail before the worker counts as rejecting the object. Our own watch may report it late."""
_REJECTED_FOR = 5 * 60 * SECOND
"""How long to wait until the object is tried again."""
_REMEMBERED = _REJECTED_FOR - int(_LONGEST * SECOND)
"""How long after its backoff an object that was not written again is forgotten."""
_LONGEST_MESSAGE = 1024
_NAME_TAKEN = PlacementRefusal(
    "NameTaken", "has an object of this name that MultiKueue did not make; rename one of the two"
)
_COPY_CHANGED = PlacementRefusal(
    "CopyChanged", "stores another copy of the Workload; install the manager's version of the CRDs there"
)


@dataclass(slots=True)
class _Object:
    """The state of one object's writes.

    `until`: the end of its backoff.
    `unsure`: the creation of a job, if its result is unknown.
    `rejection`: why the API server does not create the object.
    `since`, `last`: when that failed for the first and for the last time; 0 if it did not.
    """

    until: int = 0
    backoff: RandomBackoff = field(default_factory=lambda: RandomBackoff(_FIRST, _LONGEST))
    unsure: Action | None = None
    rejection: PlacementRefusal | None = None
    since: int = 0
    last: int = 0


class RemoteWrites:
    """The writes to all workers.

    `now`: the time of the present event (nanoseconds).
    `followed`: returns the fields of a log line about an object.
    """

    def __init__(self, followed: Callable[[Key], Mapping[str, str]] = lambda _: {}) -> None:
        self.now = 0
        self._followed = followed
        self._flying: set[tuple[str, Key]] = set()
        self._objects: dict[tuple[str, Key], _Object] = {}
        self._altered: dict[tuple[str, Key], int] = {}
        self._backoffs: list[tuple[int, str, Key]] = []

    def send(self, cluster: str, key: Key, action: Action) -> Iterator[WorkerWrite]:
        """Send the write, unless another one for the object is in flight, or the object has a backoff."""
        if self.busy(cluster, key):
            return
        self._flying.add((cluster, key))
        if key[0] != WORKLOAD and isinstance(action, Create):
            self._objects.setdefault((cluster, key), _Object()).unsure = action
        yield WorkerWrite(cluster, key, action)

    def busy(self, cluster: str, key: Key) -> bool:
        found = self._objects.get((cluster, key))
        return self.flying(cluster, key) or (found is not None and self.now < found.until)

    def flying(self, cluster: str, key: Key) -> bool:
        return (cluster, key) in self._flying

    def unsure(self, cluster: str, key: Key) -> bool:
        """Whether the result of the creation of a job is unknown."""
        found = self._objects.get((cluster, key))
        return found is not None and found.unsure is not None

    def rejection(self, cluster: str, key: Key, *, exists: bool) -> PlacementRefusal | None:
        """Why the worker does not accept the object; None if it does. `exists`: whether ours is there."""
        if self.now < self._altered.get((cluster, key), 0):
            return _COPY_CHANGED
        found = self._objects.get((cluster, key))
        if exists or found is None or not found.since + _REJECTED_AFTER <= self.now < found.last + _REJECTED_FOR:
            return None
        return found.rejection

    def altered(self, cluster: str, key: Key) -> None:
        """The worker has stored another object than it was sent, so it would do the same again."""
        self._altered[cluster, key] = until = self.now + _REJECTED_FOR
        heapq.heappush(self._backoffs, (until, cluster, key))

    def observed(self, cluster: str, key: Key) -> None:
        """The object was observed, so it is known whether it exists. A write that met another version may succeed."""
        found = self._objects.get((cluster, key))
        if found is not None:
            found.unsure, found.rejection, found.since, found.until = None, None, 0, 0

    def listed(self, cluster: str, kind: str) -> None:
        """All objects of the kind are known now. But a write in flight may still create an object."""
        for (name, key), found in self._objects.items():
            if (name, key[0]) == (cluster, kind) and (name, key) not in self._flying:
                found.unsure = None

    def forget_rejections(self, cluster: str) -> None:
        """The kubeconfig has changed. It may have other rights, so objects that were rejected are tried again."""
        for (name, _), found in self._objects.items():
            if name == cluster:
                found.rejection, found.since, found.until = None, 0, 0

    def drop(self, cluster: str) -> None:
        self._flying = {entry for entry in self._flying if entry[0] != cluster}
        self._objects = {entry: found for entry, found in self._objects.items() if entry[0] != cluster}
        self._altered = {entry: until for entry, until in self._altered.items() if entry[0] != cluster}

    def over(self, cluster: str, outcome: Outcome) -> None:
        self._flying.discard((cluster, outcome.key))
        match outcome:
            case Written() | ObjectRead():
                self._objects.pop((cluster, outcome.key), None)
            case Failed():
                self._failed(cluster, outcome)

    def _failed(self, cluster: str, outcome: Failed) -> None:
        error, now = outcome.error, self.now
        found = self._objects.setdefault((cluster, outcome.key), _Object())
        if refused(error) or (isinstance(error, Unreachable) and not error.sent):
            found.unsure = None
        if isinstance(error, ApiError) and isinstance(outcome.action, Create):
            rejection, before = _rejected(outcome.key, error), found.rejection
            same = before is not None and before.retried == rejection.retried
            found.rejection, found.since, found.last = rejection, found.since if same else now, now
        if not isinstance(error, Unreachable):
            fields = self._followed(outcome.key)
            log.warning("worker %s, %s %s: %s", cluster, *outcome.key, error, extra={"fields": fields})
        found.until = now + int(found.backoff.next() * SECOND)
        for moment in (found.until, now + _REJECTED_FOR):
            heapq.heappush(self._backoffs, (moment, cluster, outcome.key))

    def rested(self, connected: Callable[[str], bool]) -> Iterator[tuple[Key, WorkerWrite | None]]:
        """The keys of objects whose backoff is over, with a write if one has to be sent at once.

        If the result of a creation is unknown, the job is created again. The API server creates it only once, and its
        answer shows whether the job exists.
        """
        while self._backoffs and self._backoffs[0][0] <= self.now:
            _, cluster, key = heapq.heappop(self._backoffs)
            if self._altered.get((cluster, key), self.now + 1) <= self.now:
                del self._altered[cluster, key]
            found = self._objects.get((cluster, key))
            if found is not None and found.unsure is not None and connected(cluster) and not self.busy(cluster, key):
                self._flying.add((cluster, key))
                yield key, WorkerWrite(cluster, key, found.unsure)
            else:
                if found is not None and found.unsure is None and found.until + _REMEMBERED <= self.now:
                    del self._objects[cluster, key]
                yield key, None


def _rejected(key: Key, error: Exception) -> PlacementRefusal:
    if isinstance(error, Conflict):
        return _NAME_TAKEN
    what, text = "the copy" if key[0] == WORKLOAD else "the job", str(error)[:_LONGEST_MESSAGE]
    if refused(error):
        return PlacementRefusal("Rejected", f"does not accept {what}: {text}")
    return PlacementRefusal("CreationFailed", f"fails to create {what}: {text}", retried=True)
