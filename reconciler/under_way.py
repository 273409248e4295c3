"""The writes that are under way: what was asked for, what came of it, and what has to be asked again.

Nothing is lost: what may have been carried out is asked again until the API server says what is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cluster.actions import Action, Create, Delete, Patch
from cluster.errors import ClusterError, Conflict, NotFound
from policies.dialects.reading import metadata
from reconciler.alarms import Alarms
from reconciler.events import About
from reconciler.feed import Followed, Key, Seen
from reconciler.known import Known
from reconciler.patches import ADMISSION_MANAGER, alike, patched, spec_patch, status_patch
from reconciler.retries import Retries, refused
from reconciler.side import Turn
from reconciler.status_side import StatusSide
from reconciler.teller import Teller
from reconciler.telling import about
from reconciler.versions import older
from reconciler.writer import Failed, Round, Written
from scheduling.objects.workload import Workload

log = logging.getLogger(__name__)
WORKLOAD, EVENT = "Workload", "Event"


@dataclass
class UnderWay:
    """`write` carries out, `read` has an object read anew; both tell the inbox. `keep` takes what is stored to be
    known, `see` takes it into the world as well. `over`: the world goes by the stored object again. `now` gives the
    moment in nanoseconds.
    """

    write: Callable[[Key, Action], None]
    read: Callable[[Key, str], None]
    keep: Callable[[Seen], bool]
    see: Callable[[Seen], None]
    over: Callable[[Key], None]
    known: Known
    followed: Mapping[str, Followed]
    alarms: Alarms
    retries: Retries
    statuses: StatusSide
    stats: Round
    teller: Teller
    now: Callable[[], int]
    flying: dict[Key, Turn | None] = field(default_factory=dict)
    sent: dict[str, Workload] = field(default_factory=dict)
    wanted: dict[str, Workload] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Objects of which a write is under way."""
        return len(self.flying) + len(self.sent)

    def busy(self, kind: str, name: str) -> bool:
        """Whether a write of the object is under way, or has to wait."""
        key = (kind, name)
        return key in self.flying or (kind == WORKLOAD and name in self.sent) or self.retries.resting(key)

    # --- what is asked for

    def fly(self, key: Key, action: Action, turn: Turn | None = None) -> None:
        """Have it written, on behalf of a side as the case may be; until that is over nothing else is written of it."""
        self.flying[key] = turn
        self.write(key, action)

    def submit(self, after: Workload) -> bool:
        """Have the workload written as it should be; behind a write of the same one that is under way.

        Whether there is anything to write.
        """
        if after.key in self.sent:
            self.wanted[after.key] = after
            return True
        seen = self.known.get((WORKLOAD, after.key))
        if seen is None or self.busy(WORKLOAD, after.key):
            return False  # gone, at rest, or its Job writes: what comes of that is decided on anew
        patch = spec_patch(seen.value, after) or status_patch(seen.value, after, ADMISSION_MANAGER)
        if patch is not None:
            self.sent[after.key] = after
            self.write((WORKLOAD, after.key), patch)
        return patch is not None

    # --- what came of it

    def written(self, outcome: Written) -> None:
        self.stats.written += 1
        kind, name = outcome.key
        if kind == EVENT:
            return
        self.retries.answered()
        if isinstance(outcome.action, Delete):
            self._carried_out(outcome.key)
            self._finish(outcome.key)  # the watch tells when it is gone
            return
        seen = self.followed[kind].seen(outcome.manifest, self.known.get)
        self.statuses.written(outcome.action, seen)
        if isinstance(outcome.action, Patch) and seen.version == outcome.action.resource_version and not gone(outcome):
            self._without_effect(outcome.key, outcome.action)
        else:
            self._carried_out(outcome.key)
        before = self.known.get(seen.key)
        if kind == WORKLOAD and before is not None and not older(seen.version, before.version):
            expected, wanted = self.sent.get(name), self.wanted.get(name)
            if wanted is not None and expected is not None and alike(seen.value, expected):
                self.keep(seen)
                del self.sent[name], self.wanted[name]
                if self.submit(wanted):
                    return
        self.answered(seen)

    def _carried_out(self, key: Key) -> None:
        """What is told of a write is told when it is true."""
        self.retries.forget(key)
        turn = self.flying.get(key)
        if turn is not None:
            self.teller.turned(turn, self.now())

    def _refused(self, key: Key, action: Action | None, error: Exception) -> None:
        log.warning("%s %s: %s", *key, error)
        about = self._about(key)
        if about is not None and isinstance(action, Create | Patch | Delete):
            self.teller.refused(about, action, key[1], error, self.now())
        self._rest(key)
        self._finish(key)

    def _without_effect(self, key: Key, patch: Patch) -> None:
        """Nothing of it was stored, since the definition of the kind lacks a field, say: nor will it be next time."""
        fields = ", ".join(patched(patch.body)) or "no field"
        log.warning("%s %s: a change of %s was taken and nothing of it stored", *key, fields)
        about = self._about(key)
        if about is not None:
            self.teller.unheeded(about, f"{patch.resource.plural} {key[1]}", fields, self.now())
        self._rest(key)

    def _about(self, key: Key) -> About | None:
        """Of what people are told that something is wrong with a write."""
        turn, seen = self.flying.get(key), self.known.get(key)
        if turn is not None and turn.about is not None:
            return turn.about
        return about(seen.value) if seen is not None and key[0] == WORKLOAD else None

    def answered(self, seen: Seen) -> None:
        """What a request of ours brought."""
        if self.known.tells_news(seen):
            self.see(seen)
        self._finish(seen.key)

    def failed(self, outcome: Failed) -> None:
        """Nothing is lost: what may have been carried out is asked again until the API server says what is.

        Meanwhile quota that was given stays given. Since each write is bound to a version, asking twice writes once,
        and after a conflict no copy of it that is still on its way can come through.
        """
        self.stats.failed += 1
        key, action, error = outcome.key, outcome.action, outcome.error
        if key[0] == EVENT:
            return  # conditions say the same
        if isinstance(error, Conflict):
            self._look(key)
        elif isinstance(error, NotFound):
            self._not_found(key, action)
        elif refused(error):
            self._refused(key, action, error)
        elif not isinstance(error, ClusterError):
            self._fault(key, error)
        elif action is None:
            self.retries.pause(error, lambda: self._look(key))
        else:
            log.warning("%s %s: %s", *key, error)
            self.retries.pause(error, lambda: self.write(key, action))

    def _fault(self, key: Key, error: Exception) -> None:
        """A fault of ours, with this object: nobody else waits for it. What came of it is read after a rest."""
        log.warning("%s %s: %s: %s; it is looked at again later", *key, type(error).__name__, error)
        self.alarms.set(self.retries.rest(key, lambda: self._look(key)), key)

    def _look(self, key: Key) -> None:
        """Have it read anew."""
        namespace, _, bare = key[1].rpartition("/")
        self.read(key, self.followed[key[0]].resource.item(bare, namespace or None))

    def _not_found(self, key: Key, action: Action | None) -> None:
        """It is gone, unless it is known by now to have come back; a watch that hangs may not tell for long."""
        seen = self.known.get(key)
        newer = seen is not None and isinstance(action, Patch) and action.resource_version != seen.version
        if isinstance(action, Patch) and not newer:
            self.known.forget(key)
        if not newer:
            self._rest(key)
        self._finish(key)

    def _rest(self, key: Key) -> None:
        """The same would come to the same: it is asked for after a while, or when there is news of the object."""
        self.alarms.set(self.retries.rest(key), key)

    def _finish(self, key: Key) -> None:
        self.flying.pop(key, None)
        if key[0] == WORKLOAD:
            self.sent.pop(key[1], None)
        self.over(key)


def gone(outcome: Written) -> bool:
    """Whether the write was what the object waited for to go: then it is answered under the version it had before."""
    meta = metadata(outcome.manifest)
    return bool(meta.get("deletionTimestamp")) and not meta.get("finalizers")
