"""Checks of a tree that pass over what they have seen: a queue that an edit left alone is the very same object.

Whether a check finds anything must follow from the queue, all below it, and what it is told of the queues above, and
not from lines: a queue that moved to other lines takes along what is remembered of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from policies.dialects.yunikorn_config.model import Problem, Queue
from policies.dialects.yunikorn_config.resources import Amounts

T = TypeVar("T")

_MOST = 64
"""What is remembered of one queue: a dozen checks, each for what some edits above make of it."""


def throughout(queue: Queue, check: Callable[[Queue], Iterable[Problem]]) -> Iterator[Problem]:
    """What the check finds in the queue and in all below it, parents first; it looks at a queue and its children."""
    if check in queue.known:
        return
    found = False
    for problem in check(queue):
        found = True
        yield problem
    for child in queue.queues:
        for problem in throughout(child, check) if child.queues else check(child):
            found = True
            yield problem
    if not found:
        remember(queue, check, True)


def remember(queue: Queue, key: Hashable, value: Any) -> None:
    """Note about a queue with others below it; a leaf is looked at as quickly."""
    if queue.queues:
        if len(queue.known) >= _MOST:
            queue.known.clear()
        queue.known[key] = value


def once(queue: Queue, key: Hashable, make: Callable[[], T]) -> T:
    """What was remembered of the queue, or is made now."""
    known: T | None = queue.known.get(key)
    if known is None:
        known = make()
        remember(queue, key, known)
    return known


def told(amounts: Amounts) -> Hashable:
    """Amounts as a part of a key."""
    return frozenset(amounts.items())
