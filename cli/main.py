"""The console scripts `quotree` and `kubectl-quotree`. Nothing heavy is imported here, so that `--version` is fast."""

from __future__ import annotations

import gc
import os
import sys

from cli.version import VERSION

GARBAGE = (100_000, 20, 10)
"""Thresholds of the garbage collector. Python's default for the first is 700.

A tree of 10 000 queues consists of a million objects that all stay alive. With the default, repeated scans of them took
almost half of the time to read the tree.
"""


def main() -> None:
    try:
        _run()
    except OSError as error:  # commands report their own errors; this one is of a write by click or `print`
        from cli.output import discard, note

        discard(1)
        if isinstance(error, BrokenPipeError):
            return
        note(f"quotree: cannot write to standard output: {error.strerror or error}")
        sys.exit(4)


def _run() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"quotree {VERSION}", flush=True)
        return
    gc.set_threshold(*GARBAGE)
    from cli.completion import VARIABLE, register  # here, so that `--version` is fast
    from cli.group import quotree

    if VARIABLE in os.environ:
        register()
    quotree.main(prog_name=_called(sys.argv[0]), complete_var=VARIABLE)


def _called(path: str) -> str:
    """The command as the user types it: kubectl runs the plug-in `kubectl-quotree` for `kubectl quotree`."""
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    return "kubectl quotree" if name in ("kubectl-quotree", "kubectl_quotree") else "quotree"


if __name__ == "__main__":
    main()
