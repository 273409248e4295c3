from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_checks import MULTIKUEUE, AdmissionCheck
from policies.dialects.kueue_kinds import ADMISSION_CHECK, MULTIKUEUE_CONFIG
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.model.suggestion import write_or_create

_FIELD = "spec.parameters"


@rule(
    "multikueue-config-missing",
    source="Kueue: AdmissionCheck condition Active, reason BadConfig",
    kinds=(ADMISSION_CHECK,),
    default=Action.WARN,
)
def multikueue_config_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """An AdmissionCheck of MultiKueue names no existing MultiKueueConfig.

    Why it is reported: the check is inactive then, and ClusterQueues that use it admit nothing. It is a warning, since
    objects may be applied in any order.
    Example: `parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: wokers}`; the config is `workers`.
    Fix: create the MultiKueueConfig, or correct the name.
    """
    for _, check in proposal.changed(AdmissionCheck):
        if check.controller != MULTIKUEUE:
            continue
        if check.parameters is None or check.parameters.group_kind != MULTIKUEUE_CONFIG:
            fix = "write apiGroup kueue.x-k8s.io, kind MultiKueueConfig and its name under spec.parameters"
            yield _finding(check, _FIELD, "names no MultiKueueConfig", fix)
        elif proposal.after.get(check.parameters) is None:
            if proposal.unknown(MULTIKUEUE_CONFIG):
                yield NotEvaluated("not all objects of MultiKueueConfig are known")
                return
            name = check.parameters.name
            fix = write_or_create(MULTIKUEUE_CONFIG.kind, name, proposal.near(check.parameters))
            yield _finding(check, f"{_FIELD}.name", f"names MultiKueueConfig {name}, which does not exist", fix)


def _finding(check: AdmissionCheck, field: str, what: str, fix: str) -> Finding:
    message = f"AdmissionCheck {check.ref.name} {what}; queues that use it admit nothing"
    return Finding(check.ref, field, message, fix=fix, profiles=STRICT_ONLY)
