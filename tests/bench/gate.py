"""`make bench-gate`: fail if a command takes more processor time than in the previous version.

Each row is a command over generated trees, run in ten pairs: once in each version, the first one changing from pair to
pair. The ratio of a pair is the processor time in the new version divided by that in the old one.

A row is slower if at least nine of its ten ratios are above 1.03. If nothing has changed, a ratio is above 1 in at most
half of the pairs; so a false failure happens in at most 11 of 1024 runs, however noisy the row is.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench import organisation
from tests.bench.commands import changed, timed
from tests.bench.machine import MachineTime
from tests.versions import Installation, NoPreviousVersionError, current, installed, previous

PAIRS = 10
ABOVE = 9
"""A row is slower if so many of PAIRS ratios are above MARGIN."""
MARGIN = 1.03
"""A smaller slowdown is not worth a failure."""


@dataclass(frozen=True)
class PairedRow:
    """A row. `ratios`: new to old, one for each pair."""

    name: str
    ratios: Sequence[float]

    @property
    def slower(self) -> bool:
        return sum(each > MARGIN for each in self.ratios) >= ABOVE

    def __str__(self) -> str:
        spread = f"{median(self.ratios):.3f} ({min(self.ratios):.3f}-{max(self.ratios):.3f})"
        return f"{self.name:44} {spread}{'  slower' if self.slower else ''}"


def main() -> int:
    try:
        revision = previous()
    except NoPreviousVersionError as error:
        print(f"no version to compare with: {error}", file=sys.stderr)
        return 2
    began = MachineTime.now()
    with tempfile.TemporaryDirectory() as name, installed(revision) as old, current() as new:
        rows = [paired(row, arguments, old, new) for row, arguments in commands(Path(name)).items()]
    print(f"others used {began.others(MachineTime.now()):.0%} of the machine; a row is slower if {ABOVE} of {PAIRS}")
    print(f"ratios are above {MARGIN}")
    slower = [row.name for row in rows if row.slower]
    if slower:
        print(f"slower than {revision[:12]}: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


def commands(folder: Path) -> Mapping[str, Sequence[str]]:
    """The arguments of `quotree` by the name of the row; each command takes a second at most."""
    trees, yunikorn, work = folder / "trees.yaml", folder / "yunikorn.yaml", folder / "work.yaml"
    organisation.write(trees, organisation.organisation(1_000))
    organisation.write(yunikorn, [organisation.queue_config(2_000)])
    organisation.write(work, organisation.at_work(100, 1_000))
    return {
        "quotree --version": ["--version"],
        "quotree validate, 1000 queues": ["validate", str(trees)],
        "quotree validate, 2000 of YuniKorn": ["validate", str(yunikorn)],
        "quotree diff, 1000 queues": ["diff", *changed(folder, 1_000)],
        "quotree simulate, 100 queues, 1000 jobs": ["simulate", str(work)],
    }


def paired(name: str, arguments: Sequence[str], old: Installation, new: Installation) -> PairedRow:
    """Measure PAIRS pairs and print the row. Before them, one run in each version fills the caches of the machine."""
    ratios = []
    for turn in range(-1, PAIRS):
        order = (old, new) if turn % 2 == 0 else (new, old)
        spent = {version.root: timed([str(version.quotree), *arguments])[1] for version in order}
        if turn >= 0:
            ratios.append(spent[new.root] / spent[old.root])
    row = PairedRow(name, ratios)
    print(row, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
