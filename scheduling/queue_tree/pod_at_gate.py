"""A Pod at the scheduling gate of a quota: the part that all projects share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from policies.dialects.pod_reading import PodLife
from policies.dialects.quota_gates import QUOTA_KEY
from policies.model.objects import parted
from scheduling.objects.amounts import add_to

UNDECIDED = "Undecided"
"""The reason of a Pod whose annotation has no known reason yet."""
HAS_ROOM = "HasRoom"
HAS_ROOM_MESSAGE = "there is room for it, and its turn has not come"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAtGate(PodLife):
    """A Pod that waits at our gate or has passed it.

    key: `namespace/name`.
    project: the project in whose quota it counts, from the label QUOTA_KEY; empty for none.
    admitted: the queue in which it counts; empty for none.
    waits: the annotation that says why it waits.
    """

    PROJECT: ClassVar[str]
    """The value of `project` for Pods that this class describes."""

    key: str
    project: str
    admitted: str
    waits: str

    @property
    def namespace(self) -> str:
        return parted(self.key)[0]

    @property
    def marked(self) -> bool:
        return self.project == self.PROJECT

    @property
    def gated(self) -> bool:
        return self.waits_at(QUOTA_KEY)

    @property
    def slipped(self) -> bool:
        """Whether another client removed the gate."""
        return self.marked and not (self.gated or self.admitted or self.ended or self.deleting)


class WaitingCounts:
    """The number of Pods that wait at the gates, by Namespace and reason.

    reasons: the known ones. Every other text counts as UNDECIDED, since a user can write any text in the annotation.
    """

    def __init__(self, reasons: Iterable[str]) -> None:
        self._reasons = frozenset(reasons)
        self._counts: Counter[tuple[str, str]] = Counter()

    def change(self, before: PodAtGate | None, after: PodAtGate | None) -> None:
        """Count a changed Pod. None: it did not exist before, or no longer exists."""
        for pod, times in ((before, -1), (after, 1)):
            if pod is not None and pod.gated and not pod.deleting and not pod.ended:
                add_to(self._counts, {(pod.namespace, self._reason(pod.waits)): times})

    def waiting(self) -> Iterator[tuple[str, str, int]]:
        """Yield the Namespace, the reason and the number of Pods."""
        return ((namespace, reason, count) for (namespace, reason), count in self._counts.items())

    def _reason(self, waits: str) -> str:
        """The reason at the beginning of the annotation."""
        said = waits.partition(":")[0].partition(" ")[0]
        return said if said in self._reasons else UNDECIDED
