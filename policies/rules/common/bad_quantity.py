from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from policies.cel.expression import Expression, amount, joined, quantity
from policies.cel.kueue import GROUPS, each_quota, same_before
from policies.cel.volcano import AMOUNTS, amount_of
from policies.dialects import READERS
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from policies.dialects.volcano import QUEUE
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import Finding, apart, patch
from policies.model.objects import KubeObject


def _bad_amounts(field: str) -> str:
    now, old = f"variables.{field}", f"variables.old_{field}"
    return f"""\
{now}.filter(r, !{amount_of(now, "r")} && !(r in {old} && !{amount_of(old, "r")})
).map(r, 'spec.{field} of ' + r + ' is ' + string({now}[r]) + ', which is not a valid amount').join('; ')"""


_BAD_AMOUNTS = joined(*(_bad_amounts(field) for field in ("guarantee", "deserved", "capability")))


def _bad_quota(key: str) -> str:
    return f"""\
f.?resources.orValue([]).filter(q, has(q.{key}) && !{amount(f"q.{key}")}
  && !{same_before(f"has(p.{key}) && !{amount(f'p.{key}')}")}
).map(q, '{key} of ' + q.name + ' in flavor ' + f.name + ' is ' + string(q.{key}) + ', which is not a valid amount'
).join('; ')"""


_WEIGHT = "fairSharing.weight"


def _bad_weight(obj: str) -> str:
    """A CEL condition for a weight that Kueue refuses. One nano is too small, since Kueue divides by it."""
    weight = f"{obj}.spec.{_WEIGHT}"
    small = f"{quantity(weight)}.isGreaterThan(quantity('0')) && {quantity(weight)}.isLessThan(quantity('2n'))"
    return f"({obj}.?spec.?fairSharing.?weight.hasValue() && (!{amount(weight)} || ({small})))"


_BAD_WEIGHT = f"""\
{_bad_weight("object")} && !(oldObject != null && {_bad_weight("oldObject")})
? 'spec.fairSharing.weight is ' + string(object.spec.{_WEIGHT})
  + ', which is neither 0 nor an amount of 2n or more' : ''"""

_BAD_QUOTAS = each_quota(joined(*(_bad_quota(key) for key in ("nominalQuota", "borrowingLimit", "lendingLimit"))))
_OF_NODES = joined(_BAD_QUOTAS, _BAD_WEIGHT)


@rule(
    "bad-quantity",
    source="Kubernetes quantities; Kueue's webhooks; Volcano's webhook queues/validate",
    kinds=READERS,
    alone=True,
    cel=[Expression((QUEUE,), _BAD_AMOUNTS, AMOUNTS), Expression((COHORT, CLUSTER_QUEUE), _OF_NODES, GROUPS)],
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
    only=Occasion.DEFECT,
)
def bad_quantity(proposal: Proposal) -> Iterator[Finding]:
    """A quantity cannot be read, or is negative.

    Why it is refused: an amount that cannot be read neither limits nor guarantees anything, and nobody notices until
    work is stuck or a quota is gone. Pods and devices are counted in whole units, so a fraction of them is refused.
    Example: `memory: 64MiB`, `cpu: -1`, `nvidia.com/gpu: 500m`.
    Fix: write a Kubernetes quantity, such as `64Mi`, `500m` or `1`.
    """
    for _, obj in proposal.changed(KubeObject):
        for defect in obj.defects:
            if defect.quantity:
                message, fix = apart(defect.message, "write a quantity, such as 4, 500m or 64Gi")
                yield Finding(obj.ref, defect.field, message, fix=fix, patch=patch(defect))
