from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects.core import POD, YUNIKORN, Pod
from policies.dialects.priority_class import ALLOW_PREEMPTION, PRIORITY_CLASS, PriorityClass
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
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
    """The annotation that keeps pods from being preempted by YuniKorn is written so that it says nothing.

    Why it is reported: YuniKorn reads `true` and `false` alone, in small letters. Anything else on a Pod counts as not
    written, so that its PriorityClass decides; anything else on a PriorityClass counts as `true`, so that pods which
    were meant to be spared are preempted.
    Example: a PriorityClass with `yunikorn.apache.org/allow-preemption: "False"`.
    Fix: write "false" to spare the pods, or "true".
    """
    for _, thing in proposal.changed(KubeObject):
        annotations = _annotations(thing)
        written = annotations.get(ALLOW_PREEMPTION)
        if written is None or written in _READ:
            continue
        instead = "it counts as true" if isinstance(thing, PriorityClass) else "its PriorityClass decides"
        meant = written.strip().lower()
        yield Finding(
            thing.ref,
            fields.join("metadata.annotations", ALLOW_PREEMPTION),
            f"{ALLOW_PREEMPTION.removeprefix(YUNIKORN)} is {written[:40]!r}, which YuniKorn does not read: {instead}",
            fix=f'write "{meant}"' if meant in _READ else 'write "false" to spare the pods, or "true"',
            profiles=STRICT_ONLY,
        )


def _annotations(thing: KubeObject) -> Mapping[str, str]:
    return thing.annotations if isinstance(thing, Pod | PriorityClass) else {}
