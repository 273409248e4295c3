"""Computes the sums of the guarantees of namespaces below YuniKorn's queues.

The forest keeps one sum for all namespaces with the same `parentqueue`. So the time depends on the number of different
values and the depth of the tree, not on the number of namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nsmallest

from policies.dialects.core import NAMESPACE
from policies.dialects.yunikorn_config.checking import remember, remembered
from policies.dialects.yunikorn_config.configmap import tree
from policies.dialects.yunikorn_config.model import ROOT, ConfiguredQueue, amounts
from policies.dialects.yunikorn_config.placement import OpenPartition, QueuePlacement, ReportedApplication, placed
from policies.dialects.yunikorn_config.quotas import promised, promised_below
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, least, minus, plus
from policies.dialects.yunikorn_shares import PARENT_QUEUE, group
from policies.model.forest import Children, Forest
from policies.model.objects import Ref, SubtreeShare
from policies.rules.yunikorn._queue_config import config, unfiltered

_ANYONE = "@namespace@"
"""The name of a namespace for which no queue is declared. Namespaces cannot have this name."""


@dataclass(frozen=True, slots=True)
class Declared(OpenPartition):
    """The queues that one queues.yaml declares, without root. Keys are paths in lower case.

    `partition`: the default partition.
    `promised`: for each queue, the sum that is guaranteed to its children.
    `most`: for each queue, the smallest max on the path to it.
    """

    queues: Mapping[str, ConfiguredQueue]
    promised: Mapping[str, YuniKornAmounts]
    most: Mapping[str, YuniKornAmounts]

    def placement(self, application: ReportedApplication) -> QueuePlacement:
        """The placement for a user who passes the filters of all rules."""
        return placed([unfiltered(rule) for rule in self.partition.rules], self, application)

    def above(self, path: str) -> list[ConfiguredQueue]:
        """The declared queues on the path, the nearest first, without root."""
        found = []
        while "." in path:
            if path in self.queues:
                found.append(self.queues[path])
            path = path.rpartition(".")[0]
        return found


@lru_cache(maxsize=8)
def declared(text: str) -> Declared | None:
    """Read the declared queues. None if the text has none."""
    partition = config(text).partition
    if partition is None or partition.root is None:
        return None
    below: dict[str, YuniKornAmounts] = {}
    promised_below(promised(partition.root), below)
    most: dict[str, YuniKornAmounts] = {}
    for child in partition.root.queues:
        _note_most(child, {}, most)
    queues = {path: queue for path, queue in partition.queues.items() if queue is not partition.root}
    return Declared(partition, queues, below, most)


def _note_most(queue: ConfiguredQueue, above: YuniKornAmounts, most: dict[str, YuniKornAmounts]) -> None:
    known: tuple[YuniKornAmounts, dict[str, YuniKornAmounts]] | None = remembered(queue, "most", above)
    if known is None:
        here = _most(queue, above)
        known = here, {leaf.path.lower(): _most(leaf, here) for leaf in queue.queues if not leaf.queues}
        remember(queue, "most", known, above)
    here, leaves = known
    most[queue.path.lower()] = here
    most.update(leaves)
    for child in queue.queues:
        if child.queues:
            _note_most(child, here, most)


def _most(queue: ConfiguredQueue, above: YuniKornAmounts) -> YuniKornAmounts:
    own = amounts(queue.maximum)
    return least(own, above) if any(own.values()) else above  # a max of only zeros means no max


@dataclass(frozen=True, slots=True)
class _SharedPlacement:
    """The placement that namespaces with the same `parentqueue` share.

    `parent`: the path of the queue below which the rules create their queues; empty if they create none.
    `searched`: the paths of the queues below which a declared queue with the namespace's name may be used instead.
    """

    parent: str
    searched: tuple[str, ...] = ()


@lru_cache(maxsize=16384)
def _shared_placement(text: str, parent_queue: str) -> _SharedPlacement:
    """The placement of namespaces with this parent queue, for a namespace without a declared queue."""
    known = declared(text)
    assert known is not None
    application = _application(_ANYONE, parent_queue)
    placement = known.placement(application)
    parent, _, name = placement.queue.rpartition(".")
    if not placement.created or name != _ANYONE or placement.rule is None:
        return _SharedPlacement("")
    rules = known.partition.rules[: placement.rule + 1]
    forced = (placed([replace(unfiltered(rule), create=True)], known, application).queue for rule in rules)
    searched = {path.rpartition(".")[0].lower() for path in forced if path.endswith(f".{_ANYONE}")}
    return _SharedPlacement(parent.lower(), tuple(sorted(searched)))


def _application(namespace: str, parent_queue: str) -> ReportedApplication:
    return ReportedApplication(
        tags={"namespace": namespace} | ({"namespace.parentqueue": parent_queue} if parent_queue else {})
    )


def _is_in(text: str, shared: _SharedPlacement, parent_queue: str, name: str) -> bool:
    """Whether a queue for the namespace is created below the shared parent: not if a declared queue is used instead."""
    known = declared(text)
    assert known is not None
    if not any(f"{path}.{name}" in known.queues for path in shared.searched):
        return True
    placement = known.placement(_application(name, parent_queue))
    return placement.created and placement.queue.lower() == f"{shared.parent}.{name}"


def parent_of(text: str, parent_queue: str, namespace: str) -> str:
    """The path of the queue below which a queue for the namespace is created; empty if none is created."""
    found = _shared_placement(text, parent_queue)
    return found.parent if found.parent and _is_in(text, found, parent_queue, namespace) else ""


def had(forest: Forest, namespace: str, queue: ConfiguredQueue, key: str) -> YuniKornAmounts:
    """The guaranteed or max amounts (`key`) of this queue in `forest`, which is that before a change.

    `namespace`: the namespace of YuniKorn's ConfigMaps.
    """
    text = tree(forest, namespace).text
    known = declared(text) if text else None
    found = known.queues.get(queue.path.lower()) if known else None
    return amounts(found.guaranteed if key == "guaranteed" else found.maximum) if found else {}


def guarantees_below_parents(forest: Forest, text: str) -> Iterator[tuple[str, str, YuniKornAmounts]]:
    """For each value of `parentqueue`: the value, the path of the parent queue, and the sum of guarantees below it."""
    for key in forest.groups(PARENT_QUEUE):
        found = _shared_placement(text, key.name)
        if found.parent:
            yield key.name, found.parent, _guaranteed(text, key.name, forest.members(key))


@lru_cache(maxsize=4096)
def _guaranteed(text: str, parent_queue: str, members: Children) -> YuniKornAmounts:
    """The sum of the guarantees of these namespaces, without those that have a declared queue.

    The result is cached while `members` does not change, since later snapshots have the same object.
    """
    found, sums = _shared_placement(text, parent_queue), members.total.nominal
    for ref, share in _with_a_queue(text, found, members) if sums else ():
        if not _is_in(text, found, parent_queue, ref.name):
            sums = minus(sums, share.nominal)
    return {name: amount for name, amount in sums.items() if amount}


def _with_a_queue(text: str, shared: _SharedPlacement, members: Children) -> Iterator[tuple[Ref, SubtreeShare]]:
    """The namespaces for which a queue may be declared. It iterates over queues or namespaces, whichever are fewer."""
    known = declared(text)
    assert known is not None
    above = [known.partition.root if path == ROOT else known.queues.get(path) for path in shared.searched]
    if sum(len(queue.queues) for queue in above if queue) > len(members):
        yield from members.items()
        return
    for name in {child.name.lower() for queue in above if queue for child in queue.queues}:
        ref = Ref(*NAMESPACE, "", name)
        share = members.get(ref)
        if share is not None:
            yield ref, share


def guaranteed_below(forest: Forest, text: str) -> dict[str, YuniKornAmounts]:
    """For each declared queue, the sum of guarantees that namespaces below it add.

    A queue with a guarantee of a type counts at its parent with this guarantee, so namespaces below it add nothing
    above.
    """
    known = declared(text)
    assert known is not None
    found: dict[str, YuniKornAmounts] = {}
    for _, parent, rest in guarantees_below_parents(forest, text):
        for queue in known.above(parent) if rest else ():
            path = queue.path.lower()
            found[path] = plus(found.get(path), rest)
            rest = {name: amount for name, amount in rest.items() if name not in amounts(queue.guaranteed)}
    return found


def highest_quotas(forest: Forest, text: str) -> Iterator[tuple[str, YuniKornAmounts]]:
    """The path of each queue with namespaces directly below it, and the highest quotas of these.

    Namespaces with a declared queue may be among them, so callers must check each one.
    """
    for key in forest.groups(PARENT_QUEUE):
        found = _shared_placement(text, key.name)
        if found.parent:
            yield found.parent, forest.members(key).total.limit


def members(forest: Forest, text: str, queue: ConfiguredQueue) -> Iterator[tuple[Ref, SubtreeShare]]:
    """All namespaces below the queue at any depth, with their shares. Use it only for messages: it visits them all."""
    path = queue.path.lower()
    for parent_queue, parent, _ in guarantees_below_parents(forest, text):
        if parent == path or parent.startswith(f"{path}."):
            found = _shared_placement(text, parent_queue)
            for ref, share in forest.members(group(parent_queue)).items():
                if _is_in(text, found, parent_queue, ref.name):
                    yield ref, share


def largest(
    forest: Forest, text: str, queue: ConfiguredQueue, kind: str, most: int
) -> tuple[int, list[tuple[Ref, int]]]:
    """The number of namespaces below the queue with a guarantee of this type, and the `most` largest of them."""
    guaranteed = [(-share.nominal[kind], ref) for ref, share in members(forest, text, queue) if share.nominal.get(kind)]
    return len(guaranteed), [(ref, -amount) for amount, ref in nsmallest(most, guaranteed)]
