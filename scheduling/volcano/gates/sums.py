"""Compares the amounts that the children of a queue are promised with the amounts of the queue.

Source: Volcano, docs/design/hierarchical-queue-on-capacity-plugin.md, OnSessionOpen.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.queue_tree.amounts import Amounts, total
from scheduling.volcano.queues import ROOT, Node, QueueAccounts
from scheduling.volcano.resources import amount_text


def broken_sum(queues: QueueAccounts, *, root_from_nodes: bool) -> tuple[str, str] | None:
    """The first queue by name that has less than its children are promised, with a message; None if there is none.

    The deserved and guaranteed amounts of root follow from its children, so only its capability is compared. With
    `root_from_nodes` its capability follows from the Nodes and is not compared: the loss of a Node must not stop all
    queues.
    """
    for node in sorted(queues, key=lambda each: each.name):
        for message in _faults(node, root_from_nodes):
            return node.name, message
    return None


def _faults(node: Node, root_from_nodes: bool) -> Iterator[str]:
    children = [node.children[name] for name in sorted(node.children)]
    if node.name != ROOT:
        for verb, held, promised in (
            ("are guaranteed", node.settings.guarantee, [each.settings.guarantee for each in children]),
            ("deserve", node.settings.deserved, [each.settings.deserved for each in children]),
        ):
            for resource, amount, has in _exceeding(total(*promised), held):
                promise, share = amount_text(resource, amount), amount_text(resource, has)
                yield f"its children {verb} {resource}={promise}, it has {share}"
    for child in children:
        above: dict[str, int] = {}
        for here in reversed([*node.up()]):
            if here.name != ROOT or not root_from_nodes:
                above |= here.settings.capability or {}
        wanted = {key: amount for key, amount in (child.settings.capability or {}).items() if key in above}
        for resource, amount, has in _exceeding(wanted, above):
            limits = f"{resource}={amount_text(resource, amount)}, its own is {amount_text(resource, has)}"
            yield f"the capability of its child {child.name} is {limits}"


def _exceeding(amounts: Amounts, held: Amounts) -> Iterator[tuple[str, int, int]]:
    for resource, amount in sorted(amounts.items()):
        if amount > held.get(resource, 0):
            yield resource, amount, held.get(resource, 0)
