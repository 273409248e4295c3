from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, Namespace
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Cause, Finding


@rule(
    "guaranteed-exceeds-quota",
    source="YuniKorn: queue validation, guaranteed within max; not done for namespaces there",
    kinds=(NAMESPACE,),
    alone=True,
    no_cel="CEL cannot read the JSON in an annotation",
)
def guaranteed_exceeds_quota(proposal: Proposal) -> Iterator[Finding]:
    """A Namespace is guaranteed more of a resource than its quota lets it use.

    Why it is refused: the part above the quota can never be used, and it distorts the order in which YuniKorn serves
    queues and chooses victims. YuniKorn refuses the same for a queue in queues.yaml, but never checks namespaces. A
    resource that only one of the two annotations names is allowed.
    Example: `namespace.quota: '{"cpu":"4"}'` and `namespace.guaranteed: '{"cpu":"6"}'`.
    Fix: lower the guarantee to 4, or raise the quota to 6.
    """
    version = proposal.configuration.yunikorn.version
    for _, written in proposal.changed(Namespace):
        namespace = yunikorn.as_read(written, version)
        quota, guaranteed = yunikorn.quota(namespace), yunikorn.guaranteed(namespace)
        if quota is None or guaranteed is None:
            continue  # an annotation that cannot be read, or has only zeros, has no effect
        quotas = yunikorn.written_amounts(yunikorn.quota_texts(namespace) or {})
        guarantees = yunikorn.written_amounts(yunikorn.guaranteed_texts(namespace) or {})
        for kind in sorted(kind for kind in guaranteed if kind in quota and guaranteed[kind] > quota[kind]):
            (resource, wanted), (name, held) = guarantees[kind], quotas[kind]
            source = yunikorn.quota_key(namespace, resource)
            yield Finding(
                namespace.ref,
                yunikorn.field(yunikorn.GUARANTEED),
                f"{resource}={wanted} is guaranteed, but {yunikorn.short(source)} allows {name}={held}",
                fix=f"lower the guarantee to {name}={held} or less, or raise the quota to {resource}={wanted} or more",
                subject=kind,
                excess=guaranteed[kind] - quota[kind],
                causes=(Cause(namespace.ref, yunikorn.field(source), f"the quota is {name}={held}"),),
                profiles=STRICT_ONLY,
            )
