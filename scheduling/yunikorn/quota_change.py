"""What is preempted in a queue whose max was lowered below what it uses, and when.

Source: YuniKorn core 1.9, `pkg/scheduler/objects/quota_preemptor.go`, `queue.go`.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.dialects.yunikorn_config.resources import Amounts, is_positive, least_existing, over, plus, total
from policies.dialects.yunikorn_config.shares import percent_matching
from scheduling.yunikorn.preemptable import Level, preemptable
from scheduling.yunikorn.queue import YuniKornQueue, YuniKornQueueSettings
from scheduling.yunikorn.victims import Victim

_HOUR = 3600 * 10**9


def level(queue: YuniKornQueue) -> Level:
    return Level(queue.path, queue.allocated, queue.settings.guaranteed, queue.preempting)


def excess(queue: YuniKornQueue) -> Amounts:
    """What the queue uses above its max, as far as it and the queues above it exceed their guarantees."""
    used, most = level(queue).used or {}, queue.settings.maximum or {}
    above = {name: used[name] - most[name] for name in most if used.get(name, 0) > most[name]}
    allowed = preemptable([level(each) for each in queue.up()]) or {}
    return least_existing({name: above[name] for name in above if name in allowed}, allowed) or {}


def by_leaf(queue: YuniKornQueue, amounts: Amounts) -> dict[YuniKornQueue, Amounts]:
    """How much of the amounts each leaf gives back: in proportion to what it uses above its guarantee, rounded down."""
    found: dict[YuniKornQueue, Amounts] = {}
    waiting = [(queue, amounts)]
    while waiting:
        here, share = waiting.pop()
        if here.is_leaf:
            found[here] = share
            continue
        above = {child: _above_guarantee(child) for child in here.children.values()}
        whole = total(above.values())
        for child, mine in above.items():
            part = {name: mine[name] * share[name] // whole[name] for name in mine if name in share}
            if is_positive(part):
                waiting.append((child, part))
    return found


def _above_guarantee(queue: YuniKornQueue) -> Amounts:
    guaranteed = queue.settings.guaranteed
    used = level(queue).used or {}
    above = {name: amount - (guaranteed or {}).get(name, 0) for name, amount in used.items()}
    return {name: amount for name, amount in above.items() if amount > 0}


def victims(candidates: Iterable[Victim], amounts: Amounts) -> list[Victim]:
    """The victims in a leaf, which never free more than the amounts of any named resource."""
    chosen: list[Victim] = []
    sum_: Amounts = {}
    for victim in sorted(candidates, key=lambda each: _order(each, amounts)):
        asked = victim.ask.amounts
        if victim.ask.pinned or not asked.keys() & amounts.keys():
            continue
        more = plus(sum_, asked)
        if not over(more, amounts):
            sum_ = more
            chosen.append(victim)
    return chosen


def _order(victim: Victim, amounts: Amounts) -> tuple[object, ...]:
    """The sort key of victims: no originators, optional ones, those that use what is wanted, the least important."""
    ask = victim.ask
    matching = percent_matching(ask.amounts, amounts)
    return ask.originator, not ask.optional, -matching, ask.priority, -(ask.created // _HOUR), ask.key


# --- when


def due(queue: YuniKornQueue, before: YuniKornQueueSettings | None, timer: int, now: int) -> int:
    """When the queue gives back what it uses above its max, in nanoseconds; 0 for never.

    `before` are the settings until now, None after a restart; `timer` is the answer until now.
    """
    delay = queue.settings.properties.quota_delay
    if not queue.settings.managed or not delay or not excess(queue):
        return 0
    if before is None:
        return timer or now + delay
    if timer:
        return timer + delay - before.properties.quota_delay
    return now + delay if _only_lower(before.maximum, queue.settings.maximum) else 0


def _only_lower(before: Amounts | None, after: Amounts | None) -> bool:
    """Whether the max has the same resources, none of them more and one of them less."""
    if not before or not after or before.keys() != after.keys() or before == after:
        return False
    return all(after[name] <= before[name] for name in after)
