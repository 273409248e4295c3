"""Admission fair sharing: the recent usage of LocalQueues decides whose workload is next in a ClusterQueue.

Past usage decays by half in each half-life. A workload that has just got quota counts at once by an entry penalty,
until its usage is sampled. Amounts are exact decimals of cores or whole units, rounded down to 9 places as in a status.
Source: Kueue v0.19, pkg/util/admissionfairsharing; KEP-4136.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from scheduling.objects.queue_settings import UNIT_WEIGHT
from scheduling.objects.workload import Workload

Consumed: TypeAlias = Mapping[str, Decimal]
"""Consumption by resource."""
NEVER_NEXT = Fraction(2**200)
"""The usage of a LocalQueue with weight 0: more than that of any other."""
_PLACES = Decimal("1e-9")
_EXACT = Context(prec=60, rounding=ROUND_DOWN)
_HALF = Decimal("0.5")
_MILLI = Decimal("0.001")


@dataclass(frozen=True, slots=True)
class UsageDecay:
    """The configuration `admissionFairSharing`. Times are in nanoseconds.

    half_life: usageHalfLifeTime. sampling: usageSamplingInterval.
    weights: by resource, 1 by default.
    anchored: a workload counts from its reservation on, as in Kueue v0.20, not from its admission on.
    """

    half_life: int = 0
    sampling: int = 5 * 60 * 10**9
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    anchored: bool = False

    def decayed_share(self, elapsed: int) -> Decimal:
        """The fraction of past usage that has decayed after `elapsed`, from 0 to 1; 0 without a half-life."""
        if not self.half_life:
            return Decimal(0)
        left = _EXACT.power(_HALF, _EXACT.divide(Decimal(elapsed), Decimal(self.half_life)))
        return _EXACT.subtract(Decimal(1), left)

    def sampled(self, consumed: Consumed, in_use: Consumed, elapsed: int) -> dict[str, Decimal]:
        """The consumption at this sample, if `in_use` was in use since the last one."""
        if not self.half_life:
            return {}
        new = self.decayed_share(elapsed)
        old = _EXACT.subtract(Decimal(1), new)
        return {
            resource: _kept(old * consumed.get(resource, Decimal(0)) + new * in_use.get(resource, Decimal(0)))
            for resource in sorted({*consumed, *in_use})
        }

    def penalty(self, requests: Mapping[str, int]) -> dict[str, Decimal]:
        """The entry penalty of a workload with these requests, in milli-CPU and whole units."""
        share = self.decayed_share(self.sampling)
        return {resource: _kept(share * in_units(resource, amount)) for resource, amount in requests.items()}


@dataclass(frozen=True, slots=True)
class ConsumptionRecord:
    """The consumption at a moment. `at`: in nanoseconds; 0 if unknown."""

    consumed: Consumed
    at: int = 0


_UNUSED = ConsumptionRecord({})


class Consumption:
    """The consumption of every LocalQueue (`namespace/name`), with the penalties of its workloads."""

    def __init__(self, decay: UsageDecay) -> None:
        self.decay = decay
        self._records: dict[str, ConsumptionRecord] = {}  # the last sample of each LocalQueue
        self._weights: dict[str, int] = {}  # fairSharing.weight of each LocalQueue
        self._penalties: dict[str, dict[str, Consumed]] = {}  # by LocalQueue and workload

    def put(self, queue: str, consumed: Consumed, at: int = 0) -> None:
        self._records[queue] = ConsumptionRecord(consumed, at)

    def record(self, queue: str) -> ConsumptionRecord | None:
        return self._records.get(queue)

    def sample(self, queue: str, in_use: Consumed, now: int) -> None:
        """Let past usage decay until now, and add the usage since the last sample.

        The first sample only sets the time.
        """
        old = self._records.get(queue, ConsumptionRecord({}, now))
        elapsed = max(0, now - old.at)  # the clock of an earlier leader may have been ahead
        self.put(queue, self.decay.sampled(old.consumed, in_use, elapsed), now)

    def has_penalty(self, queue: str, workload: str) -> bool:
        return workload in self._penalties.get(queue, {})

    def settle_penalty(self, queue: str, workload: str, in_use: Consumed, now: int) -> None:
        """Add the penalty of a workload to the consumption, since its own usage counts from now on."""
        self.sample(queue, in_use, now)
        record, penalty = self._records[queue], self.drop_penalty(queue, workload)
        resources = sorted({*record.consumed, *penalty})
        none = Decimal(0)
        self.put(
            queue, {each: record.consumed.get(each, none) + penalty.get(each, none) for each in resources}, record.at
        )

    def next_sample(self, queue: str, now: int) -> int:
        """The nanoseconds until the next sample is due; 0 if it is due now, or the last one is in the future."""
        record = self._records.get(queue)
        if record is None or record.at > now:
            return 0
        return max(0, record.at + self.decay.sampling - now)

    def put_weight(self, queue: str, weight: int) -> None:
        """Store the fairSharing.weight, in units of 1e-9."""
        self._weights[queue] = weight

    def drop(self, queue: str) -> None:
        self._records.pop(queue, None)
        self._weights.pop(queue, None)
        self._penalties.pop(queue, None)

    def add_penalty(self, queue: str, workload: str, requests: Mapping[str, int]) -> None:
        self._penalties.setdefault(queue, {})[workload] = self.decay.penalty(requests)

    def drop_penalty(self, queue: str, workload: str) -> Consumed:
        """Remove and return the penalty, since the workload's usage now counts, or it will not be admitted."""
        return self._penalties.get(queue, {}).pop(workload, {})

    def follow(self, before: Workload | None, after: Workload) -> None:
        """Remove the penalty of a changed workload if it ended or left the LocalQueue.

        An eviction does not remove it.
        """
        if before is not None and before.local_queue != after.local_queue:
            self.drop_penalty(before.local_queue, before.key)
        if after.finished or not (after.active or after.reserved):
            self.drop_penalty(after.local_queue, after.key)

    def usage(self, queue: str) -> Fraction:
        """The usage of the LocalQueue divided by its weight. The lowest one is first."""
        weight = self._weights.get(queue, UNIT_WEIGHT)
        if weight <= 0:
            return NEVER_NEXT
        total = Fraction(0)
        for consumed in (self._records.get(queue, _UNUSED).consumed, *self._penalties.get(queue, {}).values()):
            for resource, amount in consumed.items():
                total += self.decay.weights.get(resource, Fraction(1)) * Fraction(amount)
        return total * UNIT_WEIGHT / weight


def in_units(resource: str, amount: int) -> Decimal:
    """An amount as Kueue counts it, in cores or whole units."""
    return Decimal(amount) * _MILLI if resource == "cpu" else Decimal(amount)


def _kept(amount: Decimal) -> Decimal:
    return amount.quantize(_PLACES, rounding=ROUND_DOWN, context=_EXACT)
