"""The writes to Pods at the gate: remove the gate, report why a Pod waits, and end a Pod that bypassed the gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cluster.actions import Delete, Evict, Patch
from cluster.resource import PODS
from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY, WAITS
from policies.model.printing import plain
from reconciler.objects.observed import Observed
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from scheduling.queue_tree.pod_at_gate import PodAtGate

MANAGER = "quotree-quota-gates"
_LONGEST = 1000
_GRACE = 30
"""The grace period in seconds for a Pod without quota."""
_NOTHING: Mapping[str, str] = {}


def about(pod: PodAtGate) -> ObjectReference | None:
    return refer("v1", "Pod", pod.key, pod.uid)


def passes(observed: Observed[PodAtGate], queue: str, noted: Mapping[str, str] = _NOTHING) -> WantedWrite:
    """Remove the gate, and record the queue in which the Pod is counted. `noted`: more annotations to set."""
    pod = observed.value
    left = [{"name": gate} for gate in pod.gates if gate != QUOTA_KEY]
    notes = {ADMITTED: queue, **noted, **({WAITS: None} if pod.waits else {})}
    patch = _patch(observed, {"metadata": {"annotations": notes}, "spec": {"schedulingGates": left}})
    return WantedWrite(observed.key, patch, about(pod), "QuotaAdmitted", f"Admitted in {queue}", gives_quota=True)


def waits(observed: Observed[PodAtGate], reason: str, text: str, *, amounts: bool, warning: bool) -> WantedWrite | None:
    """Annotate the Pod with the reason for waiting; None if the Pod shows it already.

    `amounts`: the text has amounts after `=`. They change all the time, so the text is not written again if only
    amounts have changed.
    """
    pod = observed.value
    said = plain(text)[:_LONGEST]
    if pod.waits == said or (amounts and places(pod.waits) == places(said)):
        return None
    patch = _patch(observed, {"metadata": {"annotations": {WAITS: said}}})
    return WantedWrite(observed.key, patch, about(pod), reason, said, warning=warning)


def preempted(observed: Observed[PodAtGate], queue: str) -> WantedWrite:
    """Delete the Pod with its own grace period, because a queue below its guarantee needs the quota."""
    pod = observed.value
    delete = Delete(PODS, observed.namespace, observed.name, observed.version, uid=pod.uid)
    return WantedWrite(
        observed.key, delete, about(pod), "Preempted", f"Preempted for {queue}, to give it its guarantee"
    )


def reclaimed(observed: Observed[PodAtGate], queue: str, *, evicts: bool) -> WantedWrite:
    """Delete or evict the Pod with its own grace period, because the queue has less than it deserves."""
    pod = observed.value
    end = (Evict if evicts else Delete)(PODS, observed.namespace, observed.name, uid=pod.uid)
    message = f"Reclaimed for queue {queue}, which has less than it deserves"
    return WantedWrite(observed.key, end, about(pod), "Reclaimed", message)


def cut_off(observed: Observed[PodAtGate]) -> WantedWrite:
    pod = observed.value
    message = f"Another client removed the scheduling gate {QUOTA_KEY}; the Pod had no quota"
    delete = Delete(PODS, observed.namespace, observed.name, uid=pod.uid, grace_seconds=_GRACE)
    return WantedWrite(observed.key, delete, about(pod), "Stopped", message, warning=True)


def places(said: str) -> list[str]:
    """The reason for waiting without amounts: the first sentence, and each queue with the resource that it lacks."""
    return [item.partition("=")[0] for item in said.split("; ")]


def _patch(observed: Observed[object], body: Mapping[str, Any]) -> Patch:
    return Patch(PODS, observed.namespace, observed.name, body, observed.version, MANAGER)
