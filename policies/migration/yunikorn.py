"""Migrates YuniKorn's queues: `guaranteed` becomes nominal quota, which may be lent, and `max` the limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from policies import dialects
from policies.dialects import yunikorn
from policies.dialects.core import Namespace, Pod
from policies.dialects.reading import Manifest
from policies.dialects.yunikorn_config import configmap
from policies.dialects.yunikorn_config.dynamic import Leaf
from policies.dialects.yunikorn_config.model import ROOT, Config, ConfiguredQueue, Resources, amounts
from policies.dialects.yunikorn_config.reading import read_config
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, is_positive
from policies.dialects.yunikorn_config.validation import refusals
from policies.migration.building import build
from policies.migration.left_out import beside, without_terminating
from policies.migration.model import KueueAmounts, Migration, MigrationWish, NotKept, SourceQueue, Words
from policies.migration.tree import grow
from policies.migration.yunikorn_fields import is_counted, lost_of_partition, lost_of_queue
from policies.migration.yunikorn_places import MigratedPlaces
from policies.model.forest import Forest
from policies.model.objects import KubeObject

WORDS = Words(queue="queue", deserved="resources.guaranteed", most="resources.max")
_BUILT_IN = """
partitions:
- {name: default, placementrules: [{name: tag, value: namespace, create: true}], queues: [{name: root, submitacl: '*'}]}
"""
"""The configuration that YuniKorn uses without a queues.yaml."""


def migrate_yunikorn(manifests: Iterable[Manifest], wish: MigrationWish) -> Migration:
    """Migrate the tree of the two ConfigMaps and the queues that placement rules create for Namespaces.

    Namespaces, and Pods that name a queue, get LocalQueues. Other kinds are left out.
    """
    written, terminating = without_terminating(manifests)
    every = [found for found in map(dialects.read, written) if isinstance(found, _READ)]
    config, lost = _config(every)
    lost += terminating
    partition = config.partition
    if not every or partition is None or partition.root is None:
        return Migration(lost=tuple(lost))
    places = MigratedPlaces(partition)
    entries = [*places.namespaces(_of(every, Namespace)), *places.pods(_of(every, Pod))]
    sources = [*_managed(partition.root), *map(_dynamic, places.leaves())]
    known = {source.name for source in sources}
    sources += (SourceQueue(name=path, parent=_above(path), inner=True) for path in places.inner() if path not in known)
    lost += lost_of_partition(partition)
    lost += (each for queue in partition.root.walk() for each in lost_of_queue(queue))
    lost += places.lost
    made = build(grow(ROOT, sources), entries, wish, WORDS, reclaim=partition.preempts, lost=lost)
    return beside(made, written)


T = TypeVar("T", bound=KubeObject)
_READ = (configmap.QueueConfigMap, Namespace, Pod)


def _of(every: Iterable[KubeObject], kind: type[T]) -> Iterator[T]:
    return (each for each in every if isinstance(each, kind))


def _config(every: Iterable[KubeObject]) -> tuple[Config, list[NotKept]]:
    """The configuration of the first namespace that has one, and the parts of it that cannot be read."""
    forest = Forest.of(_of(every, configmap.QueueConfigMap))
    found = sorted({each.ref.namespace for each in _of(every, configmap.QueueConfigMap)})
    trees = [tree for tree in (configmap.tree(forest, namespace) for namespace in found) if tree.setting is not None]
    if not trees:
        return read_config(_BUILT_IN), []
    tree, *others = trees
    lost = [
        NotKept(str(other.ref), "", f"the tree is that of {tree.ref}; a cluster has one", "migrate it apart")
        for other in others
    ]
    config = tree.config if tree.text is not None else Config()
    lost += (
        NotKept(
            str(tree.ref), problem.field or tree.key, problem.message, problem.fix or "correct it, then migrate again"
        )
        for problem in dict.fromkeys([*config.problems, *refusals(config)])
    )
    if config.partition is None or config.partition.root is None:
        lost.append(NotKept(str(tree.ref), tree.key, "it has no default partition with queues", "migrate another file"))
    return config, lost


# -- amounts -----------------------------------------------------------------------------------------------------------


def _managed(root: ConfiguredQueue) -> Iterator[SourceQueue]:
    for queue in root.walk():
        path = queue.path.lower()
        yield SourceQueue(
            name=path,
            parent=_above(path),
            deserved=_kubernetes(amounts(queue.guaranteed)) if path != ROOT else {},
            most=_limit(queue.maximum) if path != ROOT else {},
            inner=not queue.is_leaf,
        )


def _dynamic(leaf: Leaf) -> SourceQueue:
    return SourceQueue(
        name=leaf.path,
        parent=_above(leaf.path),
        deserved=_kubernetes(leaf.guaranteed or {}),
        most=_kubernetes(leaf.maximum or {}) if is_positive(leaf.maximum) else {},
    )


def _above(path: str) -> str | None:
    return path.rpartition(".")[0] or None


def _limit(maximum: Resources | None) -> KueueAmounts:
    """The max of a queue. A max of only zeros means no limit."""
    declared = amounts(maximum)
    return _kubernetes(declared) if is_positive(declared) else {}


def _kubernetes(own: YuniKornAmounts) -> KueueAmounts:
    """The amounts by Kubernetes' names. YuniKorn and Kueue have the same units."""
    named = {"cpu" if name == yunikorn.VCORE else name: amount for name, amount in own.items() if is_counted(name)}
    return {name: max(0, amount) for name, amount in named.items()}
