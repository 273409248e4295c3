"""Finds the MultiKueue check of a workload and its MultiKueueConfig.

Source: Kueue v0.19, pkg/util/admissioncheck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import GROUP, MULTIKUEUE_CONFIG
from scheduling.objects.queue_settings import CheckSettings
from scheduling.objects.workload import CheckState


def refers_to(check: CheckSettings, kind: str) -> str:
    """The name of the Kueue object of this kind to which its parameters refer; empty if they refer to none."""
    found = check.parameters
    return found.name if found is not None and (found.group, found.kind) == (GROUP, kind) else ""


def config_of(check: CheckSettings | None) -> str:
    """The name of its MultiKueueConfig; empty if it is not a MultiKueue check."""
    if check is None or check.controller != MULTIKUEUE:
        return ""
    return refers_to(check, MULTIKUEUE_CONFIG.kind)


def states_of(
    states: Iterable[CheckState], checks: Mapping[str, CheckSettings], controller: str = MULTIKUEUE
) -> list[CheckState]:
    return [state for state in states if state.name in checks and checks[state.name].controller == controller]


def multikueue_state(states: Iterable[CheckState], checks: Mapping[str, CheckSettings]) -> CheckState | None:
    """The state of the first MultiKueue check; None if there is none."""
    return next(iter(states_of(states, checks)), None)
