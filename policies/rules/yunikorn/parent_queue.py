"""The rules about `parentqueue`: how the placement rules use the queue that a Namespace names there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nsmallest
from typing import NamedTuple, TypeAlias

from policies.dialects import yunikorn
from policies.dialects.core import CONFIG_MAP, NAMESPACE, Namespace
from policies.dialects.yunikorn_config import Partition, PlacementRule
from policies.dialects.yunikorn_config.configmap import ConfiguredQueues, tree
from policies.dialects.yunikorn_config.model import Problem
from policies.dialects.yunikorn_config.placement import (
    ExistingQueues,
    OpenPartition,
    Rejected,
    ReportedApplication,
    Undecided,
    candidate,
    nearest,
)
from policies.dialects.yunikorn_config.placement_checks import FIXED, TAG
from policies.dialects.yunikorn_shares import PARENT_QUEUE
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated
from policies.model.objects import Ref
from policies.model.printing import listed
from policies.rules.yunikorn._namespace_shares import Declared, declared
from policies.rules.yunikorn._queue_config import finding, trees
from policies.rules.yunikorn._yunikorn_tree import partition, tags, unfiltered

_TAG = "namespace.parentqueue"
_NAMED = 5  # the most namespaces that a message lists

Candidates: TypeAlias = list[tuple[str, str]]
"""What each placement rule makes of a parent queue: its path, empty if it has none, and why it cannot be used."""


class ParentFault(NamedTuple):
    """Why a parent queue cannot be used.

    `queue`: the parent queue.
    `fault`: the part of the message after its name.
    """

    queue: str
    fault: str
    fix: str


def unusable_parents(
    proposal: Proposal, judged: Callable[[str, Candidates], ParentFault | None]
) -> Iterator[Finding | NotEvaluated]:
    """A finding for each changed Namespace with an unusable parent, and for each such value of other Namespaces.

    `judged`: returns the fault for a value of `parentqueue` and its candidates, or None.
    """
    for each in _named_parents(proposal):
        if isinstance(each, NotEvaluated):
            yield each
            continue
        namespace, found = each
        if found and (wrong := judged(yunikorn.parent_queue(namespace) or "", found)) is not None:
            yield Finding(
                namespace.ref,
                yunikorn.field(yunikorn.PARENT_QUEUE),
                f"the parent queue {wrong.queue} {wrong.fault}",
                fix=wrong.fix,
                subject=wrong.queue,
                profiles=STRICT_ONLY,
            )
    for other in _parents_of_others(proposal):
        if isinstance(other, NotEvaluated):
            yield other
            continue
        written, parent, members, found = other
        if (wrong := judged(parent, found)) is not None:
            yield finding(written, _problem(parent, members, wrong.fault))


def _named_parents(proposal: Proposal) -> Iterator[tuple[Namespace, Candidates] | NotEvaluated]:
    """Each changed Namespace that names a parent queue, with its candidates. NotEvaluated if no queues are known, or if
    the parent cannot be evaluated."""
    named = [namespace for _, namespace in proposal.changed(Namespace) if yunikorn.parent_queue(namespace)]
    queues = partition(proposal) if named else None
    if isinstance(queues, NotEvaluated):
        yield queues
    elif queues is not None:
        for namespace in named:
            found = _parents(queues, OpenPartition(queues), ReportedApplication(tags=tags(namespace)))
            yield found if isinstance(found, NotEvaluated) else (namespace, found)


def _parents_of_others(
    proposal: Proposal,
) -> Iterator[tuple[ConfiguredQueues, str, list[Ref], Candidates] | NotEvaluated]:
    """For a change of the queues, each faulty value of `parentqueue` in Namespaces that do not change.

    Yields (queues.yaml, value, Namespaces with it, candidates). If the change removes the declared parent, it is left
    out, since the rules about busy queues report this.
    """
    every = [*trees(proposal)]
    if not every:
        return
    namespace = proposal.configuration.yunikorn.namespace
    old = declared(tree(proposal.before, namespace).text or "")
    changing = {change.ref for change in proposal.changes}
    for written in every:
        known = declared(written.text) if written.text else None
        if known is None or written.ref.namespace != namespace:
            continue
        for key in proposal.after.groups(PARENT_QUEUE):
            application = ReportedApplication(tags={_TAG: key.name})
            found = _parents(known.partition, known, application) if key.name else []
            if isinstance(found, NotEvaluated):
                yield found
            elif any(fault for _, fault in found) and not _lost(old, known, application):
                members = [ref for ref, _ in proposal.after.members(key).items() if ref not in changing]
                if members:
                    yield written, key.name, members, found
        if unknown := proposal.unknown(NAMESPACE):
            yield NotEvaluated(f"not all objects of {unknown[0]} are known; some may name an unusable parent queue")


def _problem(parent: str, members: list[Ref], fault: str) -> Problem:
    """The problem with the parent queue of these Namespaces, reported at the queue configuration."""
    first = listed([ref.name for ref in nsmallest(_NAMED, members)], len(members))
    return Problem(
        "",
        0,
        f"the parent queue {parent} of namespaces ({first}) {fault}",
        f"declare {parent} with `parent: true`, or first set the annotation parentqueue of these namespaces to "
        "a usable queue",
        f"parent queue {parent}",
        accepted=True,
    )


def _lost(old: Declared | None, known: Declared, application: ReportedApplication) -> bool:
    """Whether the queue was declared and usable before, so that this change removes it."""
    if old is None or old is known:
        return False
    found = _parents(old.partition, old, application)
    return not isinstance(found, NotEvaluated) and any(old.exists(path) for path, fault in found if path and not fault)


def _parents(known: Partition, queues: ExistingQueues, application: ReportedApplication) -> Candidates | NotEvaluated:
    """For each rule that creates queues below the named parent: the path of the parent, and why it cannot be used.

    The path is empty if the rule returns none. The reason is empty if the parent can be used.
    """
    found = []
    for naming in _naming(known):
        try:
            path = candidate(unfiltered(naming), queues, application)
        except Rejected as error:
            found.append(("", str(error)))
            continue
        except Undecided as error:
            return NotEvaluated(str(error))
        if not path:
            found.append(("", "does not exist, and no placement rule creates it"))
            continue
        above = nearest(path, queues)
        fault = "is a leaf" if above == path else f"is below the leaf {above}"
        found.append((path, fault if queues.is_leaf(above) else ""))
    return found


def _naming(partition: Partition) -> Iterator[PlacementRule]:
    """The parent rules that read the annotation. Rules that also need a user or a queue are left out."""
    for placing in partition.rules:
        for link in placing.chain()[:-1]:
            kinds = {each.kind for each in link.chain()}
            if link.kind == TAG and link.value.text.lower() == _TAG and kinds <= {TAG, FIXED}:
                yield link


@rule(
    "parent-queue-is-leaf",
    source="YuniKorn: placement by tag, a parent rule that gives a leaf rejects the application",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def parent_queue_is_leaf(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Namespace names a leaf, or a queue below a leaf, as its parent queue.

    Why it is refused: no queue can be created below a leaf. YuniKorn does not check the annotation, and rejects every
    application of the namespace, even if further placement rules follow. The rule applies to changed Namespaces, and to
    all Namespaces if the queues or the placement rules change.
    Example: `yunikorn.apache.org/parentqueue: root.batch` where `root.batch` has neither children nor `parent: true`.
    Fix: name a queue that has `parent: true`, or give that flag to this one.
    """
    yield from unusable_parents(proposal, _leaf)


