from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression
from policies.cel.yunikorn import NOTES, each_legacy, note
from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, Namespace
from policies.dialects.yunikorn_flaws import shortened
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Action, Finding

_CEL = each_legacy(f"{note('quota')} != ''", " is ignored, since namespace.quota is given")


@rule(
    "quota-annotations-conflict",
    source="YuniKorn: namespace.quota is used instead of namespace.max.*",
    kinds=(NAMESPACE,),
    default=Action.WARN,
    alone=True,
    cel=[Expression((NAMESPACE,), _CEL, NOTES)],
)
def quota_annotations_conflict(proposal: Proposal) -> Iterator[Finding]:
    """A Namespace sets its quota twice: with namespace.quota and with the legacy annotations.

    Why it is reported: YuniKorn uses only namespace.quota, even if it cannot be read, and never merges the two. A
    resource that only a legacy annotation names is not limited.
    Example: with `namespace.quota: '{"cpu":"5"}'` and `namespace.max.memory: 1Gi`, memory is not limited.
    Fix: write all amounts into `namespace.quota`, and remove `namespace.max.cpu` and `namespace.max.memory`.
    """
    if not yunikorn.reads_legacy(proposal.configuration.yunikorn.version):
        return  # the legacy annotations have no effect in this version, and legacy-quota-annotation reports them
    for _, namespace in proposal.changed(Namespace):
        if not namespace.annotations.get(yunikorn.QUOTA):
            continue
        for key, resource in yunikorn.LEGACY.items():
            name, text = yunikorn.short(key), namespace.annotations.get(key)
            if text:
                yield Finding(
                    namespace.ref,
                    yunikorn.field(key),
                    f"{name}={shortened(text)} is ignored: namespace.quota is set, {_instead(namespace, resource)}",
                    fix=f"keep the amount of {resource} only in namespace.quota and remove {name}",
                    subject=resource,
                    patch=({"op": "remove", "path": yunikorn.pointer(key)},),
                    profiles=STRICT_ONLY,
                )


def _instead(namespace: Namespace, resource: str) -> str:
    texts = yunikorn.quota_texts(namespace)
    if texts is None or yunikorn.quota(namespace) is None:
        return "though it limits nothing"
    written = yunikorn.written(texts).get(yunikorn.type_of(resource))  # vcore limits cpu as well
    if written is None:
        return f"which does not limit {resource}, and the two are never merged"
    return f"which says {written[0]}={written[1]}"
