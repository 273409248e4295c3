"""`make bench`: print the figures. This takes about half an hour on two cores."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path

from tests.bench import (
    added,
    audit,
    commands,
    compare,
    dashboard,
    dialects,
    edits,
    engine,
    evictions,
    judging,
    ordering,
    placement,
    reviews,
    topology,
)
from tests.bench.admission import one_job, preempting, shared
from tests.bench.admission import rows as admission
from tests.bench.machine import MachineTime

_DISTURBED = 0.10
"""The share of the machine that other processes may use while a part runs."""
_ATTEMPTS = 2
"""How often a part is run at most while other processes disturb it."""

PARTS: Mapping[str, Callable[[argparse.Namespace, Path], None]] = {
    "commands": lambda options, folder: commands.rows(folder, options.runs),
    "judging": lambda _, __: judging.rows(),
    "audit": lambda _, __: audit.rows(),
    "edits": lambda _, __: edits.rows(),
    "webhook": lambda options, folder: reviews.rows(folder, options.requests),
    "added": lambda _, folder: added.rows(folder),
    "engine": lambda options, folder: engine.rows(folder, options.large),
    "evictions": lambda _, __: evictions.rows(),
    "dialects": lambda _, __: dialects.rows(),
    "topology": lambda _, __: topology.rows(),
    "admission": lambda options, _: admission.rows(large=options.large),
    "racks": lambda options, _: admission.racks(large=options.large),
    "one_job": lambda _, __: one_job.rows(),
    "preempting": lambda _, __: preempting.rows(),
    "shared": lambda _, __: shared.rows(),
    "placement": lambda _, folder: placement.rows(folder),
    "dashboard": lambda _, folder: dashboard.rows(folder),
    "ledger": lambda _, __: ordering.rows(),
    "growth": lambda _, folder: commands.growth(folder),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--requests", type=int, default=4000, help="webhook requests in each run")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; the median is printed")
    parser.add_argument("--large", action="store_true", help="also sizes that take minutes each")
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    parser.add_argument("--compare", metavar="REV", help="measure this revision as well, in turn, and print the ratios")
    parser.add_argument("--rounds", type=int, default=3, help="with --compare: how often each is measured")
    options = parser.parse_args()
    if options.compare:
        same = [f"--requests={options.requests}", f"--runs={options.runs}"]
        compare.compare(options.compare, [*same, *([f"--only={options.only}"] if options.only else [])], options.rounds)
        return 0
    print(_measured())
    for part in [options.only] if options.only else PARTS:
        _until_undisturbed(part, partial(PARTS[part], options))
    return 0


def _measured() -> str:
    """The revision that is measured, and the machine."""
    commit = subprocess.run(("git", "describe", "--always", "--dirty"), capture_output=True, text=True, check=False)
    processors, python = os.cpu_count(), platform.python_version()
    return f"Quotree {commit.stdout.strip() or version('quotree')}, {processors} processors, Python {python}"


def _until_undisturbed(part: str, run: Callable[[Path], None]) -> None:
    """Run a part and print the share of the machine that other processes used; repeat it if that was too much."""
    for _ in range(_ATTEMPTS):
        began = MachineTime.now()
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder))
        others = began.others(MachineTime.now())
        print(f"({part}: others used {others:.0%} of the machine)", flush=True)
        if others <= _DISTURBED:
            break


if __name__ == "__main__":
    sys.exit(main())
