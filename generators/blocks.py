"""Fills generated parts into files that people write.

A part is between a line with `begin generated: NAME` and a line with `end generated: NAME`, and has their indentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from generators.files import ROOT

BEGIN, END = "begin generated: ", "end generated: "


def filled(path: str, blocks: Mapping[str, str]) -> str:
    """The text of the file with these blocks. Raises ValueError if a name has no BEGIN line, or the reverse."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    missing = blocks.keys() - {_name(line) for line in lines}
    if missing:
        raise ValueError(f"{path}: no line has {BEGIN}{min(missing)}")
    return "".join(f"{line}\n" for line in replaced(lines, blocks))


def replaced(lines: Iterable[str], blocks: Mapping[str, str]) -> Iterator[str]:
    rest = iter(lines)
    for line in rest:
        yield line
        if name := _name(line):
            if name not in blocks:
                raise ValueError(f"no generator makes {name}")
            indent = line[: len(line) - len(line.lstrip())]
            yield from (indent + each for each in blocks[name].splitlines())
            yield _line_with(f"{END}{name}", rest)


def _line_with(end: str, lines: Iterator[str]) -> str:
    for line in lines:
        if end in line:
            return line
    raise ValueError(f"no line has {end}")


def _name(line: str) -> str:
    """The name of the block that begins in this line; empty if none does."""
    return next(iter(line.partition(BEGIN)[2].split()), "")
