"""The properties of a queue that decisions read, and their inheritance by managed queues.

A value that YuniKorn does not understand counts as its default.
Source: YuniKorn core, `pkg/scheduler/objects/queue.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects.go_values import read_duration, read_integer
from scheduling.objects.times import SECOND

FIFO = "fifo"
FAIR = "fair"
DEFAULT = "default"
FENCE = "fence"
DISABLED = "disabled"

_SORT = "application.sort.policy"
_BY_PRIORITY = "application.sort.priority"
_PRIORITY_POLICY = "priority.policy"
_PRIORITY_OFFSET = "priority.offset"
_PREEMPTION = "preemption.policy"
_PREEMPTION_DELAY = "preemption.delay"
_INHERITED = (_SORT, _BY_PRIORITY, _PREEMPTION_DELAY)
_DELAY = 30 * SECOND


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of a queue.

    sort: the order of applications in a leaf, FIFO or FAIR. by_priority: whether priorities come before it.
    priority_fence, priority_offset: how the parent sees the priorities of the queue's asks.
    preemption: DEFAULT, FENCE (victims only inside of the queue) or DISABLED (no victims in the queue).
    preemption_delay: how long an ask waits before it may preempt, in nanoseconds.
    """

    sort: str = FIFO
    by_priority: bool = True
    priority_fence: bool = False
    priority_offset: int = 0
    preemption: str = DEFAULT
    preemption_delay: int = _DELAY


DEFAULTS = Properties()


def inherited(own: Mapping[str, str], above: Mapping[str, str]) -> dict[str, str]:
    """The property texts of a managed queue with the texts `own`, below a parent with the texts `above`."""
    handed = {key: above[key] for key in _INHERITED if key in above}
    if _word(above, _PREEMPTION) == DISABLED:
        handed[_PREEMPTION] = DISABLED
    return {**handed, **own}


def read_properties(texts: Mapping[str, str]) -> Properties:
    policy = _word(texts, _PREEMPTION)
    return Properties(
        sort=FAIR if texts.get(_SORT) == FAIR else FIFO,
        by_priority=_word(texts, _BY_PRIORITY) != DISABLED,
        priority_fence=_word(texts, _PRIORITY_POLICY) == FENCE,
        priority_offset=read_integer(texts.get(_PRIORITY_OFFSET, ""), 32) or 0,
        preemption=policy if policy in (FENCE, DISABLED) else DEFAULT,
        preemption_delay=_delay(texts.get(_PREEMPTION_DELAY, "")),
    )


def _word(texts: Mapping[str, str], key: str) -> str:
    """The value in lower case. YuniKorn ignores the case of letters, except for the sort policy."""
    return texts.get(key, "").lower()


def _delay(text: str) -> int:
    found = read_duration(text)
    return found if found is not None and found > 0 else _DELAY
