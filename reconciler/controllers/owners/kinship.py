"""Which jobs belong to which: by the UIDs of controllers, of all jobs in sight, and by what they ask for.

Source: Kueue v0.19, FindAncestorJobManagedByKueue. Kueue believes any number of children of any size; here those count
that fit into what the job above was admitted for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from policies.amounts.ancestry import DEEPEST
from policies.amounts.requests import template_requests, total
from policies.dialects.kueue_owners import Controller
from policies.dialects.reading import Manifest, metadata, text
from policies.model.objects import GroupKind
from reconciler.controllers.owners.job_questions import JobQuestions
from reconciler.jobs.elastic import held_back, waits
from reconciler.jobs.kind import JobKind
from reconciler.jobs.step import Step
from reconciler.objects.observed import Key
from scheduling.objects.times import SECOND
from scheduling.objects.workload import OWNER_NOT_FOUND

PATIENCE = 2 * SECOND
"""Kinds are watched one by one, so that a child may be seen before the job that it belongs to."""

_TOO_DEEP = Step(
    None,
    "JobNestingTooDeep",
    f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEEPEST}",
    warning=True,
)


class Relative(NamedTuple):
    """A job as others see it. `claim` is the UID of the controller that it names, empty where that is no job, and
    `owner` where that would be.

    `queued`: others may belong to it. `running`: it may have pods. `asks`: what all its pods request. `generations`: so
    many times that its children may take while it replaces one by the next. `held_back`: all its pods wait at the gate
    of slices. `grows`: slices open that gate for those below it as well, and `slices` is its part of `asks` that they
    stand for.
    """

    uid: str
    namespace: str
    claim: str
    queued: bool
    running: bool
    created: tuple[str, str]
    asks: dict[str, int]
    generations: int
    owner: Key | None = None
    held_back: bool = False
    grows: bool = False
    slices: Mapping[str, int] = MappingProxyType({})


def relative(
    kind: JobKind,
    job: Manifest,
    above: Controller | None,
    kinds: Mapping[GroupKind, JobKind],
    *,
    queued: bool,
    grows: bool = False,
) -> Relative:
    """`above` is the controller that it names; it counts where it is of one of `kinds`."""
    meta = metadata(job)
    name, namespace = text(meta.get("name")) or "", text(meta.get("namespace")) or ""
    owner = kinds.get(above.kind) if above is not None else None
    pod_sets = list(kind.shape.pods_of(job))
    running = not (kind.suspended(job) or kind.ending(job) or meta.get("deletionTimestamp"))
    return Relative(
        uid=text(meta.get("uid")) or "",
        namespace=namespace,
        claim=above.uid if above is not None and owner is not None else "",
        queued=queued,
        running=running,
        created=(text(meta.get("creationTimestamp")) or "", name),
        asks=total(template_requests(pods.template, pods.count) for pods in pod_sets),
        generations=kind.shape.generations,
        owner=(owner.name, f"{namespace}/{above.name}") if above is not None and owner is not None else None,
        held_back=held_back(kind, job),
        grows=grows,
        slices=total(
            template_requests(each.template, each.count) for each in pod_sets if grows and waits(each.template)
        ),
    )


class Owners:
    """Owners that no watch shows, since they name no queue or are not there. They are asked for by their name."""

    def __init__(self, questions: JobQuestions) -> None:
        self._questions = questions
        self._found: dict[str, bool] = {}
        """By their UID, of which one knows; False: there is no object of that name."""

    def exists(self, uid: str) -> bool | None:
        """Whether there is an object of its name; None: that is not known."""
        return self._found.get(uid)

    def seek(self, owner: Key, uid: str) -> None:
        if not self._questions.asked(owner, uid):
            self._questions.seek(owner, uid)

    def answered(self, uids: Iterable[str], *, there: bool) -> None:
        """These were asked for."""
        self._found.update(dict.fromkeys(uids, there))

    def forget(self, uid: str) -> None:
        self._found.pop(uid, None)


class Kinship:
    """All jobs in sight. One that names a controller which is not in sight is waited for until the API server says
    whether that is there.
    """

    def __init__(self, questions: JobQuestions) -> None:
        self.owners = Owners(questions)
        self._by_key: dict[Key, Relative] = {}
        self._by_uid: dict[str, Key] = {}
        self._children: dict[str, dict[Key, None]] = {}
        self._unseen: dict[Key, int] = {}

    def put(self, key: Key, found: Relative) -> None:
        before = self._by_key.get(key)
        self.drop(key)
        self._by_key[key] = found
        self._by_uid[found.uid] = key
        if found.claim:
            self._children.setdefault(found.claim, {})[key] = None
        self._forget_owner(before)

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
        before = self._by_key.get(key)
        self.drop(key)
        self._unseen.pop(key, None)
        self._forget_owner(before)

    def _forget_owner(self, child: Relative | None) -> None:
        if child is not None and child.claim not in self._children:
            self.owners.forget(child.claim)

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

    def beside(self, key: Key) -> Iterator[Key]:
        """The job above whose slices follow the size of this one, and the others that it may belong with."""
        found = self._by_key.get(key)
        above = self._by_uid.get(found.claim) if found is not None else None
        if above is not None and self._by_key[above].grows:
            yield from (above, *self.below(above))

    def held_back(self, uid: str) -> list[Key]:
        """Those directly below that slices of this job hold back, and whose size it takes over."""
        key = self._by_uid.get(uid)
        parts = self._children.get(uid, ()) if key is not None and self._by_key[key].grows else ()
        return [each for each in parts if self._by_key[each].held_back]

    def wait(self, key: Key, now: int) -> int | None:
        """Until when nothing is concluded about it, since its controller is not in sight; moments in nanoseconds."""
        claim, owner = (self._by_key[key].claim, self._by_key[key].owner) if key in self._by_key else ("", None)
        if owner is None or claim in self._by_uid:
            self._unseen.pop(key, None)
            return None
        until = self._unseen.setdefault(key, now) + PATIENCE
        if now >= until and self.owners.exists(claim) is None:
            self.owners.seek(owner, claim)
        return until if now < until else None

    def answered(self, asked: Iterable[str], *, there: bool) -> list[Key]:
        """The API server was asked for owners. Those who named them, to be looked at."""
        uids = [uid for uid in asked if uid in self._children]
        self.owners.answered(uids, there=there)
        return [child for uid in uids for child in self._children[uid]]

    def lost(self, uid: str) -> bool:
        """Whether it names a controller that is not there, as far as is known: it neither runs nor queues.

        The garbage collector takes such a child, or its reference.
        """
        claim = self._claim(uid)
        return bool(claim) and claim not in self._by_uid and not self.owners.exists(claim)

    def _claim(self, uid: str) -> str:
        key = self._by_uid.get(uid)
        return self._by_key[key].claim if key is not None else ""

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
        owner = self._by_key[self._by_uid[uid]].owner if self.lost(uid) else None
        if owner is not None and self.owners.exists(self._claim(uid)) is False:
            missing = f"{owner[0].partition('.')[0]} {owner[1].partition('/')[2]}"
            return [Step(None, OWNER_NOT_FOUND, f"workload owner not found: {missing}", warning=True)]
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
        """Together with those that run and came first; what waits comes after all that run.

        Pods that slices hold back take as much as the slices, however many they are: the rest is for the others.
        """
        head, branch, mine = self._by_key[way[-1]], way[-2], self._by_key[key]
        came, held = self._by_key[branch].created, self.held_back(head.uid)
        if key in held:
            return True
        kin = [
            each
            for each in self._children[head.uid]
            if each not in held and (each == branch or not mine.running or self._by_key[each].created < came)
        ]
        taken = total(self._weight(each, key, {way[-1]}) for each in kin)
        given = head.slices if held else {}
        return all(
            amount <= (head.asks.get(name, 0) - given.get(name, 0)) * head.generations for name, amount in taken.items()
        )

    def _weight(self, key: Key, asking: Key, seen: set[Key]) -> dict[str, int]:
        """What a job and those below it may take: those are a part of it, unless they ask for more."""
        seen.add(key)
        found = self._by_key[key]
        own = found.asks if found.running or key == asking else {}
        below = total(
            self._weight(each, asking, seen) for each in self._children.get(found.uid, ()) if each not in seen
        )
        return {name: max(own.get(name, 0), below.get(name, 0)) for name in {**own, **below}}
