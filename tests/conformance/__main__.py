"""Print `N of M` for each suite, what is left out and why, each case that does not hold, and files without a runner."""

from __future__ import annotations

import sys

from tests.conformance.projects import suites_in, why_no_runner
from tests.conformance.suite import ENVIRONMENT, Suite, folder, without_runner


def main() -> int:
    try:
        where = folder()
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    if where is None:
        print(f"no conformance cases: set {ENVIRONMENT} to their folder", file=sys.stderr)
        return 2
    suites = suites_in(where)
    failed = sum(map(report, suites))
    total = sum(len(suite.cases) for suite in suites)
    unread = without_runner(where, suites)
    for name, count in unread.items():
        print(f"no runner, {count}: {name}: {why_no_runner(name) or 'no reason is stated'}")
    print(
        f"all: {total - failed} of {total}, {sum(suite.uncovered for suite in suites)} not covered, "
        f"{sum(unread.values())} in {len(unread)} files without a runner"
    )
    return 1 if failed else 0


def report(suite: Suite) -> int:
    """Print the suite's counts and its failures; how many there are."""
    results = [(case.name, case.complaint()) for case in suite.cases]
    bad = [(name, complaint) for name, complaint in results if complaint is not None]
    counts = f"{suite.name}: {len(results) - len(bad)} of {len(results)}"
    if suite.uncovered:
        counts += f", {suite.uncovered} not covered"
    print(counts)
    for reason, count in sorted(suite.reasons.items()):
        print(f"    not covered, {count}: {reason}")
    for name, complaint in bad:
        print(f"    FAILED {name}: {complaint}")
    return len(bad)


if __name__ == "__main__":
    sys.exit(main())
