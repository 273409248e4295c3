"""Computes the queue in which YuniKorn's placement rules put an application, or the reason of a rejection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from policies.dialects.yunikorn_config import acl, patterns
from policies.dialects.yunikorn_config.limits import group_fits, user_fits
from policies.dialects.yunikorn_config.model import RECOVERY, ROOT, Filter, Partition, PlacementRule, Text
from policies.dialects.yunikorn_config.placement_checks import DENY, FIXED, PROVIDED, TAG, USER
from policies.dialects.yunikorn_config.structure import NAME_RULE, name_fits

RECOVERY_QUEUE = f"{ROOT}.{RECOVERY}"
DEFAULT_QUEUE = f"{ROOT}.default"
FORCED = "application.create.force"
NO_MATCH = "no placement rule matched"
MOST_LEVELS = 100
"""The deepest queue that is evaluated. YuniKorn has no limit, and the annotation of a Pod may name 100 000 levels."""


class Rejected(ValueError):
    """A rule failed, so the application is rejected at once. The message says why."""


class Undecided(ValueError):
    """The result of a rule cannot be computed here. The message says why."""


@dataclass(frozen=True, slots=True)
class ReportedApplication:
    """An application as the shim reports it.

    `queue`: the requested queue; empty if the Pod names none.
    `user`, `groups`: the user who submitted it, and the user's groups.
    `tags`: the tags that the shim adds, by name.
    """

    queue: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    def tag(self, name: str) -> str:
        """The value of the tag; empty if it is absent. The case of letters in `name` does not matter."""
        return next((text for key, text in self.tags.items() if key.lower() == name.lower()), "")

    @property
    def forced(self) -> bool:
        """Whether its Pods run already, which happens after a restart of the scheduler."""
        return self.tag(FORCED) == "true"


@dataclass(frozen=True, slots=True)
class QueuePlacement:
    """The result of the placement rules for an application.

    `queue`: the path of the queue; empty if the application is rejected.
    `reason`: the reason of a rejection.
    `rule`: the index of the rule that decided; None for the fallback.
    `passed`: for each earlier rule, why it did not match.
    `created`: whether the queue does not exist yet and is created.
    `decided`: False if the result is not known.
    """

    queue: str = ""
    reason: str = ""
    rule: int | None = None
    passed: tuple[str, ...] = ()
    created: bool = False
    decided: bool = True


class ExistingQueues(Protocol):
    """The queues that exist, with dynamic ones if these are known. Paths are in lower case."""

    def exists(self, path: str) -> bool: ...

    def is_leaf(self, path: str) -> bool: ...

    def may_submit(self, path: str, application: ReportedApplication) -> bool:
        """Whether the ACL of this queue or of an ancestor allows the application."""


@dataclass(frozen=True, slots=True)
class ConfiguredPartition:
    """The queues that a partition declares."""

    partition: Partition

    def exists(self, path: str) -> bool:
        return self.partition.queue(path) is not None

    def is_leaf(self, path: str) -> bool:
        queue = self.partition.queue(path)
        return queue is not None and queue.is_leaf

    def may_submit(self, path: str, application: ReportedApplication) -> bool:
        steps = path.split(".")
        for length in range(1, len(steps) + 1):
            queue = self.partition.queue(".".join(steps[:length]))
            if queue is None:
                return False
            if any(_allows(text, application) for text in (queue.submit_acl, queue.admin_acl)):
                return True
        return False


@dataclass(frozen=True, slots=True)
class OpenPartition(ConfiguredPartition):
    """The queues that a partition declares, without their ACLs, for checks without a user."""

    def may_submit(self, path: str, application: ReportedApplication) -> bool:  # noqa: ARG002, any queue, anybody
        return True


def _allows(text: Text, application: ReportedApplication) -> bool:
    try:
        return acl.load(text.text).allows(application.user, application.groups)
    except acl.BadAcl:
        return False


def placed(rules: Sequence[PlacementRule], queues: ExistingQueues, application: ReportedApplication) -> QueuePlacement:
    """Apply the rules: the first one with a usable queue decides. Without one, `root.default` is used if it exists."""
    passed: list[str] = []
    for number, rule in enumerate(rules or (PlacementRule("", 0, name=Text(PROVIDED)),)):
        label = f"rule {number + 1} ({rule.name.text})"
        try:
            path = candidate(rule, queues, application)
        except Rejected as error:
            return QueuePlacement(reason=f"{label}: {error}", rule=number, passed=tuple(passed))
        except Undecided as error:
            return QueuePlacement(reason=f"{label}: {error}", rule=number, passed=tuple(passed), decided=False)
        lack = _lack(path, queues, application) if path else "does not match"
        if lack is None:
            return _into(path, queues, number, passed)
        passed.append(f"{label} {lack}")
    if application.forced:
        return _into(RECOVERY_QUEUE, queues, None, passed)
    if queues.exists(DEFAULT_QUEUE) and _lack(DEFAULT_QUEUE, queues, application) is None:
        return _into(DEFAULT_QUEUE, queues, None, passed)
    return QueuePlacement(reason=NO_MATCH, passed=tuple(passed))


def _into(path: str, queues: ExistingQueues, rule: int | None, passed: Sequence[str]) -> QueuePlacement:
    """The placement in this queue; a rejection if it would have to be created below a leaf."""
    above = nearest(path, queues)
    if above != path and queues.is_leaf(above):
        return QueuePlacement(reason=f"{path} cannot be created: {above} is a leaf", rule=rule, passed=tuple(passed))
    return QueuePlacement(path, rule=rule, passed=tuple(passed), created=above != path)


def _lack(path: str, queues: ExistingQueues, application: ReportedApplication) -> str | None:
    """Why the queue that a rule returned cannot be used; None if it can."""
    if path.lower() == RECOVERY_QUEUE:
        return f"gives {path}, which is for recovery only"
    above = nearest(path, queues)
    if above == path and not queues.is_leaf(path):
        return f"gives {path}, which is not a leaf"
    if not queues.may_submit(above, application):
        return f"gives {path}, where {application.user or 'nobody'} may not submit"
    return None


def nearest(path: str, queues: ExistingQueues) -> str:
    """The path of the queue if it exists, else of its nearest existing ancestor."""
    while not queues.exists(path) and "." in path:
        path = path.rpartition(".")[0]
    return path


# -- one rule ----------------------------------------------------------------------------------------------------------


def candidate(rule: PlacementRule, queues: ExistingQueues, application: ReportedApplication) -> str:
    """The path that the rule returns; empty if it does not match. Raises Rejected and Undecided."""
    kind = rule.kind
    value = {
        PROVIDED: application.queue,
        USER: application.user,
        TAG: application.tag(rule.value.text),
        FIXED: rule.value.text.lower(),
    }.get(kind, "")
    if not value or not passes(rule.filter, application):
        return ""
    path = _path(rule, kind, value, queues, application)
    return path if path and (rule.create or queues.exists(path)) else ""


def _path(rule: PlacementRule, kind: str, value: str, queues: ExistingQueues, application: ReportedApplication) -> str:
    if (kind == FIXED and value.startswith(ROOT)) or (kind in (PROVIDED, TAG) and value.startswith(f"{ROOT}.")):
        if value.count(".") >= MOST_LEVELS:
            raise Undecided(f"the queue has more than {MOST_LEVELS} levels, which is too deep to be evaluated here")
        for step in value.split("."):
            _check_name(step)
        return value
    steps = value.split(".") if kind == FIXED else [value.replace(".", "_dot_")]
    for step in steps:
        _check_name(step)
    above = ROOT
    if rule.parent is not None:
        above = candidate(rule.parent, queues, application)
        if not above:
            return ""
        above = above if above.startswith(f"{ROOT}.") else f"{ROOT}.{above}"
        if queues.is_leaf(above):
            raise Rejected(f"its parent rule gives {above}, which is a leaf")
    return ".".join((above, *steps))


def _check_name(name: str) -> None:
    if not name_fits(name):
        raise Rejected(f"{name!r} is not a queue name: {NAME_RULE}")


def passes(condition: Filter, application: ReportedApplication) -> bool:
    """Whether the filter allows the rule for this user. Raises Undecided."""
    allow = condition.type.text != DENY
    if not condition.users and not condition.groups:
        return allow
    named = _among(condition.users, application.user, user_fits)
    return (
        allow
        if named or any(_among(condition.groups, group, group_fits) for group in application.groups)
        else not allow
    )


def _among(entries: Sequence[Text], name: str, fits: Callable[[str], object]) -> bool:
    if len(entries) == 1 and patterns.is_special(entries[0].text):
        found = patterns.found(entries[0].text, name)
        if found is None:
            raise Undecided(f"the pattern {entries[0].text!r} is too complex to be evaluated here")
        return found
    return any(entry.text == name for entry in entries) and bool(fits(name))
