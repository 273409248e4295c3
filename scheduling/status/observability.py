"""Which reasons the conditions of a workload without quota have, and when they are written first.

Source: Kueue v0.19, gates UnadmittedWorkloadsObservability and UnadmittedWorkloadsExplicitStatus.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.objects.inadmissible_reasons import (
    ADMISSION_GATED,
    INADMISSIBLE,
    PENDING,
    WAITING,
    WAITING_FOR_PODS_READY,
)
from scheduling.objects.workload import ON_HOLD


@dataclass(frozen=True, slots=True)
class Observability:
    """Two of Kueue's feature gates.

    granular: each cause has its own reason, and Admitted=False exists once there is a condition QuotaReserved.
    explicit: both conditions exist from the beginning. It only counts together with `granular`.
    """

    granular: bool = False
    explicit: bool = False

    def attempt(self, reason: str) -> str:
        """The reason to write after the scheduler tried the workload, or its job released the quota."""
        if self.granular:
            return reason
        return WAITING if reason == WAITING_FOR_PODS_READY else PENDING

    def fault(self, reason: str) -> str:
        """The reason to write for a workload that is in no queue."""
        return reason if self.granular or reason in (ADMISSION_GATED, ON_HOLD) else INADMISSIBLE


LEGACY = Observability()
