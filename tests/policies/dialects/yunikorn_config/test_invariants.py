"""Random trees against a count from zero: what passes keeps every bound, and what is refused breaks one."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from policies.dialects.yunikorn_config import quotas
from policies.dialects.yunikorn_config.model import ConfiguredQueue, amounts
from policies.dialects.yunikorn_config.reading import read_config

TYPES = ("memory", "vcore")
quantities = st.dictionaries(st.sampled_from(TYPES), st.integers(0, 6), max_size=2)


def queues(depth: int) -> st.SearchStrategy[str]:
    below = st.lists(queues(depth - 1), max_size=3) if depth else st.just([])
    return st.builds(_text, quantities, quantities, below)


def _text(guaranteed: dict[str, int], maximum: dict[str, int], below: list[str]) -> str:
    children = ", ".join(text.replace("NAME", f"q{number}", 1) for number, text in enumerate(below))
    return f"{{name: NAME, resources: {{guaranteed: {guaranteed}, max: {maximum}}}, queues: [{children}]}}"


def tree(text: str) -> ConfiguredQueue:
    config = read_config(f"partitions: [{{queues: [{text.replace('NAME', 'top', 1)}]}}]")
    assert config.problems == ()
    assert config.partitions[0].root is not None
    return config.partitions[0].root


def guarantee(queue: ConfiguredQueue, resource: str) -> int:
    """What the queue counts for above it: its own word on this resource, or else the sum of what is below."""
    own = amounts(queue.guaranteed)
    return own.get(resource, sum(guarantee(child, resource) for child in queue.queues))


def broken(queue: ConfiguredQueue, resource: str, above: tuple[int, ...] = ()) -> Iterator[str]:
    """The bounds on one resource that the subtree breaks; `above` are the maxima on the path."""
    own, most = amounts(queue.guaranteed).get(resource), amounts(queue.maximum).get(resource)
    path = (*above, *(() if most is None else (most,)))
    if own is not None and most is not None and own > most:
        yield "guaranteed above max"
    if most is not None and any(most > bound for bound in above):
        yield "max above the path"
    total = sum(guarantee(child, resource) for child in queue.queues)
    if total > (min(path) if path else total) or total > (total if own is None else own):
        yield "children above the queue"
    for child in queue.queues:
        yield from broken(child, resource, path)


@given(queues(3))
def test_checks_find_exactly_the_broken_bounds(text: str) -> None:
    root = tree(text)

    expected = {kind for resource in TYPES for kind in broken(root, resource)}
    assert ("guaranteed above max" in expected) is any(quotas.guaranteed_above_max(root))
    assert ("max above the path" in expected) is any(quotas.max_above_parent(root))
    assert ("children above the queue" in expected) is any(quotas.guaranteed_above_queue(root))


@given(queues(3))
def test_tree_rejected_by_yunikorn_has_a_problem_that_is_not_accepted(text: str) -> None:
    """A guarantee with an amount above 0 stands for the whole queue in YuniKorn, whatever it does not name."""
    root = tree(text)

    def counted(queue: ConfiguredQueue, resource: str) -> int:
        own = amounts(queue.guaranteed)
        if any(own.values()):
            return own.get(resource, 0)
        return sum(counted(child, resource) for child in queue.queues)

    def refused(queue: ConfiguredQueue, resource: str, path: tuple[int, ...] = ()) -> bool:
        own, most = amounts(queue.guaranteed).get(resource), amounts(queue.maximum).get(resource)
        path = (*path, *(() if most is None else (most,)))
        total = sum(counted(child, resource) for child in queue.queues)
        bounds = (*path, *(() if own is None else (own,)))
        return any(total > bound for bound in bounds) or any(refused(c, resource, path) for c in queue.queues)

    reported = any(not problem.accepted for problem in quotas.guaranteed_above_queue(root))
    assert reported is any(refused(root, resource) for resource in TYPES)
