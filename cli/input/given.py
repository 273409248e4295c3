"""The documents of the files that the user names: read, identified, each with its place."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from analysis.given import Given, identify
from cli.input.documents import read
from cli.output import note


def gather(paths: Sequence[str]) -> Given:
    """Everything that the paths hold; `-` is standard input. Objects that are given twice are noted."""
    return noted(identify(*read(paths, sys.stdin)))


def noted(given: Given) -> Given:
    """The same, with a line on standard error about the objects that are given twice with different content.

    Only the first is used. `quotree validate` reports the others as findings.
    """
    twice = [each for each in given.repeated if not each.equal]
    if twice:
        more = f"; so are {len(twice) - 1} more objects, which `quotree validate` lists" if len(twice) > 1 else ""
        note(f"{twice[0].second.place()}: {twice[0]}; the first is used{more}")
    return given
