"""Reads an edited queues.yaml faster: if it differs from an earlier text within one queue, only this queue is parsed.

In block style, a queue is an entry of a list and takes whole lines. If the texts before it are equal, the YAML parser
is in the same state at its first line. If it is a complete entry in both texts, the parser is in the same state after
it, too, so it reads the equal rest in the same way. To test that an entry is complete, it is parsed alone, followed by
a placeholder entry: the result must be these two entries. Texts with anchors, merges, several documents or unusual line
breaks are parsed as a whole, since these have an effect beyond one entry. So are texts with faults.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from policies.dialects.yunikorn_config import moved
from policies.dialects.yunikorn_config.decode import DecodedText, placed_at, read_queue
from policies.dialects.yunikorn_config.model import ROOT, Config, ConfiguredQueue, Partition
from policies.dialects.yunikorn_config.moved import Move
from policies.dialects.yunikorn_config.typed import MAX_NODES, Faults, is_null
from policies.text.positions import BadText
from policies.text.yaml_composer import entry

_REACHING_OUT = ("&", "<<", "\n---", "\n...", "\r", "\x85", "\u2028", "\u2029", "\ufeff")
_DASH = re.compile(r" *- +(?![- #\n])").match


class _Block(NamedTuple):
    """The lines of a queue: the characters [start, end) of the text. `indent`: the number of blanks before the dash."""

    start: int
    end: int
    indent: int


class _Alone(NamedTuple):
    """A queue that was parsed alone.

    `visited`: how many values were read, with those that aliases repeat.
    """

    queue: ConfiguredQueue
    lines: int
    visited: int


def edited(last: DecodedText, text: str) -> DecodedText | None:
    """Read the text from its difference to the last one. None if the whole text has to be parsed."""
    old = last.text
    if last.config.problems or any(each in one for one in (old, text) for each in _REACHING_OUT):
        return None
    differs = difference(old, text)
    # `left`: for a longer difference it is faster to read the whole text
    line, left = 1 + old.count("\n", 0, differs.start), len(old) // 2
    for number, partition in enumerate(last.config.partitions):
        way = _way(partition, line)
        while way and (block := _block(old, _below(partition, way), differs.start, line)):
            left -= block.end - block.start + max(0, len(text) - len(old))
            if left < 0:
                return None
            if block.end >= differs.stop and (found := _replaced(last, text, number, way, block)) is not None:
                return found
            way = way[:-1]
    return None


class TextDifference(NamedTuple):
    """The new text has `added` characters in place of the characters [start, stop) of the old text.

    An added line starts with the line break before it.
    """

    start: int
    stop: int
    added: int

    @property
    def size(self) -> int:
        return self.stop - self.start + self.added


def difference(old: str, new: str) -> TextDifference:
    shorter = min(len(old), len(new))
    first = _longest(shorter, lambda size: old[:size] == new[:size])
    start = old.rfind("\n", 0, first)
    if not old[start + 1 : first].strip(" -"):
        first = max(start, 0)
    alike = _longest(shorter - first, lambda size: old[len(old) - size :] == new[len(new) - size :])
    return TextDifference(first, len(old) - alike, len(new) - alike - first)


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to `most` for which `holds` is true. It must be true for 0 and for every smaller number."""
    return bisect_right(range(1, most + 1), False, key=lambda size: not holds(size))


def _way(partition: Partition, line: int) -> tuple[int, ...]:
    """The path to the last queue that begins in this line or before, as indexes of children from root."""
    queue, way = partition.root, []
    while queue is not None and (at := bisect_right(queue.queues, line, key=lambda child: child.line)):
        way.append(at - 1)
        queue = queue.queues[at - 1]
    return tuple(way)


def _below(partition: Partition, way: tuple[int, ...]) -> ConfiguredQueue:
    queue = partition.root
    assert queue is not None
    for number in way:
        queue = queue.queues[number]
    return queue


def _block(text: str, queue: ConfiguredQueue, first: int, line: int) -> _Block | None:
    """The lines of the queue; None if the character `first` of line `line` is not after its dash."""
    start = text.rfind("\n", 0, first) + 1
    for _ in range(line - queue.line):
        start = text.rfind("\n", 0, start - 1) + 1
    dash = _DASH(text, start)
    if dash is None or first < dash.end():
        return None
    indent = text.index("-", start) - start
    end = re.compile(rf"^ {{0,{indent}}}(?![ #\n])", re.MULTILINE).search(text, dash.end())
    return _Block(start, end.start(), indent) if end else None


def _replaced(last: DecodedText, text: str, number: int, way: tuple[int, ...], block: _Block) -> DecodedText | None:
    """The last result with this block replaced; None if the old or the new block is not a complete entry."""
    partition = last.config.partitions[number]
    old_queue = _below(partition, way)
    above = _below(partition, way[:-1]).path
    end = block.end + len(text) - len(last.text)
    was, now = (
        _alone(each, old_queue, above, block.indent)
        for each in (last.text[block.start : block.end], text[block.start : end])
    )
    if was is None or now is None or was.queue != old_queue:
        return None
    if len(way) == 1 and now.queue.name.lower() == ROOT:
        return None  # a root was inserted above this queue before, but now the queue itself is root
    visited = last.visited - was.visited + now.visited
    if visited > MAX_NODES:
        return None
    move = Move(old_queue.line + was.lines - 1, now.lines - was.lines)
    partitions = list(last.config.partitions)
    partitions[number] = _with(partition, way, now.queue, move)
    if move.by:
        partitions[number + 1 :] = [_with(each, (), each.root, move) for each in partitions[number + 1 :]]
    return DecodedText(text, Config(tuple(partitions)), visited)


def _alone(text: str, old_queue: ConfiguredQueue, above: str, indent: int) -> _Alone | None:
    """Parse the lines that are in the place of `old_queue`. None unless they are one complete, valid entry."""
    faults = Faults()
    try:
        found = entry(text, old_queue.line, 2 * old_queue.field.count("[") - 1)
        if found is None or is_null(found.node) or text.find("-") != indent:
            return None
        queue = read_queue(found.node, old_queue.field, faults)
    except BadText:
        return None
    return None if faults.problems else _Alone(placed_at(queue, f"{above}.{queue.name}"), found.lines, faults.visited)


def _with(partition: Partition, way: tuple[int, ...], queue: ConfiguredQueue | None, move: Move) -> Partition:
    """The partition with the queue at this path replaced, and later lines moved; without a path, all lines."""
    root = partition.root
    if way and root is not None and queue is not None:
        root = _put(root, way, queue, move)
    elif root is not None:
        root = moved.tree(root, move)
    return replace(moved.partition(partition, move) if move.by else partition, root=root)


def _put(parent: ConfiguredQueue, way: tuple[int, ...], queue: ConfiguredQueue, move: Move) -> ConfiguredQueue:
    at, *rest = way
    child = _put(parent.queues[at], tuple(rest), queue, move) if rest else queue
    later = parent.queues[at + 1 :]
    if not move.by:
        return replace(parent, queues=(*parent.queues[:at], child, *later))
    behind = [moved.tree(each, move) for each in later]
    return moved.queue(parent, move, (*parent.queues[:at], child, *behind))
