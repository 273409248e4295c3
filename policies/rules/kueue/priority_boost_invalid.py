from __future__ import annotations

import re
from collections.abc import Iterator

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import PRIORITY_BOOST, WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding

_WHOLE = re.compile(r"[+-]?[0-9]{1,20}").fullmatch
_LEAST, _MOST = -(2**31), 2**31 - 1


@rule(
    "priority-boost-invalid",
    source="Kueue: webhook of Workload (feature gate PriorityBoost)",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="a gated feature, and the gate is in the configuration",
)
def priority_boost_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The annotation kueue.x-k8s.io/priority-boost is not a whole number.

    Why it is refused: the number is added to the priority that decides the order and preemption of Workloads; an
    unreadable value would silently count as no boost.
    Example: `priority-boost: high`; `1.5`.
    Fix: write a whole number that fits 32 bits, such as "10" or "-5".
    """
    if not proposal.configuration.kueue.enabled("PriorityBoost"):
        return
    for _, workload in proposal.changed(WrittenWorkload):
        text = workload.annotations.get(PRIORITY_BOOST)
        if text is not None and not (_WHOLE(text) and _LEAST <= int(text) <= _MOST):
            yield Finding(
                workload.ref,
                fields.join("metadata", "annotations", PRIORITY_BOOST),
                f"{text[:40]!r} is not a whole number between {_LEAST} and {_MOST}",
                fix='write a whole number, such as "10"',
            )
