from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import NAMESPACE
from policies.dialects.kueue import LOCAL_QUEUE, LocalQueue
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, write_only
from policies.model.objects import Ref
from policies.model.suggestion import did_you_mean


@rule("namespace-misspelt", source="Kubernetes: namespaces not found", kinds=(LOCAL_QUEUE,), default=Action.WARN)
def namespace_misspelt(proposal: Proposal) -> Iterator[Finding]:
    """The namespace of a LocalQueue does not exist, and its name is similar to that of an existing one.

    Why it is reported: the API server refuses the LocalQueue, and the jobs of the namespace that was meant wait for it.
    In files, a namespace exists if they have its Namespace. Other names are not reported, since the namespace may be
    created elsewhere.
    Example: `namespace: vison` if there is a Namespace `vision`.
    Fix: write the namespace that the message suggests.
    """
    for before, local in proposal.changed(LocalQueue):
        namespace = local.ref.namespace
        absent = Ref(*NAMESPACE, "", namespace)
        if before is not None or proposal.after.get(absent) is not None or proposal.unknown(NAMESPACE):
            continue
        if near := proposal.near(absent):
            yield Finding(
                local.ref,
                "metadata.namespace",
                f"namespace {namespace} does not exist, so the LocalQueue cannot be created",
                fix=did_you_mean(near),
                patch=write_only("metadata.namespace", namespace, near),
                subject=namespace,
                profiles=STRICT_ONLY,
            )
