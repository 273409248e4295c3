"""Limits on users and groups at run time, and quotas of Namespaces that hold once: who counts where, what is short.

A user is limited alone, by the entry with its name or else by `*`. An application counts for one group: the first group
that a queue names and that it has, from the leaf up; or for `*`, which is all others together.
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
"""Queue, `user` or `group`, and the name that amounts count for; for a Namespace the second is empty."""


@dataclass(slots=True)
class _Use:
    allocated: YuniKornAmounts = field(default_factory=dict)
    running: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit that an application has to keep in a queue of its path, or in all queues of its Namespace together."""

    key: _Key
    maximum: YuniKornAmounts
    applications: int

    @property
    def of_namespace(self) -> bool:
        return not self.key[1]

    @property
    def whose(self) -> str:
        """The user or group; empty for a Namespace, which is named in place of the queue."""
        return "" if self.of_namespace else f"{self.key[1]} {self.key[2]}"


class UserLimits:
    """What users and groups use in queues that limit them."""

    def __init__(self) -> None:
        self._use: dict[_Key, _Use] = {}
        self._bounds: dict[str, tuple[Bound, ...]] = {}

    def add(self, application: Application) -> None:
        """Count the application from now on, with what it already holds."""
        self._bounds[application.name] = found = tuple(_bounds(application))
        for bound in found:
            use = self._use.setdefault(bound.key, _Use())
            use.allocated = plus(use.allocated, application.allocated)

    def drop(self, application: Application) -> None:
        """The application counts no longer; it holds nothing and does not run."""
        self._bounds.pop(application.name, None)

    def bounds(self, application: Application) -> tuple[Bound, ...]:
        return self._bounds.get(application.name, ())

    def hold(self, application: Application, asked: YuniKornAmounts, sign: int) -> None:
        for bound in self.bounds(application):
            use = self._use[bound.key]
            use.allocated = plus(use.allocated, asked) if sign > 0 else minus(use.allocated, asked)

    def run(self, application: Application, change: int) -> None:
        for bound in self.bounds(application):
            self._use[bound.key].running += change

    def lacks(self, application: Application, asked: YuniKornAmounts) -> Iterator[QueueLack]:
        for bound in self.bounds(application):
            used = self._use[bound.key].allocated
            # A dynamic queue has the quota of its Namespace, too: it says what is short as long as all is in it.
            said = {lack.resource for lack in application.leaf.lacks(asked)} if bound.of_namespace else set()
            for name in sorted(asked.keys() & bound.maximum.keys() - said):
                limit, uses = bound.maximum[name], used.get(name, 0)
                if asked[name] + uses > limit:
                    yield QueueLack(bound.key[0], name, asked[name], uses, limit, bound.whose)

    def full(self, application: Application) -> Bound | None:
        """The limit that stops further applications of this user or group."""
        for bound in self.bounds(application):
            if 0 < bound.applications <= self._use[bound.key].running:
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
    return named.get(name) or named.get(WILDCARD)


def _group(application: Application, path: list[YuniKornQueue]) -> str:
    """The group that the application counts for; empty where no queue limits one of its groups."""
    anyone = False
    for queue in path:
        named = [name for limit in queue.settings.limits for name in _names(limit, "group")]
        found = next((name for name in named if name in application.groups and name != WILDCARD), "")
        if found:
            return found
        anyone = anyone or WILDCARD in named
    return WILDCARD if anyone else ""


def _names(limit: Limit, kind: str) -> list[str]:
    return [name.text for name in (limit.users if kind == "user" else limit.groups)]
