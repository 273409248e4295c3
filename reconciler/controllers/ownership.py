"""Which Workloads stand for which jobs: a job has one, but others may have its name on them, or share it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import takewhile

from policies.model.objects import GroupKind
from reconciler.objects.observed import Key
from scheduling.objects.workload import Owner, Workload


class Named:
    """The jobs of a Workload: most have one of their own, but several may name the same."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[Key, None]] = {}

    def __contains__(self, workload: object) -> bool:
        return workload in self._jobs

    def jobs(self, workload: str) -> Iterable[Key]:
        return self._jobs.get(workload, ())

    def add(self, workload: str, job: Key) -> None:
        self._jobs.setdefault(workload, {})[job] = None

    def remove(self, workload: str, job: Key) -> None:
        jobs = self._jobs.get(workload, {})
        jobs.pop(job, None)
        if not jobs:
            self._jobs.pop(workload, None)


class Owned:
    """The Workloads that have an owner of one of `kinds`, by the uid of that."""

    def __init__(self, kinds: Container[GroupKind]) -> None:
        self._kinds = kinds
        self._by_uid: dict[str, dict[str, None]] = {}
        self._owners: dict[str, tuple[str, ...]] = {}

    def put(self, name: str, workload: Workload | None) -> None:
        """It is so now; None where it is gone."""
        owners = tuple(self._uids(workload.owners if workload is not None else ()))
        before = self._owners.get(name, ())
        if owners == before:
            return
        for uid in before:
            self._forget(uid, name)
        self._owners.pop(name, None)
        if owners:
            self._owners[name] = owners
            for uid in owners:
                self._by_uid.setdefault(uid, {})[name] = None

    def of(self, uid: str) -> tuple[str, ...]:
        return tuple(self._by_uid.get(uid, ()))

    def owners(self, name: str) -> tuple[str, ...]:
        return self._owners.get(name, ())

    def _uids(self, owners: Iterable[Owner]) -> Iterator[str]:
        for owner in owners:
            if owner.uid and GroupKind(owner.api_version.rpartition("/")[0], owner.kind) in self._kinds:
                yield owner.uid

    def _forget(self, uid: str, name: str) -> None:
        names = self._by_uid.get(uid, {})
        names.pop(name, None)
        if not names:
            self._by_uid.pop(uid, None)


class Strays:
    """Workloads whose job is not in sight, or is not queued any more, in the order in which that was noticed.

    A watch may be late, and a kind may be away for a moment, so that nothing is concluded for a while. `idle`: the job
    had no pods when it was observed last.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._new: dict[str, None] = {}
        self._since: dict[str, int] = {}
        self._overdue: set[str] = set()
        self._idle: set[str] = set()

    def __len__(self) -> int:
        return len(self._new) + len(self._since) + len(self._overdue)

    def add(self, name: str, *, idle: bool = False) -> None:
        if name not in self._since and name not in self._overdue:
            self._new[name] = None
        if idle:
            self._idle.add(name)

    def remove(self, name: str) -> None:
        self._new.pop(name, None)
        self._since.pop(name, None)
        self._overdue.discard(name)
        self._idle.discard(name)

    def idle(self, name: str) -> bool:
        return name in self._idle

    def overdue(self, name: str) -> bool:
        """Whether it has been so for long enough."""
        return name in self._overdue

    def due(self, now: int) -> list[str]:
        """Those that came to be overdue by now; moments are in nanoseconds."""
        self._since.update(dict.fromkeys(self._new, now))
        self._new.clear()
        found = list(takewhile(lambda name: now - self._since[name] >= self._patience, self._since))
        for name in found:
            del self._since[name]
        self._overdue.update(found)
        return found
