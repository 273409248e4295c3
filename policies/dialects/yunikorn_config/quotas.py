"""Checks the sums and limits of a tree: guaranteed, max and maxapplications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from policies.dialects.yunikorn import VCORE
from policies.dialects.yunikorn_config.checking import remember, remembered, throughout
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Problem, Resources, amounts
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, least, over, plus, total
from policies.model import fields
from policies.model.printing import listed

_NO_CHILDREN: YuniKornAmounts = {}
_SUFFIXES = {suffix + "i": 1024**power for power, suffix in enumerate("KMGTPE", 1)} | {
    suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)
}


def queue_amount(resource: str, amount: int) -> str:
    """The shortest exact text for an amount in queues.yaml."""
    if resource == VCORE:
        if amount % 1000:
            return f"{amount}m"
        amount //= 1000
    texts = [f"{amount // size}{suffix}" for suffix, size in _SUFFIXES.items() if amount and not amount % size]
    return min([str(amount), *texts], key=len)


def written_text(resources: Resources | None, name: str) -> str:
    return (resources or {})[name].written.text


def whole(resources: Resources | None, name: str) -> tuple[str, ...]:
    """The path of the mapping that has this amount, as a tuple."""
    return fields.enclosing((resources or {})[name].written.field)[1:2]


def guaranteed_above_max(root: ConfiguredQueue) -> Iterator[Problem]:
    """Check guaranteed against max in each queue, and in child templates, which YuniKorn does not check."""
    return throughout(root, _guaranteed_within_max)


def _guaranteed_within_max(queue: ConfiguredQueue) -> Iterator[Problem]:
    yield from _above_own_max(queue.guaranteed, queue.maximum, queue.path, accepted=False)
    if queue.template is not None:
        whose = f"the child template of {queue.path}"
        yield from _above_own_max(queue.template.guaranteed, queue.template.maximum, whose, accepted=True)


def _above_own_max(
    guaranteed: Resources | None, maximum: Resources | None, whose: str, *, accepted: bool
) -> Iterator[Problem]:
    wanted, limit = amounts(guaranteed), amounts(maximum)
    for name in over(wanted, limit):
        place = (guaranteed or {})[name].written
        most = written_text(maximum, name)
        yield Problem(
            place.field,
            place.line,
            f"{whose} is guaranteed {name}={place.text}, but its max is {most}",
            f"lower the guarantee to {most} or less, or raise the max to {place.text} or more",
            f"{whose} {name}",
            wanted[name] - limit[name],
            accepted,
            follows=whole(maximum, name),
        )


@dataclass(frozen=True, slots=True)
class _Most:
    """The smallest max of the ancestors for one type, and the queue that has it."""

    amount: int
    queue: ConfiguredQueue


def max_above_parent(root: ConfiguredQueue) -> Iterator[Problem]:
    """Check each max against the smallest max of the ancestors. Child templates, too, which YuniKorn does not check."""
    found: list[Problem] = []
    _max_below(root, {}, found)
    yield from found


def _max_below(queue: ConfiguredQueue, most: Mapping[str, _Most], found: list[Problem]) -> None:
    """Add the problems of the queue and its descendants to `found`."""
    above = {name: held.amount for name, held in most.items()} if queue.queues else {}
    if remembered(queue, "max", above):
        return
    earlier = len(found)
    found += _above_most(queue.maximum, queue.path, most, accepted=False)
    down = dict(most)
    for name, amount in amounts(queue.maximum).items():
        if name not in down or amount < down[name].amount:
            down[name] = _Most(amount, queue)
    if queue.template is not None:
        found += _above_most(queue.template.maximum, f"the child template of {queue.path}", down, accepted=True)
    for child in queue.queues:
        _max_below(child, down, found)
    if len(found) == earlier:
        remember(queue, "max", True, above)


def _above_most(
    maximum: Resources | None, whose: str, most: Mapping[str, _Most], *, accepted: bool
) -> Iterator[Problem]:
    own = amounts(maximum)
    for name in over(own, {name: held.amount for name, held in most.items()}):
        place, held = (maximum or {})[name].written, most[name]
        limit = written_text(held.queue.maximum, name)
        yield Problem(
            place.field,
            place.line,
            f"max of {whose} is {name}={place.text}, but that of {held.queue.path} above it is {limit}",
            f"lower it to {limit} or less, or raise the max of {held.queue.path} first",
            f"{whose} {name}",
            own[name] - held.amount,
            accepted,
            follows=whole(held.queue.maximum, name),
        )


@dataclass(frozen=True, slots=True)
class _Sums:
    """The guaranteed amounts with which a queue counts at its parent.

    `counted`: as YuniKorn counts them.
    `whole`: with the amounts of descendants that YuniKorn misses; see `guaranteed_above_queue`.
    """

    counted: YuniKornAmounts
    whole: YuniKornAmounts


def guaranteed_above_queue(root: ConfiguredQueue) -> Iterator[Problem]:
    """Check the sum of the children's guarantees against the guarantee of the queue and the least max on its path.

    YuniKorn misses one case: a guarantee for one resource hides the children's guarantees for others.
    """
    found: list[Problem] = []
    _guaranteed_below(root, {}, found)
    yield from found


def _guaranteed_below(queue: ConfiguredQueue, most: YuniKornAmounts, found: list[Problem]) -> _Sums:
    """The sums of the queue. Adds its problems and those of its descendants to `found`."""
    known: _Sums | None = remembered(queue, "guaranteed", most)
    if known is not None:
        return known
    earlier = len(found)
    own, ceiling = amounts(queue.guaranteed), least(amounts(queue.maximum), most)
    below = [(child, _guaranteed_below(child, ceiling, found)) for child in queue.queues]
    counted = total(sums.counted for _, sums in below)
    whole = total(sums.whole for _, sums in below)
    for limit, key in ((own, "guaranteed"), (ceiling, "max")):
        for name in over(whole, limit):
            accepted = counted.get(name, 0) <= limit[name]
            found.append(_exceeded(queue, below, name, (whole[name], limit[name]), key, accepted=accepted))
    hidden = {name: amount for name, amount in whole.items() if name not in own}
    sums = _Sums(own if any(amount > 0 for amount in own.values()) else counted, plus(own, hidden))
    if len(found) == earlier:
        remember(queue, "guaranteed", sums, most)
    return sums


class Promised(NamedTuple):
    """The guaranteed amounts of a subtree.

    `counted`: the amounts with which the queue counts at its parent.
    `below`: by path of this queue and of its leaf children, the sum that is guaranteed to the children.
    `parents`: the same for its children that have children.
    """

    counted: YuniKornAmounts
    below: Mapping[str, YuniKornAmounts]
    parents: tuple[Promised, ...]


def promised(queue: ConfiguredQueue) -> Promised:
    known: Promised | None = remembered(queue, "promised")
    if known is None:
        known = _promised(queue)
        remember(queue, "promised", known)
    return known


def _promised(queue: ConfiguredQueue) -> Promised:
    own, found, parents = amounts(queue.guaranteed), {}, []
    counted: list[YuniKornAmounts] = []
    for child in queue.queues:
        if child.queues:
            parents.append(promised(child))
            counted.append(parents[-1].counted)
        else:
            found[child.path.lower()] = _NO_CHILDREN
            counted.append(amounts(child.guaranteed))
    found[queue.path.lower()] = below = total(counted)
    hidden = {name: amount for name, amount in below.items() if name not in own}
    return Promised(plus(own, hidden), found, tuple(parents))


def promised_below(promised: Promised, found: dict[str, YuniKornAmounts]) -> None:
    """Add to `found` the sum that is guaranteed to the children of each queue, by the queue's path in lower case."""
    for parent in promised.parents:
        promised_below(parent, found)
    found.update(promised.below)


