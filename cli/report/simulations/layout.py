"""How simulations are written as text: sections and trees of queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, Self, TypeVar

from cli.output import section, some
from cli.report.drawing import glyphs
from policies.model.printing import plain


class Branch(Protocol):
    """A queue with those below it."""

    @property
    def children(self) -> Mapping[str, Self]: ...


B = TypeVar("B", bound=Branch)


def outcome_text(
    where: str,
    counts: Iterable[tuple[int, str]],
    assumed: Iterable[str],
    happened: Iterable[str],
    waits: Iterable[str],
    in_use: Iterable[str],
    left_out: Iterable[str] = (),
    how: str = "",
) -> str:
    """The outcome of one simulation. `where` is the scheduler, with `in` before it; empty for Kueue.

    `counts` say what was read, each with its word; `how` ends that line. `left_out` are the jobs that are in no queue.
    """
    return "\n".join(
        [
            f"simulated{where}: {', '.join(some(*count) for count in counts)}{how}",
            *(f"assumed: {plain(each)}" for each in assumed),
            *section(f"what happened{where}", map(plain, happened)),
            *section(f"what waits{where}", waits),
            *section("in no queue", map(plain, left_out)),
            *section(f"what is in use{where}", in_use, indent=""),
        ]
    )


def tree(
    root: B, rows: Callable[[B], tuple[str, list[str]]], shown: Callable[[B], bool] = lambda _: True
) -> Iterator[str]:
    """A line for each queue, and under it those of its resources; `rows` gives both. `shown`: which children are."""
    shapes = glyphs()
    waiting: list[tuple[B, str, bool | None]] = [(root, "", None)]
    while waiting:
        queue, margin, last = waiting.pop()
        name, lines = rows(queue)
        if last is None:
            yield name
        else:
            yield margin + (shapes.last if last else shapes.branch) + name
            margin += "   " if last else shapes.through
        children = [child for name in sorted(queue.children) if shown(child := queue.children[name])]
        yield from (margin + (shapes.through if children else "   ") + line for line in lines)
        waiting += [(child, margin, child is children[-1]) for child in reversed(children)]
