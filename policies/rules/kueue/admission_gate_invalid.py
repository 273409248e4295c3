from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from policies.dialects.core import POD, Pod
from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_jobs import KINDS, QueuedJob
from policies.dialects.kueue_pods import LABEL
from policies.dialects.kueue_workload import GATED_BY, WrittenWorkload
from policies.dialects.labels import is_domain_prefixed_path
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding

_Gated: TypeAlias = WrittenWorkload | QueuedJob | Pod
_FIELD = fields.join("metadata", "annotations", GATED_BY)
_LONGEST = 63
_MOST = 20  # the most faults that are reported; an annotation could have a hundred thousand


@rule(
    "admission-gate-invalid",
    source="Kueue: webhooks of Workload and of every kind of job (feature gate AdmissionGatedBy)",
    kinds=(WORKLOAD, *KINDS, POD),
    alone=True,
    no_cel="a gated feature, and the gate is in the configuration",
)
def admission_gate_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The annotation kueue.x-k8s.io/admission-gated-by has an invalid gate, or a new one on an existing object.

    Why it is refused: a Workload waits until the controller of each gate has removed it. A misspelled gate is never
    removed, and a gate that is added later may come after the admission.
    Example: `my gate`; `example.com/a,example.com/a`; a second gate on a Workload that exists.
    Fix: write names like `example.com/budget`, separated by commas, each once and at most 63 characters long, when the
    object is created.
    """
    if not proposal.configuration.kueue.enabled("AdmissionGatedBy"):
        return
    for old_workload, workload in proposal.changed(WrittenWorkload):
        yield from _of(old_workload, workload)
    for old_job, job in proposal.changed(QueuedJob):
        yield from _of(old_job, job)
    for old_pod, pod in proposal.changed(Pod):
        if LABEL in pod.marks:
            yield from _of(old_pod, pod)


def _of(before: _Gated | None, obj: _Gated) -> Iterator[Finding]:
    text = obj.annotations.get(GATED_BY, "")
    if before is not None:
        yield from _added(before, obj, text)
    for subject, message in islice(_faults(text), _MOST):
        yield Finding(obj.ref, _FIELD, message, fix="write names like example.com/budget", subject=subject)


def _added(before: _Gated, obj: _Gated, text: str) -> Iterator[Finding]:
    old = set(_names(before.annotations.get(GATED_BY, "")))
    added = [gate for gate in _names(text) if gate not in old]
    if added:
        yield Finding(
            obj.ref,
            _FIELD,
            f"gate {added[0][:80]} is new; once the object exists, gates can only be removed",
            fix="set every gate when the object is created",
            subject="added",
        )


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _faults(text: str) -> Iterator[tuple[str, str]]:
    """The faults, each as (name of the gate, message)."""
    seen: set[str] = set()
    for index, gate in enumerate(_names(text)):
        if not gate:
            yield f"empty {index}", "a gate has no name"
        elif gate in seen:
            yield f"again {index}", f"gate {gate[:80]} is listed twice"
        else:
            seen.add(gate)
            if not is_domain_prefixed_path(gate):
                yield gate, f"{gate[:80]!r} is not a gate name: it needs a DNS domain, '/' and a path"
            if len(gate) > _LONGEST:
                yield (
                    f"length of {gate}",
                    f"gate {gate[:80]} has {len(gate)} characters; at most {_LONGEST} are allowed",
                )
