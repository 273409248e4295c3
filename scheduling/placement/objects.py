"""Which check of a workload is MultiKueue's, and which MultiKueueConfig it means.

Source: Kueue v0.19, pkg/util/admissioncheck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import GROUP, MULTIKUEUE_CONFIG
from scheduling.objects.queue_settings import CheckSettings
from scheduling.objects.workload import CheckState


def refers_to(check: CheckSettings, kind: str) -> str:
    """The name of the object of this kind of Kueue's that its parameters name; empty where they name no such one."""
    named = check.parameters
    return named.name if named is not None and (named.group, named.kind) == (GROUP, kind) else ""


def config_of(check: CheckSettings | None) -> str:
    """The name of its MultiKueueConfig; empty where it is no check of MultiKueue."""
    if check is None or check.controller != MULTIKUEUE:
        return ""
    return refers_to(check, MULTIKUEUE_CONFIG.kind)


def states_of(
    states: Iterable[CheckState], checks: Mapping[str, CheckSettings], controller: str = MULTIKUEUE
) -> list[CheckState]:
    """Of a workload's check states those that this controller looks after."""
    return [state for state in states if state.name in checks and checks[state.name].controller == controller]


def multikueue_state(states: Iterable[CheckState], checks: Mapping[str, CheckSettings]) -> CheckState | None:
    """The state of its check of MultiKueue, None where it has none; of several the first."""
    return next(iter(states_of(states, checks)), None)
