"""Finds the uses of declared YuniKorn queues: pods that run in a queue, and namespaces with queues below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nsmallest

from policies.dialects.core import NAMESPACE, SUBMISSION, Namespace
from policies.dialects.yunikorn_config import ReportedApplication
from policies.dialects.yunikorn_shares import group
from policies.model.findings import Cause
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.rules.yunikorn._namespace_shares import Declared, declared, groups
from policies.rules.yunikorn._yunikorn_tree import tags

_NAMED = 5  # the most objects that a message lists; the others are counted


@dataclass(slots=True)
class Uses:
    """The uses of a queue and its descendants.

    `pods`: the number of pods that run there.
    `namespaces`: the number of namespaces that have their queues there.
    `named`: some of both, for messages.
    """

    pods: int = 0
    namespaces: int = 0
    named: set[Ref] = field(default_factory=set)

    @property
    def count(self) -> int:
        return self.pods + self.namespaces

    def __str__(self) -> str:
        first = nsmallest(_NAMED, self.named)
        more = f" and {self.count - len(first)} more" if self.count > len(first) else ""
        return f"{', '.join(map(str, first))}{more}"

    def causes(self, message: str) -> tuple[Cause, ...]:
        return tuple(Cause(ref, "metadata", message) for ref in nsmallest(_NAMED, self.named))


def uses(forest: Forest, text: str) -> dict[str, Uses]:
    """The uses by path of the declared queue. A queue that a rule creates counts at its nearest declared ancestor.

    A placement is computed for each namespace and queue that pods name, and for each `parentqueue`, but not for each
    pod.
    """
    known, found = declared(text), dict[str, Uses]()
    if known is None:
        return found
    for queue, submission in _submissions(forest, known):
        pods = forest.members(submission)
        used = found.setdefault(queue, Uses())
        used.pods += len(pods)
        used.named.update(nsmallest(_NAMED, (ref for ref, _ in pods.items())))
    for parent_queue, path, _ in groups(forest, text):
        above = known.above(path)
        if above and parent_queue:  # only namespaces with the annotation have chosen this queue
            used, members = found.setdefault(above[0].path.lower(), Uses()), forest.members(group(parent_queue))
            used.namespaces += len(members)
            used.named.update(nsmallest(_NAMED, (ref for ref, _ in members.items())))
    return found


def _submissions(forest: Forest, known: Declared) -> Iterator[tuple[str, Ref]]:
    """The queue of each group of similar pods, if the rules decide it without the user."""
    for submission in forest.groups(SUBMISSION):
        namespace = forest.get(Ref(*NAMESPACE, "", submission.namespace))
        labels = tags(namespace) if isinstance(namespace, Namespace) else {"namespace": submission.namespace}
        path = known.placement(ReportedApplication(queue=submission.name, tags=labels)).queue.lower()
        above = known.above(path)
        if above:
            yield above[0].path.lower(), submission
