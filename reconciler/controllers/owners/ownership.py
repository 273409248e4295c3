"""An index of Workloads by their owners."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from policies.model.objects import GroupKind
from scheduling.objects.workload import Owner, Workload


class WorkloadsByOwner:
    """The Workloads by the uids of their owners. Only owners of `kinds` count."""

    def __init__(self, kinds: Container[GroupKind]) -> None:
        self._kinds = kinds
        self._by_uid: dict[str, dict[str, None]] = {}
        self._owners: dict[str, tuple[str, ...]] = {}

    def put(self, name: str, workload: Workload | None) -> None:
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
            if owner.uid and owner.group_kind in self._kinds:
                yield owner.uid

    def _forget(self, uid: str, name: str) -> None:
        names = self._by_uid.get(uid, {})
        names.pop(name, None)
        if not names:
            self._by_uid.pop(uid, None)