def _leaf(_: str, found: Candidates) -> ParentFault | None:
    wrong = next(((path, fault) for path, fault in found if path and fault), None)
    if wrong is None or any(path and not fault for path, fault in found):
        return None
    fix = "name a queue that has `parent: true`, or give that flag to the leaf"
    return ParentFault(wrong[0], f"{wrong[1]}; no queue can be created below it", fix)


@rule(
    "parent-queue-missing",
    source="YuniKorn: placement by tag below the queue of namespace.parentqueue; never validated there",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def parent_queue_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Namespace names a parent queue that does not exist.

    Why it is refused: YuniKorn does not check the annotation `parentqueue`. The placement rule that should create the
    namespace's queue below the parent does not match, so applications go to another queue with another quota, or are
    rejected. A missing parent is allowed if a placement rule creates it. If no rule reads the annotation, nothing is
    reported. The rule applies to changed Namespaces, and to all Namespaces if the queues or the placement rules change.
    Example: `yunikorn.apache.org/parentqueue: root.produktion` where the queue is called `root.production`.
    Fix: name a queue of queues.yaml that has `parent: true`, or let the placement rule create it.
    """
    yield from unusable_parents(proposal, _missing)


def _missing(parent: str, found: Candidates) -> ParentFault | None:
    if any(path for path, _ in found):
        return None
    fix = "name a queue of queues.yaml that has `parent: true`, or let the placement rule create it"
    return ParentFault(parent, f"cannot be used: {found[0][1]}", fix)
