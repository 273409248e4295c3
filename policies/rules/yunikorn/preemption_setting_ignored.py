from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import POD, YUNIKORN, Pod
from policies.dialects.priority_class import ALLOW_PREEMPTION, PRIORITY_CLASS, PriorityClass
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.objects import KubeObject

_READ = ("true", "false")


@rule(
    "preemption-setting-ignored",
    source="YuniKorn: annotation allow-preemption of pods and priority classes",
    kinds=(POD, PRIORITY_CLASS),
    default=Action.WARN,
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def preemption_setting_ignored(proposal: Proposal) -> Iterator[Finding]:
    """The annotation that protects pods from YuniKorn's preemption has a value that YuniKorn ignores.

    Why it is reported: YuniKorn reads only `true` and `false`, in lower case. It ignores any other value on a Pod, so
    the PriorityClass decides. On a PriorityClass, any other value counts as `true`, so pods that should be protected
    are preempted.
    Example: a PriorityClass with `yunikorn.apache.org/allow-preemption: "False"`.
    Fix: write "false" to protect the pods, or "true".
    """
    for _, obj in proposal.changed(KubeObject):
        annotations = obj.annotations if isinstance(obj, Pod | PriorityClass) else {}
        written = annotations.get(ALLOW_PREEMPTION)
        if written is None or written in _READ:
            continue
        instead = "it counts as true" if isinstance(obj, PriorityClass) else "its PriorityClass decides"
        meant = written.strip().lower()
        yield Finding(
            obj.ref,
            fields.join("metadata.annotations", ALLOW_PREEMPTION),
            f"{ALLOW_PREEMPTION.removeprefix(YUNIKORN)} is {written[:40]!r}, which YuniKorn does not read: {instead}",
            fix=f'write "{meant}"' if meant in _READ else 'write "false" to protect the pods, or "true"',
            profiles=STRICT_ONLY,
        )
