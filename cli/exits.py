"""The exit codes of all commands. No flag changes what a code means."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import click

from policies.model.printing import plain


class Exit(IntEnum):
    CLEAN = 0
    FINDINGS = 1
    """There are findings at or above --fail-on."""
    USAGE = 2
    """The command line or the configuration is wrong."""
    UNREADABLE = 3
    """Some input cannot be read; the rest was judged."""
    UNJUDGED = 4
    """The context is unreachable, an internal error, or a rule was not evaluated where that is required."""
    NOTHING = 5
    """There was nothing to judge, with --require-objects."""


EPILOG = (
    "Exit codes: 0 clean; 1 findings at or above --fail-on; 2 usage or configuration; 3 unreadable input; "
    "4 context unreachable, internal error, or not evaluated where required; 5 nothing to judge (--require-objects). "
    "Of several, 2 beats 3 beats 4 beats 1."
)
EXIT_CODES_OF_ACTIONS = (
    "Exit codes: 0 done; 2 usage, or no object of this name; 4 cluster unreachable, refused by the API server, or"
    " internal error."
)
"""The epilog of commands that judge nothing: they do or show what was requested."""
EXIT_CODES_OF_PLANS = (
    "Exit codes: 0 done, or shown; 1 refused, with the reason, and nothing was changed; 2 usage; 4 cluster unreachable,"
    " refused by the API server, a step that took too long, or internal error."
)
"""The epilog of commands that first show what they would do."""

_STRONGEST_FIRST = (Exit.USAGE, Exit.UNREADABLE, Exit.UNJUDGED, Exit.FINDINGS, Exit.NOTHING, Exit.CLEAN)


def strongest(codes: Iterable[Exit]) -> Exit:
    """The one code for several; CLEAN for none."""
    return min(codes, key=_STRONGEST_FIRST.index, default=Exit.CLEAN)


class _Told(click.ClickException):
    """Printed on one line; it may have the text of a file in it."""

    def format_message(self) -> str:
        return plain(self.message)


class Misused(_Told):
    """A wrong command line or configuration; the message says where and what to do."""

    exit_code = Exit.USAGE


class OutOfReach(_Told):
    """Something outside is not available: a cluster, a port, a folder."""

    exit_code = Exit.UNJUDGED


class AccessDenied(OutOfReach):
    """The API server says that you may not."""
