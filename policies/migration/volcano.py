"""Migrates Volcano's queues: `guarantee` is quota never lent, `deserved` nominal quota, `capability` the limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from policies import dialects
from policies.dialects.core import VOLCANO_QUEUE, Namespace, Pod
from policies.dialects.reading import Manifest, group_kind, mapping
from policies.dialects.volcano import BUILT_IN, QUEUE, Queue, VolcanoJob, WrittenPodGroup, queue_ref, read_queue
from policies.migration.building import QueueMapping, build
from policies.migration.left_out import beside, without_terminating
from policies.migration.model import KueueAmounts, Migration, MigrationWish, NotKept, SourceQueue, Words
from policies.migration.tree import SourceTree, grow
from policies.migration.volcano_fields import lost_fields, uncounted_resources
from policies.model.objects import KubeObject
from policies.model.quantity import Quantity

ROOT, DEFAULT = BUILT_IN
WORDS = Words(queue="Queue", deserved="spec.deserved", most="spec.capability")
_NO_QUEUE = SourceQueue(name=ROOT, parent=None)


def migrate_volcano(manifests: Iterable[Manifest], wish: MigrationWish) -> Migration:
    """Migrate the queues, with LocalQueues for namespaces whose work names them. Other kinds are left out."""
    every, lost = without_terminating(manifests)
    queues = {queue.ref.name: (queue, each) for each in every if (queue := _queue(each)) is not None}
    entries = list(_entries(every))
    if not queues and not entries:
        return Migration(lost=tuple(lost))
    lost += (each for queue, written in queues.values() for each in lost_fields(queue, written))
    sources = {name: _source(queue, written) for name, (queue, written) in queues.items()}
    sources |= _built_in(sources, entries)
    missing = {each.parent for each in sources.values() if each.parent is not None} - sources.keys()
    for parent in sorted(missing):
        sources[parent] = SourceQueue(name=parent, parent=ROOT, inner=True)
        lost.append(
            NotKept(f"Queue {parent}", "", "other queues name it as their parent, and it does not exist", "add it")
        )
    tree = grow(ROOT, _limited_by_root(sources))
    for name in tree.unrooted:
        why = "its parents lead back to it, or to a queue where they do: it is left out"
        lost.append(NotKept(f"Queue {name}", "spec.parent", why, "name a parent that leads to root"))
    return beside(build(_stopped(tree), entries, wish, WORDS, lost=lost), every)


def _queue(manifest: Manifest) -> Queue | None:
    return read_queue(manifest) if group_kind(manifest) == QUEUE else None


def _source(queue: Queue, written: Manifest) -> SourceQueue:
    """The queue as Volcano reads it: it deserves at least its guarantee, and 0 cpu or memory means no limit."""
    spec = mapping(written.get("spec"))
    weight = spec.get("weight")
    return SourceQueue(
        name=queue.name,
        parent=queue.parent.name if queue.parent else None,
        guarantee=counted(queue.guarantee),
        deserved=counted(queue.deserved),
        most=counted(queue.capability if queue.name == ROOT else queue.enforced()),
        stopped=queue.state in ("Closed", "Closing"),
        shielded=spec.get("reclaimable") is False and queue.name != ROOT,
        weight=weight if isinstance(weight, int) and weight > 1 and queue.name != ROOT else None,
    )


def counted(amounts: Mapping[str, Quantity]) -> KueueAmounts:
    """The amounts of resources that both Volcano and Kueue count, in Kueue's units, rounded down."""
    lost = dict(uncounted_resources(amounts))
    units = {r: each.nano // (10**6 if r == "cpu" else 10**9) for r, each in amounts.items() if r not in lost}
    return {resource: max(0, amount) for resource, amount in units.items()}


def _built_in(sources: Mapping[str, SourceQueue], entries: Iterable[QueueMapping]) -> dict[str, SourceQueue]:
    """The queue root, and `default` if work names it. Volcano's scheduler creates both."""
    found = {} if ROOT in sources else {ROOT: _NO_QUEUE}
    if DEFAULT not in sources and any(entry.queue == DEFAULT for entry in entries):
        found[DEFAULT] = SourceQueue(name=DEFAULT, parent=ROOT)
    return found


def _limited_by_root(sources: Mapping[str, SourceQueue]) -> Iterator[SourceQueue]:
    """The queues with root's capability as a limit. A resource that it does not name is limited to 0.

    The guarantee and deserved amount of root are the sums of its children. Those in its manifest do not count.
    """
    root = sources[ROOT]
    named = {r for each in sources.values() for amounts in (each.guarantee, each.deserved, each.most) for r in amounts}
    most = {resource: root.most.get(resource, 0) for resource in named} if root.most else {}
    for each in sources.values():
        yield replace(each, guarantee={}, deserved={}, most=most, inner=True) if each.name == ROOT else each


def _stopped(tree: SourceTree) -> SourceTree:
    """The tree with all descendants of closed queues closed, too."""
    queues = dict(tree.queues)
    for name in tree.order[1:]:
        if queues[tree.parent(name)].stopped:
            queues[name] = replace(queues[name], stopped=True)
    return replace(tree, queues=queues)


# -- users of queues ---------------------------------------------------------------------------------------------------


def _entries(manifests: Iterable[Manifest]) -> Iterator[QueueMapping]:
    """The mappings from namespaces to queues. A Namespace with the annotation maps work that names no queue."""
    for manifest in manifests:
        if group_kind(manifest) != QUEUE and (found := dialects.read(manifest)) is not None:
            yield from _entries_of(found)


def _entries_of(found: KubeObject) -> Iterator[QueueMapping]:
    if isinstance(found, Namespace):
        if queue := found.annotations.get(VOLCANO_QUEUE):
            yield QueueMapping(found.ref.name, queue, default=True)
    elif (
        isinstance(found, WrittenPodGroup | VolcanoJob | Pod)
        and found.queue is not None
        and found.queue.group == queue_ref("").group
    ):
        yield QueueMapping(found.ref.namespace, found.queue.name)
