from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import YUNIKORN
from policies.dialects.yunikorn_work import WrittenTemplate
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.rules._pod_templates import MAKERS, templates

_REMOVED = {
    ("labels", YUNIKORN + "username"): "its user and group limits apply to the user of user.info, else to nobody",
    ("annotations", YUNIKORN + "ignore-application"): "YuniKorn schedules the pod as part of its application",
}
"""The keys that YuniKorn does not read any more, and what counts instead. Source: YUNIKORN-3311 and YUNIKORN-3324."""


@rule(
    "pod-key-removed",
    source="YuniKorn: labels and annotations of pods that are gone after 1.9",
    kinds=MAKERS,
    default=Action.WARN,
)
def pod_key_removed(proposal: Proposal) -> Iterator[Finding]:
    """A Pod has a label or an annotation that YuniKorn no longer reads.

    Why it is reported: YuniKorn 1.9 is the last version that reads the label `yunikorn.apache.org/username` and the
    annotation `yunikorn.apache.org/ignore-application`. Later versions ignore both without a message. The user of a Pod
    is then the one in `yunikorn.apache.org/user.info`, or `nobody`.
    Example: a Pod with the label `yunikorn.apache.org/username: anna`.
    Fix: remove the key. The admission controller of YuniKorn writes `user.info`.
    """
    for obj, before, after in templates(proposal):
        for (where, key), meaning in _REMOVED.items():
            if _has(after, where, key) and not (before is not None and _has(before, where, key)):
                yield Finding(
                    obj.ref,
                    after.field(where, key),
                    f"YuniKorn does not read {key} after version 1.9: {meaning}",
                    fix="remove it",
                    profiles=STRICT_ONLY,
                )


def _has(template: WrittenTemplate, where: str, key: str) -> bool:
    return key in (template.labels if where == "labels" else template.annotations)
