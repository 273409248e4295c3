"""Print `N of M` for each suite, what is left out and why, and every case that does not hold."""

from __future__ import annotations

import sys

from tests.conformance import (
    kueue,
    kueue_amounts,
    kueue_cache,
    kueue_config,
    kueue_controllers,
    kueue_flavors,
    kueue_multikueue,
    kueue_multikueue_rest,
    kueue_multikueue_workers,
    kueue_preemption,
    kueue_queue,
    kueue_scheduler,
    kueue_status,
    kueue_workload,
    volcano,
    volcano_mutations,
    yunikorn,
    yunikorn_admission,
    yunikorn_config,
)
from tests.conformance.suite import ENVIRONMENT, Suite, folder

PROJECTS = (
    kueue,
    kueue_amounts,
    kueue_cache,
    kueue_config,
    kueue_controllers,
    kueue_flavors,
    kueue_multikueue,
    kueue_multikueue_rest,
    kueue_multikueue_workers,
    kueue_preemption,
    kueue_queue,
    kueue_scheduler,
    kueue_workload,
    kueue_status,
    volcano,
    volcano_mutations,
    yunikorn,
    yunikorn_admission,
    yunikorn_config,
)


def main() -> int:
    try:
        where = folder()
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    if where is None:
        print(f"no conformance cases: set {ENVIRONMENT} to their folder", file=sys.stderr)
        return 2
    failed = held = uncovered = 0
    for project in PROJECTS:
        for suite in project.suites(where):
            bad = report(suite)
            failed += bad
            held += len(suite.cases) - bad
            uncovered += suite.uncovered
    print(f"all: {held} of {held + failed}, {uncovered} not covered")
    return 1 if failed else 0


def report(suite: Suite) -> int:
    """Print the suite's line and its failures; how many there are."""
    results = [(case.name, case.check()) for case in suite.cases]
    bad = [(name, complaint) for name, complaint in results if complaint is not None]
    line = f"{suite.name}: {len(results) - len(bad)} of {len(results)}"
    if suite.uncovered:
        line += f", {suite.uncovered} not covered"
    print(line)
    for reason, count in sorted(suite.reasons.items()):
        print(f"    not covered, {count}: {reason}")
    for name, complaint in bad:
        print(f"    FAILED {name}: {complaint}")
    return len(bad)


if __name__ == "__main__":
    sys.exit(main())
