"""Computes the quota of YuniKorn queues: those in queues.yaml, and those of Namespaces with annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects import yunikorn
from policies.dialects.core import Namespace
from policies.dialects.yunikorn_config.configmap import QueueConfigMap, tree
from policies.dialects.yunikorn_config.model import Config, ConfiguredQueue, amounts
from policies.dialects.yunikorn_config.resources import least
from policies.impact.quotas import NodeQuotas, PairQuota, QuotaPair
from policies.model.forest import Forest
from policies.model.objects import Ref

GROUP = "yunikorn.apache.org"
_NANO = 10**9
_MILLI = 10**6
_UNLISTED = PairQuota(own=None, reach=None)
"""The quota of a resource that neither the queue nor an ancestor names."""
Limits = Mapping[str, int]


def yunikorn_quotas(forest: Forest, version: tuple[int, int]) -> dict[Ref, NodeQuotas]:
    """The quota of the queues in all queue configurations, and of the Namespaces with a quota. None means no limit.

    `version`: that of YuniKorn.
    """
    places = sorted({each.ref.namespace for each in forest.objects() if isinstance(each, QueueConfigMap)})
    configs = {place: config for place in places if (config := _config(forest, place)) is not None}
    found = {node.ref: node for place, config in configs.items() for node in _of_config(place, config)}
    limits = {node.ref.name.casefold(): _reaches(node) for node in found.values()}
    for each in forest.objects():
        if isinstance(each, Namespace) and (node := _of_namespace(yunikorn.as_read(each, version), limits)) is not None:
            found[node.ref] = node
    return found


def _config(forest: Forest, place: str) -> Config | None:
    written = tree(forest, place)
    return written.config if written.text is not None else None


def _of_config(place: str, config: Config) -> Iterator[NodeQuotas]:
    root = config.partition.root if config.partition else None
    stack: list[tuple[ConfiguredQueue, str, Limits]] = [(root, "", {})] if root is not None else []
    while stack:
        queue, parent, above = stack.pop()
        most = least(above, amounts(queue.maximum))
        yield _node(Ref(GROUP, "Queue", place, queue.path), parent, queue, most)
        stack += [(child, queue.path, most) for child in reversed(queue.queues)]


def _node(ref: Ref, parent: str, queue: ConfiguredQueue, most: Limits) -> NodeQuotas:
    own, guaranteed = amounts(queue.maximum), amounts(queue.guaranteed)
    below = _guaranteed_below(queue)
    listed = {*own, *guaranteed, *below, *most}
    rows = {QuotaPair("", name): _quota(name, own, guaranteed, below, most) for name in sorted(listed)}
    return NodeQuotas(ref, parent, rows, _UNLISTED)


def _guaranteed_below(queue: ConfiguredQueue) -> dict[str, int]:
    """The sum that is guaranteed to the children. For a child without a guarantee, that of its children counts."""
    total: dict[str, int] = {}
    for child in queue.queues:
        for name, amount in {**_guaranteed_below(child), **amounts(child.guaranteed)}.items():
            total[name] = total.get(name, 0) + amount
    return total


def _quota(name: str, own: Limits, guaranteed: Limits, below: Limits, most: Limits) -> PairQuota:
    kept = guaranteed.get(name)
    return PairQuota(
        own=_nano(name, own.get(name)),
        subtree=_nano(name, kept if kept is not None else below.get(name, 0)),
        guaranteed=_nano(name, kept or 0),
        reach=_nano(name, most.get(name)),
    )


def _of_namespace(namespace: Namespace, limits: Mapping[str, Limits]) -> NodeQuotas | None:
    own, guaranteed = yunikorn.quota(namespace), yunikorn.guaranteed(namespace)
    if not own and not guaranteed:
        return None
    parent = yunikorn.parent_path(namespace)
    most = least(limits.get(parent.casefold(), {}), own or {})
    listed = sorted({*(own or {}), *(guaranteed or {}), *most})
    rows = {QuotaPair("", name): _quota(name, own or {}, guaranteed or {}, {}, most) for name in listed}
    return NodeQuotas(namespace.ref, parent, rows, _UNLISTED)


def _reaches(node: NodeQuotas) -> dict[str, int]:
    """The reach of a node by resource, in YuniKorn's units. Unlimited resources are left out."""
    return {
        pair.resource: quota.reach // _unit(pair.resource)
        for pair, quota in node.amounts.items()
        if quota.reach is not None
    }


def nano(resource: str, amount: int) -> int:
    """An amount in YuniKorn's units, converted to nano units."""
    return amount * _unit(resource)


def _nano(resource: str, amount: int | None) -> int | None:
    return None if amount is None else nano(resource, amount)


def _unit(resource: str) -> int:
    return _MILLI if resource == yunikorn.VCORE else _NANO
