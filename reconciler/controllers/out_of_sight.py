"""Pods that may exist although the watch does not show them, because any user who may write Pods can remove the label.

Two groups of Pods are looked up by name: those that disappear from the watch while they might run, and those that a
Workload has as owners but the watch never showed. A Pod counts as gone only when the API server answers that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.dialects.core import POD
from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy
from scheduling.objects.workload import Workload

_V1 = ("v1", POD.kind)


class OutOfSight:
    """The Pods to look up, by `namespace/name`, with their uids. `view`: the view in which they are read.

    `_sought`: no request was sent yet. `_asked`: a request was sent. `_gone`: the owners of a Workload that are gone.
    """

    def __init__(self, view: str = POD.kind) -> None:
        self._view = view
        self._sought: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._gone: dict[str, set[str]] = {}

    def seek(self, name: str, uid: str) -> None:
        self._sought[name] = uid

    def sought(self, name: str) -> str:
        """The uid of the Pod that is looked up under this name; empty for none."""
        return self._asked.get(name) or self._sought.get(name, "")

    def is_current(self, name: str) -> bool:
        """Whether a response about this name belongs to the present request, and not to an earlier one."""
        return name not in self._sought

    def found(self, name: str) -> None:
        """A watch or a response shows the Pod with this name."""
        self._sought.pop(name, None)
        self._asked.pop(name, None)

    def requests(self, busy: Busy) -> Iterator[ReadObject]:
        """The requests to send. Each is returned once; the core sends it again if the API server fails."""
        for name in [name for name in self._sought if not busy(self._view, name)]:
            self._asked[name] = self._sought.pop(name)
            yield ReadObject((self._view, name))

    # --- the owners of Workloads

    def note_owners(self, workload: str, read: Workload, known: Iterable[str]) -> None:
        """Look up the owners of the Workload that may exist. `known`: the uids of Pods that the watch shows."""
        owners = {owner.uid: owner.name for owner in read.owners if (owner.api_version, owner.kind) == _V1}
        gone = self._gone.get(workload, set()) & owners.keys()
        self._gone[workload] = gone
        for uid in owners.keys() - gone - set(known):
            name = f"{read.namespace}/{owners[uid]}"
            if self._asked.get(name) != uid:
                self.seek(name, uid)

    def all_gone(self, workload: str, uids: Iterable[str]) -> bool:
        """Whether all Pods among the owners of the Workload are gone."""
        return self._gone.get(workload, set()).issuperset(uids)

    def forget(self, workload: str) -> None:
        self._gone.pop(workload, None)

    def note_gone(self, name: str, uid: str, workloads: Iterable[str]) -> None:
        """Remember that the Pod is gone, for the Workloads that have it as an owner."""
        self.found(name)
        for workload in workloads:
            self._gone.setdefault(workload, set()).add(uid)
