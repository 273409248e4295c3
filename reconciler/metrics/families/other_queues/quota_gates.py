"""Pods at the gates of YuniKorn's and Volcano's quota, and the usage of YuniKorn's quota of Namespaces."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample
from policies.dialects.yunikorn import VCORE
from policies.impact.yunikorn_quotas import nano
from reconciler.metrics.occasions import PodPassed, QuotaGates
from reconciler.metrics.source import source
from scheduling.queue_tree.pod_at_gate import UNDECIDED
from scheduling.volcano.gates.gatekeeper import REASONS as OF_VOLCANO
from scheduling.yunikorn.gates.gate_usage import REASONS as OF_YUNIKORN
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper

_REASONS = tuple(dict.fromkeys((*OF_YUNIKORN, *OF_VOLCANO, UNDECIDED)))
_QUOTA = ("namespace", "resource")
WAITING = Family(
    "quotree_gates_waiting_pods",
    f"Pods that wait at the gate, by the reason that they say: {', '.join(_REASONS)}.",
    ("dialect", "namespace", "reason"),
)
PASSED = Family("quotree_gates_passed_pods_total", "Pods that passed the gate.", ("dialect", "namespace"))
QUOTA = Family("quotree_gates_namespace_quota", "The quota of the Namespace, where it can be read.", _QUOTA)
USED = Family(
    "quotree_gates_namespace_usage",
    "Usage of the Namespace's Pods that have passed the gate, by resource of its quota.",
    _QUOTA,
)


@source(QuotaGates, WAITING)
def waiting_samples(gates: QuotaGates) -> Iterator[Sample]:
    for dialect, counts in gates.counts.items():
        for namespace, reason, count in counts.waiting():
            yield WAITING.sample(count, dialect, namespace, reason)


@source(YuniKornGatekeeper, QUOTA, USED)
def of_namespaces(keeper: YuniKornGatekeeper) -> Iterator[Sample]:
    for namespace, quota in keeper.spaces.quotas():
        for resource, most in quota.items():
            labels = (namespace, "cpu" if resource == VCORE else resource)
            yield QUOTA.sample(_units(resource, most), *labels)
            yield USED.sample(_units(resource, keeper.counts.used(namespace, resource)), *labels)


@source(PodPassed, PASSED)
def passed(pod: PodPassed) -> Iterator[Sample]:
    yield PASSED.sample(1, pod.dialect, pod.namespace)


def _units(resource: str, amount: int) -> float:
    """The amount in cores, bytes or whole units."""
    return nano(resource, amount) / 10**9
