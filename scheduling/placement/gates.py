"""Orchestrated preemption: only one worker at a time may preempt for a workload.

Source: Kueue v0.19, gate MultiKueueOrchestratedPreemption (off by default, on in v0.20).
"""

from __future__ import annotations

from policies.dialects.kueue_checks import MULTIKUEUE
from scheduling.objects.workload import BLOCKED_ON_GATES, PreemptionGate, Workload
from scheduling.placement.decisions import Again, Decision, OpenGate
from scheduling.placement.group import Group
from scheduling.placement.settings import ROUND

GATE = MULTIKUEUE
"""The name of the preemption gate of copies. Copies are created with the gate closed."""


def open_gates(group: Group) -> list[Decision]:
    """Open the gate of the copy that has waited longest, once the round of the last opened gate is over.

    No gate is opened while a write of a copy is in flight, since that write may open another gate.
    """
    if not group.settings.gated:
        return []
    opened, waiting = 0, []
    for worker in group.reachable():
        remote = worker.workload
        if remote is None:
            continue
        if worker.writing:
            return []
        gate = remote.gate_states.get(GATE)
        if gate is not None and gate.position == "Open":
            opened = max(opened, gate.since)
        elif blocked := remote.holding(BLOCKED_ON_GATES):
            waiting.append((blocked.since, worker.name))
    if not waiting:
        return []
    until = opened + ROUND
    return [Again(until)] if opened and group.now < until else [OpenGate(min(waiting)[1])]


def with_open_gate(workload: Workload, now: int) -> dict[str, PreemptionGate]:
    return {**workload.gate_states, GATE: PreemptionGate("Open", now)}
