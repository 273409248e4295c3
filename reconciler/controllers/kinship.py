"""Which jobs belong to which: by the UIDs of controllers, of all jobs in sight, and by what they ask for.

Source: Kueue v0.19, FindAncestorJobManagedByKueue. Kueue believes any number of children of any size; here those count
that fit into what the job above was admitted for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policies.amounts.ancestry import DEEPEST
from policies.amounts.requests import template_requests, total
from policies.dialects.reading import Manifest, metadata, text
from reconciler.jobs.kind import JobKind
from reconciler.jobs.step import Step
from reconciler.objects.observed import Key
from scheduling.objects.times import SECOND

PATIENCE = 2 * SECOND
"""Kinds are watched one by one, so that a child may be seen before the job that it belongs to."""


_TOO_DEEP = Step(
    None,
    "JobNestingTooDeep",
    f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEEPEST}",
    warning=True,
)


class Relative(NamedTuple):
    """A job as others see it. `claim` is the UID of the controller that it names, empty where that is no job.

    `queued`: others may belong to it. `running`: it may have pods. `asks`: what all its pods request. `generations`: so
    many times that its children may take while it replaces one by the next.
    """

    uid: str
    namespace: str
    claim: str
    queued: bool
    running: bool
    created: tuple[str, str]
    asks: dict[str, int]
    generations: int


def relative(kind: JobKind, job: Manifest, claim: str, *, queued: bool) -> Relative:
    meta = metadata(job)
    name = text(meta.get("name")) or ""
    running = not (kind.suspended(job) or kind.ending(job) or meta.get("deletionTimestamp"))
    return Relative(
        uid=text(meta.get("uid")) or "",
        namespace=text(meta.get("namespace")) or "",
        claim=claim,
        queued=queued,
        running=running,
        created=(text(meta.get("creationTimestamp")) or "", name),
        asks=total(template_requests(pods.template, pods.count) for pods in kind.shape.pods_of(job)),
        generations=kind.shape.generations,
    )


class Kinship:
    """All jobs in sight. One that names a controller which is not in sight is waited for a while."""

    def __init__(self) -> None:
        self._by_key: dict[Key, Relative] = {}
        self._by_uid: dict[str, Key] = {}
        self._children: dict[str, dict[Key, None]] = {}
        self._unseen: dict[Key, int] = {}

    def put(self, key: Key, found: Relative) -> None:
        self.drop(key)
        self._by_key[key] = found
        self._by_uid[found.uid] = key
        if found.claim:
            self._children.setdefault(found.claim, {})[key] = None

    def drop(self, key: Key) -> None:
        found = self._by_key.pop(key, None)
        if found is None:
            return
        if self._by_uid.get(found.uid) == key:
            del self._by_uid[found.uid]
        siblings = self._children.get(found.claim, {})
        siblings.pop(key, None)
        if found.claim and not siblings:
            self._children.pop(found.claim, None)

    def forget(self, key: Key) -> None:
        self.drop(key)
        self._unseen.pop(key, None)

    def below(self, key: Key) -> Iterator[Key]:
        """All that name it, or one of these, as their controller."""
        waiting, seen = [key], {key}
        while waiting:
            found = self._by_key.get(waiting.pop())
            for child in self._children.get(found.uid, ()) if found is not None else ():
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
                    yield child

    def wait(self, key: Key, now: int) -> int | None:
        """Until when nothing is concluded about it, since its controller is not in sight; moments in nanoseconds."""
        claim = self._by_key[key].claim if key in self._by_key else ""
        if not claim or claim in self._by_uid:
            self._unseen.pop(key, None)
            return None
        until = self._unseen.setdefault(key, now) + PATIENCE
        return until if now < until else None

    def top(self, uid: str) -> Key | None:
        """The job that was admitted for the one of this UID as well; None where that is to be admitted by itself."""
        key = self._by_uid.get(uid)
        way = self._way(key) if key is not None else []
        return way[-1] if key is not None and len(way) > 1 and self._fits(key, way) else None

    def warnings(self, uid: str) -> list[Step]:
        """What is reported of a job with more jobs above it than are looked at."""
        seen: dict[Key, None] = {}
        key = self._by_uid.get(uid)
        while key is not None and key not in seen and len(seen) <= DEEPEST:
            seen[key] = None
            key = self._by_uid.get(self._by_key[key].claim)
        return [_TOO_DEEP] if key is not None and key not in seen else []

    def _way(self, key: Key) -> list[Key]:
        """From the job up to the topmost that others may belong to; the job alone where there is none above it."""
        way, length = [key], 1
        while len(way) <= DEEPEST:
            here = self._by_key[way[-1]]
            above = self._by_uid.get(here.claim) if here.claim else None
            if above is None or self._by_key[above].namespace != here.namespace:
                break
            if above in way:
                return [key]
            way.append(above)
            if self._by_key[above].queued:
                length = len(way)
        return way[:length]

    def _fits(self, key: Key, way: list[Key]) -> bool:
        """Together with those that run and came first; what waits comes after all that run."""
        head, branch, mine = self._by_key[way[-1]], way[-2], self._by_key[key]
        came = self._by_key[branch].created
        kin = [
            each
            for each in self._children[head.uid]
            if each == branch or not mine.running or self._by_key[each].created < came
        ]
        taken = total(self._weight(each, key, {way[-1]}) for each in kin)
        return all(amount <= head.asks.get(name, 0) * head.generations for name, amount in taken.items())

    def _weight(self, key: Key, asking: Key, seen: set[Key]) -> dict[str, int]:
        """What a job and those below it may take: those are a part of it, unless they ask for more."""
        seen.add(key)
        found = self._by_key[key]
        own = found.asks if found.running or key == asking else {}
        below = total(
            self._weight(each, asking, seen) for each in self._children.get(found.uid, ()) if each not in seen
        )
        return {name: max(own.get(name, 0), below.get(name, 0)) for name in {**own, **below}}
