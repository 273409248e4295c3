"""Print the figures: `make bench`. Takes about ten minutes on two cores."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.bench import added, compare, dialects, engine, judging, ordering, organisation, placement, reviews
from tests.bench.admission import rows as admission

QUOTREE = str(Path(sys.executable).with_name("quotree"))
MIB = 1024
PARTS = ("commands", "judging", "webhook", "added", "engine", "dialects", "admission", "placement", "ledger")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--requests", type=int, default=4000, help="webhook requests in each run")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; the median is printed")
    parser.add_argument("--only", choices=PARTS, help="leave out the rest")
    parser.add_argument("--compare", metavar="REV", help="measure this revision as well, in turn, and print the ratios")
    parser.add_argument("--rounds", type=int, default=3, help="with --compare: how often each is measured")
    parser.add_argument("--large", action="store_true", help="also sizes of the engine that take minutes each")
    options = parser.parse_args()
    if options.compare:
        same = [f"--requests={options.requests}", f"--runs={options.runs}"]
        compare.compare(options.compare, [*same, *([f"--only={options.only}"] if options.only else [])], options.rounds)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Callable[[], None]] = {
            "commands": lambda: commands(folder, options.runs),
            "judging": judging.rows,
            "webhook": lambda: reviews.rows(folder, options.requests),
            "added": lambda: added.rows(folder),
            "engine": lambda: engine.rows(folder, options.large),
            "dialects": dialects.rows,
            "admission": admission.rows,
            "placement": lambda: placement.rows(folder),
            "ledger": ordering.rows,
        }
        for part in [options.only] if options.only else parts:
            parts[part]()
    return 0


def commands(folder: Path, runs: int) -> None:
    print(f"{'command':42} {'seconds':>8} {'processor s':>12} {'peak MiB':>9}")
    row("quotree --version", [QUOTREE, "--version"], runs)
    for count, wanted in ((100, runs), (10_000, 3)):
        path = folder / f"{count}.yaml"
        organisation.write(path, organisation.organisation(count))
        row(f"quotree validate, {count} queues", [QUOTREE, "validate", str(path)], wanted)
    manifests = folder / "small"
    manifests.mkdir()
    for number, manifest in enumerate(organisation.organisation(5_000)):
        organisation.write(manifests / f"{number}.yaml", [manifest])
    row("quotree validate, 5000 small files", [QUOTREE, "validate", str(manifests)], 3)
    row("quotree diff, 10000 queues", [QUOTREE, "diff", *changed(folder)], 3)
    path = folder / "yunikorn.yaml"
    organisation.write(path, [organisation.queue_config(10_000)])
    row("quotree validate, 10000 of YuniKorn", [QUOTREE, "validate", str(path)], 3)
    path = folder / "simulated.yaml"
    organisation.write(path, organisation.at_work(1_000, 10_000))
    row("quotree simulate, 1000 queues, 10000 jobs", [QUOTREE, "simulate", str(path)], 3)


def changed(folder: Path) -> list[str]:
    """The arguments of `diff` for 10 000 queues, a tenth of which differ."""
    manifests = organisation.organisation(10_000)
    after = [organisation.raised(each) if place % 10 == 0 else each for place, each in enumerate(manifests)]
    old, new = folder / "before.yaml", folder / "after.yaml"
    organisation.write(old, manifests)
    organisation.write(new, after)
    return [str(new), f"--base=files:{old}"]


def row(name: str, command: list[str], runs: int) -> None:
    measured = [timed(command) for _ in range(runs)]
    seconds, processor = (median(column) for column in list(zip(*measured, strict=True))[:2])
    print(f"{name:42} {seconds:8.3f} {processor:12.3f} {max(m[2] for m in measured):9.0f}", flush=True)


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds (user and system) and peak resident MiB of one run.

    Raises RuntimeError unless it ends with 0 or 1.
    """
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MIB


if __name__ == "__main__":
    sys.exit(main())
