"""Checks the limits of users and groups: each list alone, and each limit against its queue and the ancestors."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.dialects.yunikorn_config.checking import remember, remembered, throughout
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Limit, Partition, Problem, Text, amounts
from policies.dialects.yunikorn_config.quotas import queue_amount, whole, written_text
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, is_positive, least, over
from policies.dialects.yunikorn_config.structure import bad_amounts

WILDCARD = "*"

user_fits = re.compile(r"[_a-zA-Z][a-zA-Z0-9:#/_.@-]*\$?").fullmatch
group_fits = re.compile(r"[_a-zA-Z][a-zA-Z0-9:_.-]*").fullmatch
_FITS = {"user": user_fits, "group": group_fits}


def partition_limits(partition: Partition) -> Iterator[Problem]:
    """Check the limits of each queue, and those of the partition if they differ from those of root."""
    if partition.root is None:
        return
    if partition.limits and partition.limits != partition.root.limits:
        yield from limits_by_themselves(partition.limits, f"partition {partition.called}")
    yield from throughout(partition.root, _own_limits)


def _own_limits(queue: ConfiguredQueue) -> Iterator[Problem]:
    return limits_by_themselves(queue.limits, queue.path)


def limits_by_themselves(limits: tuple[Limit, ...], whose: str) -> Iterator[Problem]:
    """Check one list of limits: names, duplicates, the position of `*`, and limits without effect."""
    seen: dict[str, dict[str, int]] = {"user": {}, "group": {}}
    for limit in limits:
        label = f"limit {limit.name!r} of {whose}"
        if not limit.users and not limit.groups:
            message, fix = f"{label} names no user and no group", "add `users` or `groups`"
            follows = (f"{limit.field}.users", f"{limit.field}.groups")
            yield Problem(limit.field, limit.line, message, fix, f"{whose} {limit.name} nobody", follows=follows)
        for kind, names in (("user", limit.users), ("group", limit.groups)):
            yield from _names(names, kind, whose, seen[kind])
        if WILDCARD in seen["group"] and any(group.text == WILDCARD for group in limit.groups):
            yield from _lonely(limit, whose, seen["group"])
        yield from bad_amounts(limit.max_resources, label, f"{whose} {limit.name}")
        yield from _nothing(limit, label, whose)


def _names(names: tuple[Text, ...], kind: str, whose: str, seen: dict[str, int]) -> Iterator[Problem]:
    for name in names:
        subject = f"{whose} {kind} {name.text}"
        if name.text != WILDCARD and not _FITS[kind](name.text):
            fix = f"write the name of a {kind}, or {WILDCARD}"
            yield Problem(name.field, name.line, f"{name.text!r} is not a {kind} name", fix, f"{subject} name")
        if name.text in seen:
            message = f"{kind} {name.text} has two limits in {whose}, the first in line {seen[name.text]}"
            yield Problem(name.field, name.line, message, "keep one of the two", f"{subject} twice")
        elif WILDCARD in seen:
            message = f"{kind} {name.text} comes after {WILDCARD} of line {seen[WILDCARD]} in the limits of {whose}"
            yield Problem(name.field, name.line, message, f"put {WILDCARD} last", f"{subject} after")
        seen.setdefault(name.text, name.line)


def _lonely(limit: Limit, whose: str, seen: Mapping[str, int]) -> Iterator[Problem]:
    """Check that the group `*` is not the only group.

    It limits all unnamed groups together, so without named groups it is the same as a limit of the queue.
    """
    if len(seen) == 1:
        place = next(group for group in limit.groups if group.text == WILDCARD)
        message = f"the limits of {whose} name the group {WILDCARD}, but no other group before it"
        yield Problem(place.field, place.line, message, "limit the queue itself instead", f"{whose} lonely")


def _nothing(limit: Limit, label: str, whose: str) -> Iterator[Problem]:
    readable = amounts(limit.max_resources)
    if len(readable) < len(limit.max_resources):
        return
    subject = f"{whose} {limit.name} nothing"
    if readable and not is_positive(readable):
        message = f"all maxresources of {label} are 0"
        yield Problem(f"{limit.field}.maxresources", limit.line, message, "write an amount above 0", subject)
    elif not readable and not limit.max_applications:
        message = f"{label} limits nothing"
        follows = (f"{limit.field}.maxapplications", f"{limit.field}.maxresources")
        yield Problem(limit.field, limit.line, message, "add maxapplications or maxresources", subject, follows=follows)


# -- comparisons with the queue and its ancestors ----------------------------------------------------------------------


def limits_exceeding_queue(queue: ConfiguredQueue) -> Iterator[Problem]:
    """Check each limit against the max of its queue.

    Root has no configured max, so only its applications are compared.
    """
    for limit in queue.limits:
        yield from limit_exceeding_queue(limit, queue)


def limit_exceeding_queue(limit: Limit, queue: ConfiguredQueue) -> Iterator[Problem]:
    label = f"limit {limit.name!r} of {queue.path}"
    who = ",".join(name.text for name in (*limit.users, *limit.groups))
    most = queue.max_applications
    if most and limit.max_applications > most:
        yield Problem(
            f"{limit.field}.maxapplications",
            limit.line,
            f"{label} allows {limit.max_applications} applications, but the queue allows {most}",
            f"lower it to {most} or less",
            f"{queue.path} {who} applications",
            limit.max_applications - most,
        )
    if queue.name == "root":
        return
    wanted, held = amounts(limit.max_resources), amounts(queue.maximum)
    for name in over(wanted, held):
        place, limit_text = limit.max_resources[name].written, written_text(queue.maximum, name)
        yield Problem(
            place.field,
            place.line,
            f"{label} allows {name}={place.text}, but the max of the queue is {limit_text}",
            f"lower it to {limit_text} or less",
            f"{queue.path} {who} {name}",
            wanted[name] - held[name],
            follows=whole(queue.maximum, name),
        )


@dataclass(frozen=True, slots=True)
class _InheritedLimit:
    """The limit that a user or group inherits: the least of the ancestors that name it. `queue`: the nearest one."""

    amounts: YuniKornAmounts
    applications: int
    queue: ConfiguredQueue


def limits_exceeding_ancestor(root: ConfiguredQueue) -> Iterator[Problem]:
    """Check the limit of each user and group against the one inherited from ancestors, or against their `*`."""
    yield from _check_subtree(root, ChainMap())


def _check_subtree(queue: ConfiguredQueue, inherited: ChainMap[tuple[str, str], _InheritedLimit]) -> Iterator[Problem]:
    if not inherited and not _has_limits(queue):
        return
    own: dict[tuple[str, str], _InheritedLimit] = {}
    for limit in queue.limits:
        wanted = amounts(limit.max_resources)
        for kind, names in (("user", limit.users), ("group", limit.groups)):
            for name in names:
                named = inherited.get((kind, name.text))
                limit_of_ancestor = named or inherited.get((kind, WILDCARD))
                if limit_of_ancestor is not None:
                    yield from _exceeds_ancestor(limit, wanted, kind, name, queue, limit_of_ancestor)
                # YuniKorn compares further limits of the name with this one, no longer with `*`
                passed_on = least(wanted, named.amounts) if named else wanted
                own[kind, name.text] = _InheritedLimit(passed_on, limit.max_applications, queue)
    down = ChainMap(own, *inherited.maps)  # without a copy of the ancestors' limits, which may be many
    for child in queue.queues:
        yield from _check_subtree(child, down)


def _has_limits(queue: ConfiguredQueue) -> bool:
    known: bool | None = remembered(queue, "limits")
    if known is None:
        known = bool(queue.limits) or any(map(_has_limits, queue.queues))
        remember(queue, "limits", known)
    return known


def _exceeds_ancestor(
    limit: Limit, wanted: YuniKornAmounts, kind: str, name: Text, queue: ConfiguredQueue, ancestor: _InheritedLimit
) -> Iterator[Problem]:
    who = f"{kind} {name.text} in {queue.path}"
    for resource in over(wanted, ancestor.amounts):
        place, most = limit.max_resources[resource].written, queue_amount(resource, ancestor.amounts[resource])
        yield Problem(
            place.field,
            place.line,
            f"{who} may have {resource}={place.text}, but at most {most} in the ancestor {ancestor.queue.path}",
            f"lower it to {most} or less",
            f"{who} {resource}",
            wanted[resource] - ancestor.amounts[resource],
        )
    most_applications = ancestor.applications
    if most_applications and not 0 < limit.max_applications <= most_applications:
        has = f"{limit.max_applications} applications" if limit.max_applications else "any number of applications"
        yield Problem(
            f"{limit.field}.maxapplications",
            limit.line,
            f"{who} may have {has}, but at most {most_applications} in the ancestor {ancestor.queue.path}",
            f"set maxapplications to a number from 1 to {most_applications}",
            f"{who} applications",
            limit.max_applications - most_applications if limit.max_applications else 2**64,
        )
