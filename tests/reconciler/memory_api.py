"""An API server in memory that answers late, wrongly or not at all, and the people and jobs that change its objects.

Nothing happens by itself: writes are carried out, answered and told of by watches when the test says so, in any order
that a network can bring about. Every change of a Workload is recounted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from cluster.actions import Action
from cluster.errors import ApiError, Conflict, Unreachable
from cluster.resource import Resource
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, Outcome
from reconciler.objects.topology_views import TOPOLOGY_KINDS
from reconciler.objects.watched import WATCHED_KINDS, by_kind
from tests.copies import copied
from tests.reconciler.recount import Tree, asked, holds_quota, node, used
from tests.reconciler.stored_objects import Manifest, StoredObjects

_KINDS = by_kind((*WATCHED_KINDS, *TOPOLOGY_KINDS))


@dataclass
class Api(StoredObjects):
    """`tell` takes what the loop is told. `faults` is the share of writes that go wrong, from 0 to 1.

    Nothing is written of the Workloads that are `refused` (`namespace/name`).
    """

    chance: random.Random
    tell: Callable[[Observed | Listed | Outcome], None]
    faults: float = 0.0
    refused: set[str] = field(default_factory=set)
    events: dict[str, list[Observed]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})
    arriving: list[Callable[[], Outcome | None]] = field(default_factory=list)
    answers: list[Outcome] = field(default_factory=list)

    # --- what the loop asks for

    def write(self, key: Key, action: Action) -> None:
        self.arriving.append(partial(self._answer, key, action))

    def read(self, key: Key, resource: Resource) -> None:
        self.arriving.append(lambda: self._get(key))

    # --- the network

    def serve(self, *workloads: str) -> None:
        """Reads, and writes to these Workloads (`namespace/name`), arrive and are answered. All other writes hang."""
        for request in [*self.arriving]:
            if not isinstance(request, partial) or request.args[0] in [("Workload", name) for name in workloads]:
                self.arriving.remove(request)
                answer = request()
                if answer is not None:
                    self.tell(answer)

    def arrive(self) -> None:
        """One request gets through."""
        answer = self.arriving.pop(self.chance.randrange(len(self.arriving)))()
        if answer is not None:
            self.answers.append(answer)

    def answer(self) -> None:
        self.tell(self.answers.pop(self.chance.randrange(len(self.answers))))

    def event(self, kind: str) -> None:
        """The next event of a watch; sometimes it comes twice."""
        observed = self.events[kind].pop(0)
        self.tell(observed)
        if self.chance.random() < self.faults / 4:
            self.tell(observed)

    def relist(self, kind: str, request: int = 0) -> None:
        """The watch broke: what it had not told yet is in the new list."""
        self.events[kind].clear()
        self.tell(self.listed(kind, request))

    def listed(self, kind: str, request: int = 0) -> Listed:
        objects = tuple(self._seen(key) for key in self.objects if key[0] == kind)
        return Listed(kind, objects, str(self.version), request)

    def _answer(self, key: Key, action: Action) -> Outcome | None:
        if key[1] in self.refused:
            return Failed(key, action, ApiError(422, "Invalid", "a policy says no"))
        if self.chance.random() >= self.faults:
            return self.perform(key, action)
        lost = Unreachable("server", "no answer", "look at the network")
        match self.chance.randrange(6):
            case 0:
                return Failed(key, action, Conflict(409, "Conflict", "somebody was faster"))
            case 1:
                return Failed(key, action, ApiError(500, "InternalError", "etcdserver: request timed out"))
            case 2:
                return Failed(key, action, ApiError(429, "TooManyRequests", "later"))
            case 3:
                self.perform(key, action)
                return Failed(key, action, lost)
            case 4:  # it gets through all the same, but after the line was given up
                self.arriving.append(lambda: self._drop(self.perform(key, action)))
                return Failed(key, action, Unreachable("server", "no answer in time", "look at it", slow=True))
            case _:
                return Failed(key, action, ApiError(422, "Invalid", "a policy says no"))

    def _drop(self, _: Outcome) -> None:
        """No caller waits for this answer any more."""

    def _get(self, key: Key) -> Outcome:
        if self.chance.random() < self.faults:
            return Failed(key, None, ApiError(500, "InternalError", "no"))
        return self.look_up(key)

    # --- what is stored

    def put(self, key: Key, manifest: Manifest) -> None:
        """Store it, let the watch know, and recount."""
        before = used(self.workloads())
        was = self.objects.get(key)
        super().put(key, manifest)
        if key[0] == "Workload" and holds_quota(manifest) and not (was and holds_quota(was)):
            overdrawn = self.tree().overdrawn(before, used(self.workloads()))
            assert not overdrawn, f"{key[1]} should not have got quota: {overdrawn}"

    def changed(self, key: Key) -> None:
        there = key in self.objects
        self.events[key[0]].append(self._seen(key) if there else Observed(key, str(self.version), None))

    def workloads(self) -> list[Manifest]:
        return [manifest for (kind, _), manifest in self.objects.items() if kind == "Workload"]

    def tree(self) -> Tree:
        kinds = ("ClusterQueue", "Cohort")
        nodes = (node(manifest) for (kind, _), manifest in self.objects.items() if kind in kinds)
        return Tree({each.name: each for each in nodes})

    def fits(self, workload: Manifest) -> bool:
        """Whether there is room for it now. A LocalQueue has the name of its ClusterQueue here."""
        before = used(self.workloads())
        queue = workload["spec"]["queueName"]
        after = {**before, queue: before.get(queue, 0) + asked(workload)}
        return not self.tree().overdrawn(before, after)

    def _seen(self, key: Key) -> Observed:
        return _KINDS[key[0]].observed(copied(self.objects[key]))
