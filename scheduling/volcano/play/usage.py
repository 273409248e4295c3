"""The usage of Volcano's queues: their limits and allocated amounts, and their PodGroups by phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from scheduling.volcano.play.intake import ENOUGH
from scheduling.volcano.queues import ALLOCATED, INQUEUE, Node, QueueAccounts
from scheduling.volcano.resources import PODS, amount_text
from scheduling.volcano.world import SessionWorld

Texts = Mapping[str, Mapping[str, str]]
"""Amounts by their meaning, such as `allocated`, and by resource, as a user writes them."""


def amounts(queues: QueueAccounts, node: Node) -> Texts:
    """The amounts of the queue. `limit` is realCapability.

    Unlimited amounts, the room of the artificial node, and the resource `pods` are left out.
    """
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
        word: {
            name: amount_text(name, each[name]) for name in sorted(each) if name != PODS and each[name] < ENOUGH // 2
        }
        for word, each in found.items()
    }


def phases_by_queue(world: SessionWorld) -> dict[str, Counter[str]]:
    """The number of PodGroups by queue and phase, without those of descendants."""
    counts: dict[str, Counter[str]] = {}
    for job in world.jobs.values():
        counts.setdefault(job.group.queue, Counter())[job.group.phase] += 1
    return counts


def phases_below(world: SessionWorld) -> dict[str, Counter[str]]:
    """The number of PodGroups by queue and phase, descendants included."""
    counts: dict[str, Counter[str]] = {}
    for name, own in phases_by_queue(world).items():
        node = world.queues.get(name)
        for here in node.up() if node is not None else ():
            counts.setdefault(here.name, Counter()).update(own)
    return counts
