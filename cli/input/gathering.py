"""Reads the files that the user names into objects with their places."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from analysis.inputs import InputObjects, identify
from cli.input.documents import read
from cli.output import note


def gather(paths: Sequence[str]) -> InputObjects:
    """The objects in the paths; `-` is standard input. Notes objects that occur twice on standard error."""
    return noted(identify(*read(paths, sys.stdin)))


def noted(inputs: InputObjects) -> InputObjects:
    """Note objects that occur twice with different content on standard error, and return the inputs.

    Only the first of such objects is used. `quotree validate` reports the others as findings.
    """
    twice = [each for each in inputs.repeated if not each.equal]
    if twice:
        rest = "is 1 more object" if len(twice) == 2 else f"are {len(twice) - 1} more objects"
        more = f"; so {rest}, which `quotree validate` lists" if len(twice) > 1 else ""
        note(f"{twice[0].second.place()}: {twice[0]}; the first is used{more}")
    return inputs
