"""Runs checks on a tree and skips queues that were checked before: an unchanged queue is the same object after an edit.

The result of a check may depend only on the queue, its descendants, and the amounts of its ancestors. It must not
depend on line numbers, since results stay valid for queues that have moved to other lines. Only the last result of each
check is kept, and only for queues with children.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from policies.dialects.yunikorn_config.model import ConfiguredQueue, Problem
from policies.dialects.yunikorn_config.resources import YuniKornAmounts

_MOST_TYPES = 16
"""The most resource types of amounts that are kept with a result, since a tree with thousands would fill the memory."""
_NOTHING: YuniKornAmounts = {}


def throughout(queue: ConfiguredQueue, check: Callable[[ConfiguredQueue], Iterable[Problem]]) -> Iterator[Problem]:
    """The problems that a check finds in the queue and its descendants, parents first. `check` gets one queue at a
    time, and may look at it and its children. Results are kept by `check`, so it must be the same function each time.
    """
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


def remembered(queue: ConfiguredQueue, what: Hashable, above: YuniKornAmounts = _NOTHING) -> Any:
    """The kept result of a check if the amounts of the ancestors are the same, else None."""
    found = queue.known.get(what)
    return found[1] if found is not None and found[0] == above else None


def remember(queue: ConfiguredQueue, what: Hashable, value: Any, above: YuniKornAmounts = _NOTHING) -> None:
    if queue.queues and len(above) <= _MOST_TYPES:
        queue.known[what] = above, value
