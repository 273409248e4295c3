"""The exit codes of every command. Their meaning never changes with a flag."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import click


class Exit(IntEnum):
    CLEAN = 0
    FINDINGS = 1
    """There are findings at or above --fail-on."""
    USAGE = 2
    """The command line or the configuration is wrong."""
    UNREADABLE = 3
    """Some input cannot be read; what could be read was judged."""
    UNJUDGED = 4
    """The context is out of reach, something broke inside, or a rule was not evaluated where that is required."""
    NOTHING = 5
    """There was nothing to judge although --require-objects asks for something."""


EPILOG = (
    "Exit codes: 0 clean; 1 findings at or above --fail-on; 2 usage or configuration; 3 unreadable input; "
    "4 context unreachable, internal error, or not evaluated where required; 5 nothing to judge (--require-objects). "
    "Of several, 2 beats 3 beats 4 beats 1."
)

_STRONGEST_FIRST = (Exit.USAGE, Exit.UNREADABLE, Exit.UNJUDGED, Exit.FINDINGS, Exit.NOTHING, Exit.CLEAN)


def strongest(codes: Iterable[Exit]) -> Exit:
    """The one code for all that happened; CLEAN for nothing at all."""
    return min(codes, key=_STRONGEST_FIRST.index, default=Exit.CLEAN)


class Misused(click.ClickException):
    """A command line or a configuration that cannot be followed; the message says where and what to do."""

    exit_code = Exit.USAGE


class OutOfReach(click.ClickException):
    """Something outside cannot be had: a cluster, a port, a folder."""

    exit_code = Exit.UNJUDGED
