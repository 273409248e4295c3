"""The users of a declared queue of YuniKorn: pods that run in it, and namespaces with queues below it."""

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

_NAMED = 5  # objects that a message lists; the rest are counted


@dataclass(slots=True)
class Uses:
    """`pods` counts those that run in the queue or below it, `namespaces` those that have their queues there.

    Some of both are named, for messages.
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
    """Uses by the path of the declared queue, or of the nearest declared one above a queue that a rule creates.

    Costs one placement for each namespace and queue that pods name, and for each `parentqueue`, not for each pod.
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
        if above and parent_queue:  # without the annotation no namespace chose this queue
            used, members = found.setdefault(above[0].path.lower(), Uses()), forest.members(group(parent_queue))
            used.namespaces += len(members)
            used.named.update(nsmallest(_NAMED, (ref for ref, _ in members.items())))
    return found


def _submissions(forest: Forest, known: Declared) -> Iterator[tuple[str, Ref]]:
    """The queue that each group of like pods is placed in, as far as the rules decide it without the user."""
    for submission in forest.groups(SUBMISSION):
        namespace = forest.get(Ref(*NAMESPACE, "", submission.namespace))
        labels = tags(namespace) if isinstance(namespace, Namespace) else {"namespace": submission.namespace}
        path = known.placement(ReportedApplication(queue=submission.name, tags=labels)).queue.lower()
        above = known.above(path)
        if above:
            yield above[0].path.lower(), submission
