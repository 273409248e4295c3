"""The rules about YuniKorn queues that are removed, or change between leaf and parent, while they are used.

Pods that run in a queue use it. So do namespaces whose `parentqueue` leads to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

from policies.dialects.core import CONFIG_MAP, NAMESPACE, POD, SUBMISSION, namespace_in
from policies.dialects.yunikorn_config.configmap import ConfiguredQueues, tree
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Problem
from policies.dialects.yunikorn_config.placement import ReportedApplication
from policies.dialects.yunikorn_shares import group
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.printing import listed
from policies.rules.yunikorn._namespace_shares import Declared, declared, guarantees_below_parents
from policies.rules.yunikorn._queue_config import finding, tags, trees

_NAMED = 5  # the most objects that a message lists; the others are counted


@dataclass(slots=True)
class Uses:
    """The uses of a declared queue. A use of an undeclared queue counts at its nearest declared ancestor.

    `pods`: the number of pods that run there.
    `namespaces`: the number of namespaces whose `parentqueue` leads there.
    `named`: some of both, for messages.
    """

    pods: int = 0
    namespaces: int = 0
    named: set[Ref] = field(default_factory=set)

    @property
    def count(self) -> int:
        return self.pods + self.namespaces

    def __str__(self) -> str:
        return listed(nsmallest(_NAMED, self.named), self.count)

    def causes(self, message: str) -> tuple[Cause, ...]:
        return tuple(Cause(ref, "metadata", message) for ref in nsmallest(_NAMED, self.named))


def reshaped(proposal: Proposal) -> Iterator[tuple[ConfiguredQueues, Declared, Declared, Mapping[str, Uses]]]:
    """For each changed queues.yaml: the tree, its queues before and after, and the uses of the old queues.

    A queues.yaml that declares no queues before or after the change is left out. The uses are computed with the old
    placement rules, but from the objects after the change, so a pod that the change deletes does not count.
    """
    namespace = proposal.configuration.yunikorn.namespace
    old_text = tree(proposal.before, namespace).text
    for written in trees(proposal):
        if written.ref.namespace != namespace or not old_text or not written.text or written.text == old_text:
            continue
        before, after = declared(old_text), declared(written.text)
        if before is not None and after is not None:
            yield written, before, after, uses(proposal.after, old_text)


def uses(forest: Forest, text: str) -> dict[str, Uses]:
    """The uses by path of the declared queue.

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
    for parent_queue, path, _ in guarantees_below_parents(forest, text):
        above = known.above(path)
        if above and parent_queue:  # only namespaces with the annotation have chosen this queue
            used, members = found.setdefault(above[0].path.lower(), Uses()), forest.members(group(parent_queue))
            used.namespaces += len(members)
            used.named.update(nsmallest(_NAMED, (ref for ref, _ in members.items())))
    return found


def _submissions(forest: Forest, known: Declared) -> Iterator[tuple[str, Ref]]:
    """The declared queue of each group of Pods that share a namespace and a requested queue.

    Rules `user` are skipped, and filters by user are ignored. Groups without a declared queue are left out.
    """
    for submission in forest.groups(SUBMISSION):
        namespace = namespace_in(forest, submission.namespace)
        labels = tags(namespace) if namespace else {"namespace": submission.namespace}
        path = known.placement(ReportedApplication(queue=submission.name, tags=labels)).queue.lower()
        above = known.above(path)
        if above:
            yield above[0].path.lower(), submission


@rule("busy-queue-removed", source="YuniKorn: reload of the queue configuration, draining queues", kinds=(CONFIG_MAP,))
def busy_queue_removed(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A queue is removed from YuniKorn's configuration while it is used.

    Why it is refused: YuniKorn accepts the change and drains the queue. Running applications continue, but new ones
    follow the next placement rule, into another queue or none. Namespaces with this `parentqueue` lose the parent of
    their queues. Pods that run in the queue and Namespaces that name it count as uses. The queue of a Pod is computed
    from the placement rules and the queue that it requests, as if every user passed the filters. Rules `user` are
    skipped.
    Example: `root.eng.dev` is removed while Pods with the label `queue: root.eng.dev` run.
    Fix: remove all users and groups from `submitacl` and `adminacl` of the queue and its ancestors, wait until the
    running applications have ended, then remove it.
    """
    for written, before, after, used in reshaped(proposal):
        gone = [path for path in before.queues if path not in after.queues]
        if gone and (unknown := proposal.unknown(POD, NAMESPACE)):
            yield NotEvaluated(f"whether removed queues are used: not all {' and '.join(unknown)} objects are known")
        for path in sorted(gone):
            use, name = used.get(path, Uses()), before.queues[path].path
            if use.count:
                assert written.setting is not None
                yield Finding(
                    written.ref,
                    written.setting.field,
                    f"queue {name} is removed while it is used by {use}",
                    fix=f"keep {name} until its applications have ended and no namespace names it; to keep new ones "
                    "out, let no submitacl or adminacl of it or its ancestors allow them",
                    subject=name,
                    excess=use.count,
                    causes=use.causes(f"uses queue {name}"),
                    profiles=STRICT_ONLY,
                )


@rule(
    "busy-queue-turned", source="YuniKorn: reload of the queue configuration; issues 1546 and 1566", kinds=(CONFIG_MAP,)
)
def busy_queue_turned(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A leaf of YuniKorn's configuration becomes a parent while it is used, or a parent becomes a leaf.

    Why it is refused: only leaves take applications. A leaf that gets children or `parent: true` keeps its running
    applications, but takes no new ones. A parent that becomes a leaf still has the queues of its namespaces below it,
    and YuniKorn rejects every new application of these. YuniKorn does not compare the configuration with existing
    queues.
    Example: `root.eng.dev` gets a child queue while Pods with the label `queue: root.eng.dev` run.
    Fix: declare the new queue as a sibling, or wait until nothing uses the present one.
    """
    for written, before, after, used in reshaped(proposal):
        turned = [
            queue
            for path, queue in after.queues.items()
            if (old := before.queues.get(path)) is not None and old.is_leaf != queue.is_leaf
        ]
        if turned and (unknown := proposal.unknown(POD, NAMESPACE)):
            yield NotEvaluated(f"whether changed queues are used: not all {' and '.join(unknown)} objects are known")
        for queue in turned:
            use = used.get(queue.path.lower(), Uses())
            if use.count:
                yield finding(written, _problem(queue, use))


def _problem(queue: ConfiguredQueue, use: Uses) -> Problem:
    became, was = ("a leaf", "a parent") if queue.is_leaf else ("a parent", "a leaf")
    lost = "no queue can be created below a leaf" if queue.is_leaf else "a parent takes no applications"
    return Problem(
        queue.field,
        queue.line,
        f"queue {queue.path} becomes {became} while it is used by {use}; {lost}",
        f"leave {queue.path} {was} until nothing uses it, and declare the new queue beside it",
        queue.path,
        use.count,
        accepted=True,
    )
