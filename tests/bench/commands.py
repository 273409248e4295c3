"""Commands over organisations in files, each run as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from tests.bench import organisation

QUOTREE = str(Path(sys.executable).with_name("quotree"))
GROWTH = (10, 1_000, 10_000, 100_000)
_IN_ONE_FILE = 10_000
"""Queues in one file. The limit of YAML aliases holds for each file."""


def rows(folder: Path, runs: int) -> None:
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


def changed(folder: Path, count: int = 10_000) -> list[str]:
    """The arguments of `diff` for so many queues, of which a tenth differs."""
    manifests = organisation.organisation(count)
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

    Raises RuntimeError unless the exit code is 0 or 1.
    """
    launched = [sys.executable, "-m", "tests.bench.memory", *command]
    wall, processor, peak, code = json.loads(subprocess.run(launched, check=True, capture_output=True).stdout)
    if code not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    return wall, processor, peak


def growth(folder: Path) -> None:
    """Print the cost of `validate` by the number of queues; the start of the command is included."""
    print(f"\n{'command':42} {'seconds':>8} {'processor s':>12} {'peak MiB':>9}")
    for count in GROWTH:
        manifests = organisation.organisation(count)
        files = folder / f"growth-{count}"
        files.mkdir()
        for number in range(0, len(manifests), _IN_ONE_FILE):
            organisation.write(files / f"{number}.yaml", manifests[number : number + _IN_ONE_FILE])
        row(f"quotree validate, {count} queues, growth", [QUOTREE, "validate", str(files)], 3 if count <= 10_000 else 1)
