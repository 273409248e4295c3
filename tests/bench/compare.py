"""`python -m tests.bench --compare REV`: the ratios of the figures of two revisions, which are measured in turn."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TypeAlias

from tests.versions import current, installed

_FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_GAP = re.compile(r" {2,}")

Rows: TypeAlias = dict[str, list[float]]


def compare(revision: str, arguments: Sequence[str], rounds: int) -> None:
    """Print the ratio of each figure to the one at `revision`. Raises CalledProcessError if a run fails.

    The two take turns, and the first one changes each round, so that neither gains if the machine becomes slower.
    """
    before: list[str] = []
    after: list[str] = []
    with installed(revision) as old, current() as new:
        for turn in range(rounds):
            for version, outputs in ((old, before), (new, after))[:: 1 if turn % 2 == 0 else -1]:
                command = [version.python, "-m", "tests.bench", *arguments]
                outputs.append(
                    subprocess.run(command, cwd=version.root, check=True, stdout=subprocess.PIPE, text=True).stdout
                )
                print(f"round {turn + 1} of {rounds}: {version.root.name} measured", file=sys.stderr, flush=True)
    for line in ratios(before, after):
        print(line)


def ratios(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The first output of the new revision; each figure is replaced with its ratio after/before as median (min-max).

    The ratios are computed for each round. Rows that only one of the two prints are left out.
    """
    pairs = [(rows(old), rows(new)) for old, new in zip(before, after, strict=True)]
    common = set.intersection(*(old.keys() & new.keys() for old, new in pairs)) if pairs else set()
    for line in after[0].splitlines():
        label, figures = _row(line)
        if not figures:
            yield line
        elif label in common:
            columns = [
                _ratio([_pair(old[label], new[label], column) for old, new in pairs]) for column in range(len(figures))
            ]
            yield f"{label:44} {'  '.join(columns)}"


def rows(output: str) -> Rows:
    """The figures of each row of an output, by its label: the text before the first two spaces."""
    return {label: figures for label, figures in map(_row, output.splitlines()) if figures}


def _row(line: str) -> tuple[str, list[float]]:
    """The label and figures of a line; no figures if it begins with a space, since such lines explain the row above."""
    label, *rest = _GAP.split(line.rstrip())
    return label, [float(each) for each in _FIGURE.findall(" ".join(rest))] if label else []


def _pair(old: list[float], new: list[float], column: int) -> float | None:
    if len(old) != len(new) or not old[column]:
        return None
    return new[column] / old[column]


def _ratio(found: Sequence[float | None]) -> str:
    known = [each for each in found if each is not None]
    return f"{median(known):.2f} ({min(known):.2f}-{max(known):.2f})" if known else "-"
