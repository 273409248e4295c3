"""A Pod at the scheduling gate of a quota: the part that all projects share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from policies.dialects.pod_reading import PodLife
from policies.dialects.quota_gates import QUOTA_KEY
from policies.model.objects import parted


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
