from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, Namespace
from policies.dialects.yunikorn_flaws import Flaw, flaws
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding, write


@rule(
    "quota-annotation-invalid",
    source="YuniKorn: namespace quota annotations",
    kinds=(NAMESPACE,),
    alone=True,
    no_cel="CEL cannot read the JSON in an annotation, nor see a duplicate key",
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
)
def quota_annotation_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A quota annotation of a Namespace cannot be read.

    Why it is refused: YuniKorn only logs the fault and runs the namespace without a quota, so because of one missing
    quote a whole team has no limit. YuniKorn does not use the legacy annotations instead, and one bad value invalidates
    the whole annotation. An existing queue keeps its earlier quota until it is empty, so the mistake is noticed late.
    `namespace.quota` and `namespace.guaranteed` are JSON objects with unique keys, whose values are strings with a
    quantity of 0 or more. `namespace.max.cpu` and `namespace.max.memory` are such quantities, and `namespace.maxApps`
    is a whole number.
    Example: `yunikorn.apache.org/namespace.quota: '{"cpu":4,"memory":"64MiB"}'`, where 4 is not a string, and MiB is
    not a suffix.
    Fix: `'{"cpu":"4","memory":"64Mi"}'`.
    """
    legacy = yunikorn.reads_legacy(proposal.configuration.yunikorn.version)
    for _, namespace in proposal.changed(Namespace):
        for flaw in flaws(namespace):
            at = f", {flaw.where}" if flaw.where else ""
            outcome = flaw.outcome or _outcome(namespace, flaw, legacy)
            yield Finding(
                namespace.ref,
                yunikorn.field(flaw.annotation),
                f"{yunikorn.short(flaw.annotation)}{at}: {flaw.message}; {outcome}",
                fix=flaw.fix,
                patch=write(yunikorn.field(flaw.annotation), flaw.write),
                subject=flaw.subject,
                profiles=STRICT_ONLY,
                follows=((namespace.ref, yunikorn.field(flaw.annotation)),) if flaw.follows else (),
            )


def _outcome(namespace: Namespace, flaw: Flaw, legacy: bool) -> str:
    """What YuniKorn does if it ignores the whole annotation."""
    legacy_keys = [yunikorn.short(key) for key in yunikorn.LEGACY if namespace.annotations.get(key)]
    if flaw.annotation == yunikorn.GUARANTEED:
        return "YuniKorn would run this namespace without a guarantee"
    if flaw.annotation == yunikorn.MAX_APPS:
        return "YuniKorn would not limit the number of applications of this namespace"
    if flaw.annotation in yunikorn.LEGACY and not legacy:
        return "and this YuniKorn no longer reads this annotation at all"
    if flaw.annotation in yunikorn.LEGACY and namespace.annotations.get(yunikorn.QUOTA):
        return "YuniKorn ignores it here, since namespace.quota is set"
    instead = (
        f", and would not use {' and '.join(legacy_keys)} instead"
        if legacy_keys and flaw.annotation == yunikorn.QUOTA
        else ""
    )
    return f"YuniKorn would run this namespace without a quota{instead}"
