"""How simulations are written as text: sections, counts, and trees of queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, Self, TypeVar

from cli.report.drawing import glyphs


class Branch(Protocol):
    """A queue with those below it."""

    @property
    def children(self) -> Mapping[str, Self]: ...


B = TypeVar("B", bound=Branch)


def section(heading: str, content: Iterable[str], indent: str = "  ") -> Iterator[str]:
    """Nothing where there is no content."""
    lines = list(content)
    if lines:
        yield from ("", f"{heading}:")
        yield from (f"{indent}{line}" for line in lines)


def some(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


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
