"""Pods that no watch shows, though they may be there: it selects by a label that whoever may write Pods can take off.

So a Pod that the watch drops while it might run is asked for by its name, and so is one that a Workload lists among its
owners and that was never shown. Only the API server's answer that there is none makes it gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cluster.resource import PODS
from policies.dialects.core import POD
from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy
from scheduling.objects.workload import Owner, Workload

_V1 = ("v1", POD.kind)


class OutOfSight:
    """By `namespace/name` of the Pod, with its uid."""

    def __init__(self) -> None:
        self._sought: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._gone: dict[str, set[str]] = {}

    def seek(self, name: str, uid: str) -> None:
        self._sought[name] = uid

    def sought(self, name: str) -> str:
        """The uid that is sought under this name, empty for none."""
        return self._asked.get(name) or self._sought.get(name, "")

    def answers(self, name: str) -> bool:
        """Whether an answer about this name is to what is sought now, and not to what was asked before."""
        return name not in self._sought

    def found(self, name: str) -> None:
        """A watch or an answer shows what is there under this name."""
        self._sought.pop(name, None)
        self._asked.pop(name, None)

    def questions(self, busy: Busy) -> Iterator[ReadObject]:
        """Each is asked once; where the API server fails it is sent again like any request."""
        for name in [name for name in self._sought if not busy(POD.kind, name)]:
            self._asked[name] = self._sought.pop(name)
            yield ReadObject((POD.kind, name), PODS.path(name))

    # --- the owners of Workloads

    def lists(self, workload: str, read: Workload, known: Iterable[str]) -> None:
        """The Workload is so now, and these uids are of Pods that are shown."""
        owners = {owner.uid: owner.name for owner in read.owners if _is_pod(owner)}
        gone = self._gone.get(workload, set()) & owners.keys()
        self._gone[workload] = gone
        for uid in owners.keys() - gone - set(known):
            name = f"{read.namespace}/{owners[uid]}"
            if self._asked.get(name) != uid:
                self.seek(name, uid)

    def all_gone(self, workload: str, uids: Iterable[str]) -> bool:
        """Whether there are none of these Pods any more, which the Workload lists."""
        return self._gone.get(workload, set()).issuperset(uids)

    def forget(self, workload: str) -> None:
        self._gone.pop(workload, None)

    def is_gone(self, name: str, uid: str, workloads: Iterable[str]) -> None:
        """There is no such Pod: nobody need ask again for these Workloads that list it."""
        self.found(name)
        for workload in workloads:
            self._gone.setdefault(workload, set()).add(uid)


def _is_pod(owner: Owner) -> bool:
    return (owner.api_version, owner.kind) == _V1
