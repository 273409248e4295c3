from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_jobs import KINDS, QueuedJob
from policies.dialects.kueue_workload import GATED_BY, Workload
from policies.dialects.labels import is_domain_prefixed_path
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import Finding

_FIELD = fields.join("metadata", "annotations", GATED_BY)
_LONGEST = 63
_MOST = 20  # faults that are told; an annotation may hold a hundred thousand


@rule(
    "admission-gate-invalid",
    source="Kueue: webhooks of Workload and of every kind of job (feature gate AdmissionGatedBy)",
    kinds=(WORKLOAD, *KINDS),
    alone=True,
    no_cel="a gated feature, and the gate is in the configuration",
)
def admission_gate_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The annotation kueue.x-k8s.io/admission-gated-by has a gate that nobody can open, or a new one.

    Why it is refused: a Workload waits until every gate is taken away by the controller that it is named for. A name
    that is misspelled, or comes after the Workload may have been admitted, is never taken away or comes too late.
    Example: `my gate`; `example.com/a,example.com/a`; a second gate on a Workload that exists.
    Fix: a list with commas of names like `example.com/budget`, each once and at most 63 characters, set on creation.
    """
    if not proposal.configuration.kueue.enabled("AdmissionGatedBy"):
        return
    for old_workload, workload in proposal.changed(Workload):
        yield from _of(old_workload, workload)
    for old_job, job in proposal.changed(QueuedJob):
        yield from _of(old_job, job)


def _of(before: Workload | QueuedJob | None, thing: Workload | QueuedJob) -> Iterator[Finding]:
    text = thing.annotations.get(GATED_BY, "")
    if before is not None:
        yield from _added(before, thing, text)
    for subject, message in islice(_faults(text), _MOST):
        yield Finding(thing.ref, _FIELD, message, fix="write names like example.com/budget", subject=subject)


def _added(before: Workload | QueuedJob, thing: Workload | QueuedJob, text: str) -> Iterator[Finding]:
    old = set(before.annotations.get(GATED_BY, "").split(","))
    added = [gate for gate in text.split(",") if gate not in old] if text else []
    if added:
        yield Finding(
            thing.ref,
            _FIELD,
            f"gate {added[0][:80]} is new; gates can only be taken away once the object exists",
            fix="set every gate when the object is created",
            subject="added",
        )


def _faults(text: str) -> Iterator[tuple[str, str]]:
    """(gate, what is wrong with it)."""
    seen: set[str] = set()
    for index, gate in enumerate(part.strip() for part in text.split(",")) if text else ():
        if not gate:
            yield f"empty {index}", "a gate without a name"
        elif gate in seen:
            yield f"again {index}", f"gate {gate[:80]} is listed twice"
        else:
            seen.add(gate)
            if not is_domain_prefixed_path(gate):
                yield gate, f"{gate[:80]!r} is no name of a gate: it needs a DNS domain, '/' and a path"
            if len(gate) > _LONGEST:
                yield (
                    f"length of {gate}",
                    f"gate {gate[:80]} has {len(gate)} characters; at most {_LONGEST} are allowed",
                )
