"""Gangs of YuniKorn: the task groups that a Pod defines, and the placeholders that reserve room for them.

Source: YuniKorn after 1.9, k8shim `pkg/cache/metadata.go`, `pkg/common/utils/utils.go`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects import yunikorn
from policies.dialects.core import YUNIKORN
from policies.dialects.go_values import TRUE, read_integer
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, bounded, largest, times, total
from policies.dialects.yunikorn_pods import PODS
from policies.model.quantity import INT64_MAX

TASK_GROUP = YUNIKORN + "task-group-name"
TASK_GROUPS = YUNIKORN + "task-groups"
POLICY = YUNIKORN + "schedulingPolicyParameters"
PLACEHOLDER = "internal." + YUNIKORN + "placeholder"

DEFAULT_TIMEOUT = 900
"""The timeout of placeholders in seconds, if the Pod sets none."""

_INT32_MAX = 2**31 - 1
_STYLES = ("gangSchedulingStyle=Hard", "gangSchedulingStyle=Soft")
_TIMEOUT = "placeholderTimeoutInSeconds="


class BadTaskGroups(ValueError):
    """YuniKorn cannot read the task groups. The message says why."""


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """A task group.

    `members`: minMember, the least number of Pods.
    `each`: the request of each Pod: minResource, and one of the resource `pods`.
    """

    name: str
    members: int
    each: YuniKornAmounts


def task_group(annotations: Mapping[str, str]) -> str:
    """The group that the Pod is a member of; empty for none."""
    return annotations.get(TASK_GROUP, "")


def is_placeholder(annotations: Mapping[str, str]) -> bool:
    """Whether the Pod is a placeholder, which reserves room for a member of its group."""
    return annotations.get(PLACEHOLDER) in TRUE


def task_groups(annotations: Mapping[str, str]) -> tuple[TaskGroup, ...]:
    """The task groups that the Pod defines; empty if it defines none. Raises BadTaskGroups."""
    text = annotations.get(TASK_GROUPS)
    if not text:
        return ()
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadTaskGroups(f"{TASK_GROUPS} is not JSON: {error}") from error
    if not isinstance(values, list | None):
        raise BadTaskGroups(f"{TASK_GROUPS} is not a list")
    groups = tuple(map(_group, values or ()))
    if any(amount > INT64_MAX for amount in _sums(groups).values()):
        raise BadTaskGroups(f"{TASK_GROUPS} requests more than 64 bits hold")
    return groups


def placeholder_timeout(policy: str) -> int:
    """The timeout of placeholders in seconds, from `schedulingPolicyParameters`.

    The last value counts. As in YuniKorn, a value that is not a number above 0 means the default.
    """
    named = [each for each in policy.split(" ") if each.startswith(_TIMEOUT)]
    return (_seconds(named[-1]) if named else 0) or DEFAULT_TIMEOUT


def ignored_parameters(policy: str) -> list[str]:
    """The parts of `schedulingPolicyParameters` that YuniKorn ignores."""
    return [each for each in policy.split(" ") if each and not _seconds(each) and each not in _STYLES]


def _seconds(parameter: str) -> int:
    """The timeout that a parameter sets; 0 if it is another parameter, or if YuniKorn uses the default instead."""
    seconds = read_integer(parameter.removeprefix(_TIMEOUT), 64) if parameter.startswith(_TIMEOUT) else None
    return seconds if seconds is not None and 0 < seconds <= INT64_MAX // 10**9 else 0


def together(groups: tuple[TaskGroup, ...]) -> YuniKornAmounts:
    """The sum of the requests of all members of all groups."""
    return total(times(group.each, group.members) for group in groups)


def by_name(groups: tuple[TaskGroup, ...]) -> tuple[TaskGroup, ...]:
    """The groups, with one instead of several of the same name: with all their members, each as large as the largest.

    YuniKorn accepts several, and a Pod takes any placeholder of its group's name.
    """
    found: dict[str, TaskGroup] = {}
    for group in groups:
        same = found.setdefault(group.name, group)
        if same is not group:
            found[group.name] = TaskGroup(group.name, same.members + group.members, largest(same.each, group.each))
    return tuple(found.values())


def _sums(groups: tuple[TaskGroup, ...]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for group in groups:
        for name, amount in group.each.items():
            sums[name] = sums.get(name, 0) + amount * group.members
    return sums


def _group(value: Any) -> TaskGroup:
    fields = {key.casefold(): field for key, field in value.items()} if isinstance(value, dict) else {}
    name, members, requests = fields.get("name"), fields.get("minmember"), fields.get("minresource")
    if not isinstance(name, str) or not name:
        raise BadTaskGroups(f"a group of {TASK_GROUPS} has no name")
    if isinstance(members, bool) or not isinstance(members, int) or not 0 < members <= _INT32_MAX:
        raise BadTaskGroups(f"minMember of the task group {name} is not a whole number above 0")
    if not isinstance(requests, dict):
        raise BadTaskGroups(f"the task group {name} has no minResource")
    return TaskGroup(name, members, {PODS: 1, **_each(name, requests)})


def _each(name: str, requests: Mapping[str, object]) -> YuniKornAmounts:
    texts = {key: str(value) for key, value in requests.items() if isinstance(value, str | int | float)}
    amounts = yunikorn.resource(texts)
    if amounts is None or len(texts) != len(requests):
        raise BadTaskGroups(f"minResource of the task group {name} is not a map of quantities")
    if {"cpu", yunikorn.VCORE} <= requests.keys() or PODS in requests:
        raise BadTaskGroups(f"minResource of the task group {name} names pods, or vcore beside cpu")
    if any(amount < 0 or bounded(amount) != amount for amount in amounts.values()):
        raise BadTaskGroups(f"minResource of the task group {name} has an amount below 0")
    return amounts
