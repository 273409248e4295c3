"""The exit codes of all commands. No flag changes what a code means."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import click

from policies.model.printing import plain


class Exit(IntEnum):
    CLEAN = 0
    FINDINGS = 1
    """There are findings of the severity of --fail-on or worse."""
    USAGE = 2
    """The command line or the configuration is wrong."""
    UNREADABLE = 3
    """Some inputs cannot be read. The others were judged."""
    UNJUDGED = 4
    """The context is unreachable, there was an internal error, or a rule was not evaluated with --require-evaluated."""
    NOTHING = 5
    """There was nothing to judge with --require-objects."""


EPILOG = (
    "Exit codes: 0 clean; 1 findings at or above --fail-on; 2 usage or configuration; 3 unreadable input; "
    "4 context unreachable, internal error, or not evaluated where required; 5 nothing to judge (--require-objects). "
    "Of several, 2 beats 3 beats 4 beats 1."
)
"""The epilog of commands that report findings."""
EXIT_CODES_OF_SIMULATIONS = (
    "Exit codes: 0 done; 1 something was left out, with a note; 2 usage or configuration; 3 unreadable input; 4 context"
    " unreachable, a simulation that never settles, or internal error. Of several, 2 beats 3 beats 4 beats 1."
)
"""The epilog of commands that simulate, and do not judge."""
EXIT_CODES_OF_ACTIONS = (
    "Exit codes: 0 done; 2 usage, or no object of this name; 4 cluster unreachable, refused by the API server, or"
    " internal error."
)
"""The epilog of commands that do not judge anything."""
EXIT_CODES_OF_PLANS = (
    "Exit codes: 0 done, or shown; 1 refused, with the reason, and earlier steps remain; 2 usage; 4 cluster"
    " unreachable, refused by the API server, a step that took too long, or internal error."
)
"""The epilog of commands that show a plan first."""


def exit_codes(one: str = "") -> str:
    """The epilog of a command that reads inputs and reports no findings. `one`: what exit code 1 means."""
    return (
        f"Exit codes: 0 done; {f'1 {one}; ' if one else ''}2 usage or configuration; 3 unreadable input;"
        f" 4 context unreachable, or internal error. Of several, 2 beats 3 beats 4{' beats 1' if one else ''}."
    )


_STRONGEST_FIRST = (Exit.USAGE, Exit.UNREADABLE, Exit.UNJUDGED, Exit.FINDINGS, Exit.NOTHING, Exit.CLEAN)


def strongest(codes: Iterable[Exit]) -> Exit:
    """The exit code that counts if several apply; CLEAN if none does."""
    return min(codes, key=_STRONGEST_FIRST.index, default=Exit.CLEAN)


class _PrintedError(click.ClickException):
    """An error that is printed on one line. Its text is escaped, since it may contain text of a file."""

    def format_message(self) -> str:
        return plain(self.message)


class Misused(_PrintedError):
    """The command line or the configuration is wrong. The message has the place and the fix."""

    exit_code = Exit.USAGE


class OutOfReach(_PrintedError):
    """A cluster, a port, a folder or another resource is not available."""

    exit_code = Exit.UNJUDGED


class AccessDenied(OutOfReach):
    """The user lacks a right in the cluster."""
