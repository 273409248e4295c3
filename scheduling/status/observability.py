"""Which reasons the conditions of a workload without quota show, and from when on.

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
    """`granular`: a reason for each cause, and Admitted=False as soon as there is a condition QuotaReserved.

    `explicit`: both conditions from the first moment on. It counts with `granular` alone.
    """

    granular: bool = False
    explicit: bool = False

    def attempt(self, reason: str) -> str:
        """The reason that is shown after the scheduler tried the workload, or its job gave the quota back."""
        if self.granular:
            return reason
        return WAITING if reason == WAITING_FOR_PODS_READY else PENDING

    def fault(self, reason: str) -> str:
        """The reason that is shown of a workload that is in no queue."""
        return reason if self.granular or reason in (ADMISSION_GATED, ON_HOLD) else INADMISSIBLE


LEGACY = Observability()
