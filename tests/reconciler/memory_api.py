"""An API server in memory that answers late, wrongly or not at all, and the people and jobs that change its objects.

Nothing happens by itself: writes are carried out, answered and told of by watches when the test says so, in any order
that a network can bring about. Every change of a Workload is recounted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cluster.actions import Action, Patch
from cluster.errors import ApiError, ClusterError, Conflict, NotFound, Unreachable
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, ObjectRead, Outcome, Written
from reconciler.objects.watched import WATCHED_KINDS, by_kind
from tests.copies import copied
from tests.merging import merged
from tests.reconciler.recount import Tree, asked, holds_quota, node, used

Manifest = dict[str, Any]
_KINDS = by_kind()


@dataclass
class Api:
    """`tell` takes what the loop is told. `faults` is the share of writes that go wrong, from 0 to 1.

    Nothing is written of the Workloads that are `refused` (`namespace/name`).
    """

    chance: random.Random
    tell: Callable[[Observed | Listed | Outcome], None]
    faults: float = 0.0
    refused: set[str] = field(default_factory=set)
    version: int = 0
    objects: dict[Key, Manifest] = field(default_factory=dict)
    events: dict[str, list[Observed]] = field(default_factory=lambda: {each.kind: [] for each in WATCHED_KINDS})
    arriving: list[Callable[[], Outcome | None]] = field(default_factory=list)
    answers: list[Outcome] = field(default_factory=list)

    # --- what the loop asks for

    def write(self, key: Key, action: Action) -> None:
        self.arriving.append(lambda: self._answer(key, action))

    def read(self, key: Key, path: str) -> None:
        self.arriving.append(lambda: self._get(key))

    # --- the network

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
            return self._carried_out(key, action)
        lost = Unreachable("server", "no answer", "look at the network")
        match self.chance.randrange(6):
            case 0:
                return Failed(key, action, Conflict(409, "Conflict", "somebody was faster"))
            case 1:
                return Failed(key, action, ApiError(500, "InternalError", "etcdserver: request timed out"))
            case 2:
                return Failed(key, action, ApiError(429, "TooManyRequests", "later"))
            case 3:
                self._carried_out(key, action)
                return Failed(key, action, lost)
            case 4:  # it gets through all the same, but after the line was given up
                self.arriving.append(lambda: self._drop(self._carried_out(key, action)))
                return Failed(key, action, lost)
            case _:
                return Failed(key, action, ApiError(422, "Invalid", "a policy says no"))

    def _drop(self, _: Outcome) -> None:
        """Nobody waits for this answer any more."""

    def _carried_out(self, key: Key, action: Action) -> Outcome:
        assert isinstance(action, Patch)
        stored = self.objects.get(key)
        if stored is None:
            return Failed(key, action, NotFound(404, "NotFound", "no such object"))
        if stored["metadata"]["resourceVersion"] != action.resource_version:
            return Failed(key, action, Conflict(409, "Conflict", "the object has been modified"))
        self.put(key, merged(stored, action.body))
        return Written(key, action, copied(self.objects[key]))

    def _get(self, key: Key) -> Outcome:
        if self.chance.random() < self.faults:
            error: ClusterError = ApiError(500, "InternalError", "no")
            return Failed(key, None, error)
        if key not in self.objects:
            return Failed(key, None, NotFound(404, "NotFound", "no such object"))
        return ObjectRead(key, copied(self.objects[key]))

    # --- what is stored

    def put(self, key: Key, manifest: Manifest) -> None:
        """Store it, let the watch know, and recount."""
        before = used(self.workloads())
        was = self.objects.get(key)
        self.version += 1
        manifest = copied(manifest)
        manifest["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = manifest
        self.events[key[0]].append(self._seen(key))
        if key[0] == "Workload" and holds_quota(manifest) and not (was and holds_quota(was)):
            overdrawn = self.tree().overdrawn(before, used(self.workloads()))
            assert not overdrawn, f"{key[1]} should not have got quota: {overdrawn}"

    def delete(self, key: Key) -> None:
        if self.objects.pop(key, None) is not None:
            self.version += 1
            self.events[key[0]].append(Observed(key, str(self.version), None))

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
