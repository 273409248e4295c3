"""Usage of users, groups and Namespaces against their limits.

Each user has a limit of its own: the entry with its name, or else `*`. An application counts for one group,
or for none if its user has no groups. From the leaf up, the first queue decides that names one of its groups, or has
`*`, the group of all others. The quota of a Namespace limits all its dynamic queues together.
Source: YuniKorn core, `pkg/scheduler/ugm`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from policies.dialects.yunikorn_config.limits import WILDCARD
from policies.dialects.yunikorn_config.model import Limit, amounts
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, minus, plus
from scheduling.yunikorn.application import Application
from scheduling.yunikorn.queue import QueueLack, YuniKornQueue

_Key = tuple[str, str, str]
"""The queue, `user` or `group`, and the name for which amounts count. For a Namespace, the second is empty."""


@dataclass(slots=True)
class _Use:
    """The usage under one limit.

    applications: the number of applications.
    running: the number of those that run.
    """

    allocated: YuniKornAmounts = field(default_factory=dict)
    applications: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of an application in a queue of its path, or in all dynamic queues of its Namespace together."""

    key: _Key
    maximum: YuniKornAmounts
    applications: int

    @property
    def of_namespace(self) -> bool:
        return not self.key[1]

    @property
    def whose(self) -> str:
        """The user or group; empty for a Namespace, whose name takes the place of the queue in messages."""
        return "" if self.of_namespace else f"{self.key[1]} {self.key[2]}"


class UserLimits:
    """The usage of users, groups and Namespaces with a limit. `usage`: by limit, of those with applications."""

    def __init__(self) -> None:
        self.usage: dict[_Key, _Use] = {}
        self._bounds: dict[str, tuple[Bound, ...]] = {}  # the limits of each application

    def add(self, application: Application) -> None:
        """Count the application from now on, with its current allocations."""
        self._bounds[application.name] = found = tuple(_bounds(application))
        for bound in found:
            use = self.usage.setdefault(bound.key, _Use())
            use.applications += 1
            use.allocated = plus(use.allocated, application.allocated)

    def drop(self, application: Application) -> None:
        """Stop counting the application, which has no allocations and does not run."""
        for bound in self._bounds.pop(application.name, ()):
            use = self.usage[bound.key]
            use.applications -= 1
            if not use.applications:
                del self.usage[bound.key]

    def bounds(self, application: Application) -> tuple[Bound, ...]:
        return self._bounds.get(application.name, ())

    def hold(self, application: Application, asked: YuniKornAmounts, sign: int) -> None:
        for bound in self.bounds(application):
            use = self.usage[bound.key]
            use.allocated = plus(use.allocated, asked) if sign > 0 else minus(use.allocated, asked)

    def run(self, application: Application, change: int) -> None:
        for bound in self.bounds(application):
            self.usage[bound.key].running += change

    def lacks(self, application: Application, asked: YuniKornAmounts) -> Iterator[QueueLack]:
        for bound in self.bounds(application):
            used = self.usage[bound.key].allocated
            # If all its usage is in this dynamic queue, the queue has the same quota and already reports the shortage.
            said = {lack.resource for lack in application.leaf.lacks(asked)} if bound.of_namespace else set()
            for name in sorted(asked.keys() & bound.maximum.keys() - said):
                limit, uses = bound.maximum[name], used.get(name, 0)
                if asked[name] + uses > limit:
                    yield QueueLack(bound.key[0], name, asked[name], uses, limit, bound.whose)

    def full(self, application: Application) -> Bound | None:
        """The limit that stops further applications; None if no limit does."""
        for bound in self.bounds(application):
            if 0 < bound.applications <= self.usage[bound.key].running:
                return bound
        return None


def _bounds(application: Application) -> Iterator[Bound]:
    path = list(application.leaf.up())
    group = _group(application, path)
    if (quota := application.quota) is not None:
        yield Bound((f"Namespace {quota.namespace}", "", quota.namespace), quota.maximum, quota.applications)
    for queue in path:
        for kind, name in (("user", application.user), ("group", group)):
            limit = _limit(queue, kind, name) if name else None
            if limit is not None:
                yield Bound((queue.path, kind, name), amounts(limit.max_resources), limit.max_applications)


def _limit(queue: YuniKornQueue, kind: str, name: str) -> Limit | None:
    named = {name: limit for limit in reversed(queue.settings.limits) for name in _names(limit, kind)}
    return named.get(name) or (named.get(WILDCARD) if kind == "user" else None)


def _group(application: Application, path: list[YuniKornQueue]) -> str:
    """The group for which the application counts; empty if it has no groups, or no queue limits one of them."""
    for queue in path if application.groups else ():
        named = [name for limit in queue.settings.limits for name in _names(limit, "group")]
        found = next((name for name in named if name in application.groups and name != WILDCARD), "")
        if found or WILDCARD in named:
            return found or WILDCARD
    return ""


def _names(limit: Limit, kind: str) -> list[str]:
    return [name.text for name in (limit.users if kind == "user" else limit.groups)]
