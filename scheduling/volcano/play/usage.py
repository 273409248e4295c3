"""What of Volcano's quota is in use: by queue the limits, what is allocated of them, and its PodGroups by phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf

from scheduling.volcano.queues import ALLOCATED, INQUEUE, Node, QueueAccounts
from scheduling.volcano.resources import PODS, written
from scheduling.volcano.world import SessionWorld

Texts = Mapping[str, Mapping[str, str]]
"""Amounts by their meaning, such as `allocated`, and by resource, as a user writes them."""


def amounts(queues: QueueAccounts, node: Node) -> Texts:
    """`limit` is realCapability: what the queue may use at most; what is unlimited is left out, and so are Pods."""
    own = node.settings
    found: dict[str, Mapping[str, float]] = {
        "limit": queues.limit(node),
        "capability": own.capability or {},
        "deserved": own.deserved,
        "guarantee": own.guarantee,
        "allocated": node.amounts(ALLOCATED),
        "inqueue": node.amounts(INQUEUE),
    }
    return {
        word: {name: written(name, each[name]) for name in sorted(each) if name != PODS and each[name] != inf}
        for word, each in found.items()
    }


def phases_by_queue(world: SessionWorld) -> dict[str, Counter[str]]:
    """How many PodGroups of each phase each queue has itself."""
    counts: dict[str, Counter[str]] = {}
    for job in world.jobs.values():
        counts.setdefault(job.group.queue, Counter())[job.group.phase] += 1
    return counts


def phases_below(world: SessionWorld) -> dict[str, Counter[str]]:
    """How many PodGroups of each phase are in each queue and in all below it."""
    counts: dict[str, Counter[str]] = {}
    for name, own in phases_by_queue(world).items():
        node = world.queues.get(name)
        for here in node.up() if node is not None else ():
            counts.setdefault(here.name, Counter()).update(own)
    return counts
