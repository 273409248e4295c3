"""Generates files from other files. `python -m generators` writes them; `--check` only compares.

A generator in GENERATORS returns {path: text} for whole files; a path is relative to the repository. A generator in
BLOCKS returns {path: {name: text}} for named parts of files that people write. Such a part is between a line with
`begin generated: NAME` and a line with `end generated: NAME`, and has their indentation. Add a new generator to one of
the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from generators import (
    alert_rules,
    chart,
    command_pages,
    configuration_table,
    crds,
    dashboards,
    doctor_checks,
    job_kinds,
    kueue_fields,
    man_pages,
    metric_tables,
    rights,
    rule_kinds,
    rule_pages,
    surfaces,
)
from generators.files import ROOT

GENERATORS: list[Callable[[], Mapping[str, str]]] = [
    alert_rules.generate,
    chart.generate,
    command_pages.generate,
    crds.generate,
    dashboards.generate,
    man_pages.generate,
    rights.generate,
    rule_kinds.generate,
    rule_pages.generate,
    surfaces.generate,
]
BLOCKS: list[Callable[[], Mapping[str, Mapping[str, str]]]] = [
    chart.blocks,
    configuration_table.generate,
    doctor_checks.generate,
    job_kinds.generate,
    kueue_fields.generate,
    metric_tables.generate,
    surfaces.blocks,
]
BEGIN, END = "begin generated: ", "end generated: "


def generated() -> dict[str, str]:
    """The text of every generated file, and of every file with generated parts, by its path in the repository."""
    files: dict[str, str] = {}
    for generator in GENERATORS:
        for path, text in generator().items():
            if path in files:
                raise ValueError(f"two generators write {path}")
            files[path] = text
    return files | {path: filled(path, blocks) for path, blocks in _blocks().items()}


def _blocks() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for generator in BLOCKS:
        for path, blocks in generator().items():
            found.setdefault(path, {}).update(blocks)
    return found


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
