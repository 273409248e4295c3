"""What becomes of the queue that a Namespace names in `parentqueue`."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import Namespace
from policies.dialects.yunikorn_config import Partition, PlacementRule
from policies.dialects.yunikorn_config.placement import Application, Rejected, candidate
from policies.dialects.yunikorn_config.placement_checks import FIXED, TAG
from policies.proposal import Proposal
from policies.rule import NotEvaluated
from policies.rules._yunikorn_tree import opened, partition, tags, unfiltered

_TAG = "namespace.parentqueue"


Candidates = list[tuple[str, str]]


def named_parents(proposal: Proposal) -> Iterator[tuple[Namespace, Candidates] | NotEvaluated]:
    """Each changed Namespace that names a parent queue, with what becomes of it; or word that no queues are known."""
    named = [namespace for _, namespace in proposal.changed(Namespace) if yunikorn.parent_queue(namespace)]
    queues = partition(proposal) if named else None
    if isinstance(queues, NotEvaluated):
        yield queues
    elif queues is not None:
        for namespace in named:
            yield namespace, _parents(queues, namespace)


def _parents(known: Partition, namespace: Namespace) -> Candidates:
    """For each rule that puts queues below the named one: its path, and why it cannot be used; empty where it can.

    The path is empty where the rule gives none.
    """
    queues, application = opened(known), Application(tags=tags(namespace))
    found = []
    for rule in _naming(known):
        try:
            path = candidate(unfiltered(rule), queues, application)
        except Rejected as error:
            found.append(("", str(error)))
            continue
        if path and queues.is_leaf(path):
            found.append((path, "is a leaf"))
        else:
            found.append((path, "" if path else "does not exist, and no placement rule creates it"))
    return found


def _naming(partition: Partition) -> Iterator[PlacementRule]:
    """The parent rules that read the annotation; those that also ask for a user or a queue cannot be told here."""
    for rule in partition.rules:
        for link in rule.chain()[:-1]:
            kinds = {_kind(each) for each in link.chain()}
            if _kind(link) == TAG and link.value.text.strip().lower() == _TAG and kinds <= {TAG, FIXED}:
                yield link


def _kind(rule: PlacementRule) -> str:
    return rule.name.text.strip().lower()
