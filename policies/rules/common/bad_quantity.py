from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import READERS
from policies.model.cures import apart
from policies.model.objects import KubeObject
from policies.model.proposal import Proposal
from policies.model.rule import Finding, rule


@rule("bad-quantity", source="Kubernetes quantities; Kueue's webhooks; Volcano Q2", kinds=READERS, alone=True)
def bad_quantity(proposal: Proposal) -> Iterator[Finding]:
    """A field that should hold an amount holds none, or a negative one.

    Why it is refused: an amount that cannot be read limits nothing and promises nothing, and nobody notices until work
    is stuck or a quota is gone. Things that come in whole units (pods, devices) cannot be given by halves.
    Example: `memory: 64MiB`, `cpu: -1`, `nvidia.com/gpu: 500m`.
    Fix: write a Kubernetes quantity, such as `64Mi`, `500m` or `1`.
    """
    for _, thing in proposal.changed(KubeObject):
        for defect in thing.defects:
            if defect.quantity:
                message, fix = apart(defect.message, "write a quantity, such as 4, 500m or 64Gi")
                yield Finding(thing.ref, defect.field, message, fix=fix)
