from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from policies.dialects import READERS
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import Action, Finding, apart, patch
from policies.model.objects import KubeObject


@rule(
    "unknown-field",
    source="Kubernetes: strict field validation of kubectl",
    kinds=READERS,
    alone=True,
    no_cel="the API server drops such a field before it evaluates policies",
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
    only=Occasion.DEFECT,
    of_change=True,
)
def unknown_field(proposal: Proposal) -> Iterator[Finding]:
    """A field that the kind does not have in this version.

    Why it is refused: kubectl refuses it. From other clients, the API server drops it without an error, so the limit or
    the parent that the user wrote does not exist. Only manifests in files can have such a field, since the API server
    has already dropped it from objects that a webhook or an audit reads. If your definitions are newer than this
    version of Quotree, set the rule to `warn`. Kubernetes' own kinds and the pod templates of jobs are compared with
    the fields of Kubernetes 1.36, but your cluster may be newer. So a field of these is refused only if its name is
    similar to that of a known field that is absent. Any other unknown field of these gets a warning, even if it belongs
    in another place. The status is not compared.
    Example: `nominalQouta: 4`; `cohort` in kueue.x-k8s.io/v1beta2, where it is `cohortName`; `NodeSelector` in a Job.
    Fix: write the name or the place that the message suggests, or remove the field.
    """
    for _, obj in proposal.changed(KubeObject):
        for defect in obj.defects:
            if defect.unknown:
                message, fix = apart(defect.message, "remove it")
                meant = ((obj.ref, defect.meant),) if defect.meant else ()
                action = Action.WARN if defect.newer else None
                yield Finding(
                    obj.ref, defect.field, message, fix=fix, patch=patch(defect), action=action, concerns=meant
                )
