"""The rules about `parentqueue`: whether placement rules can use the queue that a Namespace names there.

A placement rule such as `{name: user, create: true, parent: {name: tag, value: namespace.parentqueue}}` creates queues
below the named queue. Each placement rule with such a parent makes a candidate of the name. Both rules of this module
judge all candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nsmallest
from typing import NamedTuple, TypeAlias

from policies.dialects import yunikorn
from policies.dialects.core import CONFIG_MAP, NAMESPACE, Namespace
from policies.dialects.yunikorn_config.configmap import tree
from policies.dialects.yunikorn_config.model import Partition, PlacementRule, Problem
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
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated
from policies.model.objects import Ref
from policies.model.printing import listed
from policies.rules.yunikorn._namespace_shares import Declared, declared
from policies.rules.yunikorn._queue_config import finding, partition, tags, trees, unfiltered

_TAG = "namespace.parentqueue"
_NAMED = 5  # the most namespaces that a message lists


class _Candidate(NamedTuple):
    """What one placement rule makes of the name.

    `path`: the queue; empty if the rule does not match.
    `fault`: why no queue can be created below it; empty if one can.
    """

    path: str
    fault: str


class _UnusableParent(NamedTuple):
    """A queue that cannot be a parent. `fault`: the part of the message after its name."""

    queue: str
    fault: str
    fix: str


_Judge: TypeAlias = Callable[[str, list[_Candidate]], _UnusableParent | None]
"""Judges a value of `parentqueue` by its candidates, at least one. None if the value is usable."""


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
    yield from _unusable_parents(proposal, _leaf)


def _leaf(_: str, candidates: list[_Candidate]) -> _UnusableParent | None:
    found = [each for each in candidates if each.path]
    if not found or not all(each.fault for each in found):
        return None
    fix = "name a queue that has `parent: true`, or give that flag to the leaf"
    return _UnusableParent(found[0].path, f"{found[0].fault}; no queue can be created below it", fix)


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
    yield from _unusable_parents(proposal, _missing)


def _missing(parent: str, candidates: list[_Candidate]) -> _UnusableParent | None:
    if any(each.path for each in candidates):
        return None
    fix = "name a queue of queues.yaml that has `parent: true`, or let the placement rule create it"
    return _UnusableParent(parent, f"cannot be used: {candidates[0].fault}", fix)


def _unusable_parents(proposal: Proposal, judge: _Judge) -> Iterator[Finding | NotEvaluated]:
    yield from _in_changed_namespaces(proposal, judge)
    yield from _in_other_namespaces(proposal, judge)


def _in_changed_namespaces(proposal: Proposal, judge: _Judge) -> Iterator[Finding | NotEvaluated]:
    """A finding for each changed Namespace that names an unusable parent."""
    named = [namespace for _, namespace in proposal.changed(Namespace) if yunikorn.parent_queue(namespace)]
    if not named:
        return
    queues = partition(proposal)
    if isinstance(queues, NotEvaluated):
        yield queues
        return
    for namespace in named:
        candidates = _candidates(queues, OpenPartition(queues), ReportedApplication(tags=tags(namespace)))
        if isinstance(candidates, NotEvaluated):
            yield candidates
        elif candidates and (wrong := judge(yunikorn.parent_queue(namespace) or "", candidates)) is not None:
            yield Finding(
                namespace.ref,
                yunikorn.field(yunikorn.PARENT_QUEUE),
                f"the parent queue {wrong.queue} {wrong.fault}",
                fix=wrong.fix,
                subject=wrong.queue,
                profiles=STRICT_ONLY,
            )


def _in_other_namespaces(proposal: Proposal, judge: _Judge) -> Iterator[Finding | NotEvaluated]:
    """If queues change, a finding at the queues for each unusable parent that unchanged Namespaces name.

    A parent that the change removes is left out, since the rules about busy queues report this.
    """
    written = [each for each in trees(proposal) if each.ref.namespace == proposal.configuration.yunikorn.namespace]
    changing = {change.ref for change in proposal.changes}
    for queues in written:
        before = declared(tree(proposal.before, queues.ref.namespace).text or "")
        after = declared(queues.text or "")
        if after is None:
            continue
        for key in proposal.after.groups(PARENT_QUEUE):
            application = ReportedApplication(tags={_TAG: key.name})
            candidates = _candidates(after.partition, after, application) if key.name else []
            if isinstance(candidates, NotEvaluated):
                yield candidates
            elif any(each.fault for each in candidates) and not _was_usable(before, after, application):
                members = [ref for ref, _ in proposal.after.members(key).items() if ref not in changing]
                if members and (wrong := judge(key.name, candidates)) is not None:
                    yield finding(queues, _problem(key.name, members, wrong.fault))
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


def _was_usable(before: Declared | None, after: Declared, application: ReportedApplication) -> bool:
    """Whether the queue was declared and usable before."""
    if before is None or before is after:
        return False
    found = _candidates(before.partition, before, application)
    return not isinstance(found, NotEvaluated) and any(
        before.exists(each.path) for each in found if each.path and not each.fault
    )


def _candidates(
    known: Partition, queues: ExistingQueues, application: ReportedApplication
) -> list[_Candidate] | NotEvaluated:
    found = []
    for naming in _naming(known):
        try:
            path = candidate(unfiltered(naming), queues, application)
        except Rejected as error:
            found.append(_Candidate("", str(error)))
            continue
        except Undecided as error:
            return NotEvaluated(str(error))
        if not path:
            found.append(_Candidate("", "does not exist, and no placement rule creates it"))
            continue
        above = nearest(path, queues)
        fault = "is a leaf" if above == path else f"is below the leaf {above}"
        found.append(_Candidate(path, fault if queues.is_leaf(above) else ""))
    return found


def _naming(partition: Partition) -> Iterator[PlacementRule]:
    """The parent rules that read the annotation. Rules that also need a user or a queue are left out."""
    for placing in partition.rules:
        for link in placing.chain()[:-1]:
            kinds = {each.kind for each in link.chain()}
            if link.kind == TAG and link.value.text.lower() == _TAG and kinds <= {TAG, FIXED}:
                yield link
