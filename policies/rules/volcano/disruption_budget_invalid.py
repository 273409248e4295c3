from __future__ import annotations

import re
from collections.abc import Iterator

from policies.dialects.core import POD, VOLCANO_SCHEDULER, Pod
from policies.dialects.go_values import read_count
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Finding, Profile

MIN_AVAILABLE = "volcano.sh/jdb-min-available"
MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
_SHARE = re.compile(r"0*[1-9][0-9]?%").fullmatch
_AS_VOLCANO_READS = re.compile(r"\+?0*[1-9][0-9]?").fullmatch
"""A percentage from which all % were removed."""


@rule("disruption-budget-invalid", source="Volcano D1", kinds=(POD,))
def disruption_budget_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A pod of Volcano's scheduler has a disruption budget that cannot be read.

    Why it is refused: the scheduler would evict pods as if there were no budget. The budget is a whole number above 0
    or a percentage from 1% to 99%, in only one of the two annotations.
    Example: `volcano.sh/jdb-min-available: 0`, or `volcano.sh/jdb-max-unavailable: 100%`.
    Fix: write `2`, or `50%`, in one of `volcano.sh/jdb-min-available` and `volcano.sh/jdb-max-unavailable`.
    """
    for before, pod in proposal.changed(Pod):
        if pod.scheduler_name != VOLCANO_SCHEDULER:
            continue
        budgets = {key: pod.annotations[key] for key in (MIN_AVAILABLE, MAX_UNAVAILABLE) if key in pod.annotations}
        for key, text in budgets.items():
            if read_count(text) is None and not _SHARE(text):
                upstream = before is None and not _volcano_accepts(text)
                yield _finding(
                    pod, key, f"{key} is {text!r}, which is neither a number above 0 nor 1% to 99%", upstream
                )
        if len(budgets) == 2:
            yield _finding(pod, MAX_UNAVAILABLE, f"{MIN_AVAILABLE} is set too", upstream=before is None)


def _volcano_accepts(text: str) -> bool:
    return "%" in text and _AS_VOLCANO_READS(text.replace("%", "")) is not None


def _finding(pod: Pod, key: str, message: str, upstream: bool) -> Finding:
    profiles: frozenset[Profile] = BOTH if upstream else STRICT_ONLY
    fix = "set one of the two annotations to a number such as 2, or a percentage such as 50%"
    field = fields.join("metadata.annotations", key)
    return Finding(pod.ref, field, message, fix=fix, subject=message, profiles=profiles)
