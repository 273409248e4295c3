"""What is written of Pods at the gate: that they pass, why they wait, and that one ends which slipped through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cluster.actions import Delete, Patch
from cluster.resource import PODS
from policies.dialects.quota_gates import ADMITTED, MARK, WAITS
from policies.dialects.yunikorn import VCORE
from policies.model.printing import plain
from reconciler.objects.observed import Observed
from reconciler.objects.wanted import ObjectReference, WantedWrite
from scheduling.yunikorn.gated_pod import GatedPod
from scheduling.yunikorn.queue import Lack
from scheduling.yunikorn.waiting import Waiting

MANAGER = "quotree-quota-gates"
_LONGEST = 1000
_GRACE = 30
"""Seconds to end for a Pod that has no quota."""


def about(pod: GatedPod) -> ObjectReference:
    namespace, _, name = pod.key.partition("/")
    return ObjectReference("v1", "Pod", namespace, name, pod.uid)


def passes(observed: Observed, queue: str) -> WantedWrite:
    """Without the gate, and with the queue in which it counts from now on."""
    pod: GatedPod = observed.value
    left = [{"name": gate} for gate in pod.gates if gate != MARK]
    notes = {ADMITTED: queue, **({WAITS: None} if pod.waits else {})}
    patch = _patch(observed, {"metadata": {"annotations": notes}, "spec": {"schedulingGates": left}})
    return WantedWrite(observed.key, patch, about(pod), "QuotaAdmitted", f"Admitted in {queue}")


def waits(observed: Observed, waiting: Waiting) -> WantedWrite | None:
    """The Pod says why it waits; None where it says so already. Amounts alone are no news: they change all the time."""
    pod: GatedPod = observed.value
    said = plain(reason_text(waiting))[:_LONGEST]
    if pod.waits == said or (waiting.lacks and _places(pod.waits) == _places(said)):
        return None
    patch = _patch(observed, {"metadata": {"annotations": {WAITS: said}}})
    return WantedWrite(observed.key, patch, about(pod), waiting.reason, said, warning=not waiting.queue)


def cut_off(observed: Observed) -> WantedWrite:
    pod: GatedPod = observed.value
    namespace, _, name = pod.key.partition("/")
    message = f"Somebody took the scheduling gate {MARK} off; it had no quota"
    delete = Delete(PODS, namespace, name, uid=pod.uid, grace_seconds=_GRACE)
    return WantedWrite(observed.key, delete, about(pod), "Stopped", message, warning=True)


def reason_text(waiting: Waiting) -> str:
    where = f" in {waiting.queue}" if waiting.queue else ""
    parts = [part for part in (waiting.message, *map(_lack, waiting.lacks)) if part]
    return f"{waiting.reason}{where}: {'; '.join(parts)}"


def _lack(lack: Lack) -> str:
    whose = f" for {lack.whose}" if lack.whose else ""
    name = "cpu" if lack.resource == VCORE else lack.resource
    asked, used, limit, short = (
        _amount(lack.resource, amount) for amount in (lack.asked, lack.used, lack.limit, lack.short)
    )
    return f"{lack.queue}{whose} lacks {name}={short}, asked {asked}, {used} of {limit} in use"


def _amount(resource: str, amount: int) -> str:
    if resource != VCORE:
        return str(amount)
    return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"


def _places(said: str) -> list[str]:
    """What it says but for amounts: the reason, and each queue with the resource that it lacks."""
    return [part.partition("=")[0] for part in said.split("; ")]


def _patch(observed: Observed, body: Mapping[str, Any]) -> Patch:
    namespace, _, name = observed.key[1].partition("/")
    return Patch(PODS, namespace, name, body, observed.version, MANAGER)