def _exceeded(
    queue: ConfiguredQueue,
    below: list[tuple[ConfiguredQueue, _Sums]],
    name: str,
    numbers: tuple[int, int],
    key: str,
    *,
    accepted: bool,
) -> Problem:
    wanted, limit = numbers
    parts = [(child, sums.whole[name]) for child, sums in below if sums.whole.get(name)]
    several = listed([f"{child.name}={queue_amount(name, amount)}" for child, amount in parts[:10]], len(parts))
    declared = queue.guaranteed if key == "guaranteed" else queue.maximum
    place = declared[name].written if declared and name in declared else None
    holds = {
        "guaranteed": f"is guaranteed only {queue_amount(name, limit)}",
        "max": f"has at most {queue_amount(name, limit)}",
    }[key]
    note = "; YuniKorn accepts this, since a queue in between has its own guarantee" if accepted else ""
    return Problem(
        place.field if place else queue.at("resources", key),
        place.line if place else queue.line,
        f"the children of {queue.path} are guaranteed {name}={queue_amount(name, wanted)} ({several}), "
        f"but it {holds}{note}",
        f"lower the children's guarantees by {queue_amount(name, wanted - limit)}, or raise {key} of {queue.path} to "
        f"{queue_amount(name, wanted)} or more",
        f"{queue.path} {key} {name}",
        wanted - limit,
        accepted,
        follows=whole(declared, name) if place else (),
    )


def applications_above_queue(root: ConfiguredQueue) -> Iterator[Problem]:
    """Check that each child of a queue with maxapplications has a maxapplications that is not larger."""
    return throughout(root, _applications_within)


def _applications_within(queue: ConfiguredQueue) -> Iterator[Problem]:
    most = queue.max_applications
    for child in queue.queues if most else ():
        if 0 < child.max_applications <= most:
            continue
        has = f"maxapplications {child.max_applications}" if child.max_applications else "no maxapplications"
        field = child.at("maxapplications")
        yield Problem(
            field,
            child.line,
            f"{child.path} has {has}, but {queue.path} allows {most} in all",
            f"set maxapplications of {child.path} to a number from 1 to {most}, or remove that of {queue.path}",
            child.path,
            child.max_applications - most if child.max_applications else 2**64,
            follows=() if child.max_applications else (field,),
        )
