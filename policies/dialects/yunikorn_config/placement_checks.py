"""Finds placement rules that YuniKorn refuses (checks R1 to R6), and rules that it accepts but cannot use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from policies.dialects.yunikorn_config import patterns
from policies.dialects.yunikorn_config.limits import group_fits, user_fits
from policies.dialects.yunikorn_config.model import (
    ROOT,
    ConfiguredQueue,
    Filter,
    Partition,
    PlacementRule,
    Problem,
    Text,
)
from policies.dialects.yunikorn_config.structure import NAME_RULE, name_fits
from policies.model.suggestion import choice

FIXED, TAG, USER, PROVIDED = "fixed", "tag", "user", "provided"
KNOWN = (FIXED, PROVIDED, TAG, USER)
DENY = "deny"
"""The only spelling with which a filter denies. The validation ignores case, but the filter itself does not."""

_RULE_NAME = re.compile(r"[_a-zA-Z][a-zA-Z0-9_]*").fullmatch


def placement_rules(partition: Partition) -> Iterator[Problem]:
    """The faults of R1 to R6, and those with an effect only when the rules are loaded or an application is placed."""
    for number, top in enumerate(partition.rules):
        broken = False
        for rule in top.chain():
            for problem in rule_by_itself(rule):
                broken = True
                yield problem
        yield from _crashing(top)
        if partition.root is not None and not broken:
            yield from fixed_path(top, number, partition.root)
    yield from unusable_rules(partition)


def rule_by_itself(rule: PlacementRule) -> Iterator[Problem]:
    """The faults of R1 to R3 of one rule, without its parent rule."""
    if not _RULE_NAME(rule.name.text):
        message = f"{rule.name.text!r} is not a placement rule"
        fix, meant = choice(rule.name.text, KNOWN)
        yield Problem(f"{rule.field}.name", rule.line, message, fix, write=meant)
    yield from rule_filter(rule.filter)


def rule_filter(condition: Filter) -> Iterator[Problem]:
    """The faults of R2 and R3. In a list of several entries, YuniKorn ignores those that are not names."""
    if condition.type.text.lower() not in ("", "allow", DENY):
        message = f"{condition.type.text!r} is not a filter type"
        fix, meant = choice(condition.type.text, ("allow", DENY))
        yield Problem(condition.type.field, condition.type.line, message, fix, write=meant)
    for kind, names, fits in (("user", condition.users, user_fits), ("group", condition.groups, group_fits)):
        if len(names) != 1 or fits(names[0].text):
            continue
        (name,) = names
        if not patterns.compiles(name.text) or not patterns.is_special(name.text):
            message = f"{name.text!r} is neither a {kind} name nor a regular expression"
            yield Problem(name.field, name.line, message, "write a name, or a pattern that Go compiles")


def unusable_rules(partition: Partition) -> Iterator[Problem]:
    for top in partition.rules:
        for rule in top.chain():
            yield from _unusable(rule)


def _unusable(rule: PlacementRule) -> Iterator[Problem]:
    """Faults that make the loader refuse all rules. The old rules remain until a restart; then there are none."""
    name, value = rule.kind, rule.value.text
    outcome = "YuniKorn's validation accepts it, but the load fails, and after a restart no application is placed"
    if _RULE_NAME(rule.name.text) and name not in KNOWN:
        message = f"the placement rule {rule.name.text!r} does not exist; {outcome}"
        fix, meant = choice(rule.name.text, KNOWN)
        yield Problem(f"{rule.field}.name", rule.line, message, fix, accepted=True, write=meant)
    if name in (FIXED, TAG) and not value:
        message = f"the {name} rule has no value; {outcome}"
        fix = f"name the {'queue' if name == FIXED else 'tag'} in `value`"
        yield Problem(f"{rule.field}.value", rule.line, message, fix, accepted=True)
    if name == FIXED and value:
        yield from _fixed_value(rule, value, outcome)


def _crashing(top: PlacementRule) -> Iterator[Problem]:
    """A listed rule with a value such as `rootless`, which YuniKorn takes for a full path, without a root above it."""
    value, places = top.value.text.lower(), top.kind == FIXED and top.create and top.parent is None
    if places and value.startswith(ROOT) and value.partition(".")[0] != ROOT:
        message = f"YuniKorn takes {value!r} for a full path, and crashes when the rule places an application"
        yield Problem(f"{top.field}.value", top.value.line, message, f"write {ROOT}.{value}", accepted=True)


def _fixed_value(rule: PlacementRule, value: str, outcome: str) -> Iterator[Problem]:
    at = f"{rule.field}.value"
    qualified = value.lower().startswith(ROOT)
    if qualified and rule.parent is not None:
        message = f"the fixed rule has the full path {value} and a parent rule; {outcome}"
        yield Problem(at, rule.value.line, message, "remove the parent, or the path above the name", accepted=True)
    wrong = [step for step in value.split(".") if not name_fits(step)]
    if wrong:
        message = f"{value!r} is not a path of queues: {wrong[0]!r} is not a queue name; {outcome}"
        yield Problem(at, rule.value.line, message, f"use {NAME_RULE}", subject="name", accepted=True)


# -- paths that do not depend on the application -----------------------------------------------------------------------


def fixed_path(top: PlacementRule, number: int, root: ConfiguredQueue) -> Iterator[Problem]:
    """The faults of R4 to R6 of a chain whose topmost rule has exactly the name `fixed`."""
    steps: list[str] = []
    dynamic = False
    for rule in top.chain():
        if rule.name.text != FIXED:
            dynamic = True
            break
        value = rule.value.text
        if not value.startswith(ROOT):
            steps += [*([] if steps else [ROOT]), *value.split(".")]
        elif steps:
            message = f"the fixed rule names the full path {value} below another fixed rule"
            yield Problem(f"{rule.field}.value", rule.line, message, "write one name here, without root")
            return
        else:
            steps = value.split(".")
    if steps:
        path = [step.lower() for step in steps]
        yield from _walked(top, f"placement rule {number + 1} leads to {'.'.join(path)}", path, dynamic, root)


def _walked(
    top: PlacementRule, label: str, path: Sequence[str], dynamic: bool, root: ConfiguredQueue
) -> Iterator[Problem]:
    """Follow the path through the queues. Names have to match exactly."""
    at, line = f"{top.field}.value" if top.value.line else top.field, top.line
    level: tuple[ConfiguredQueue, ...] = (root,)
    last: ConfiguredQueue | None = None
    for step in path:
        if last is not None and not level and not last.parent:
            message = f"{label}, but {last.path} is a leaf"
            yield Problem(at, line, message, f"name {last.path}, or give it `parent: true`")
            return
        last_found = next((queue for queue in level if queue.name == step), None)
        if last_found is None:
            if not top.create:
                yield Problem(at, line, f"{label}, which does not exist, and create is false", _missing(path, level))
            return
        last, level = last_found, last_found.queues
    if last is None:
        return
    if dynamic and not last.parent:
        note = ": it has children, but YuniKorn only looks at the flag" if last.queues else ", but it is a leaf"
        yield Problem(at, line, f"{label} and continues below it{note}", f"give {last.path} `parent: true`")
    elif not dynamic and last.parent:
        yield Problem(at, line, f"{label}, which is a parent", "name one of the leaves below it")
    elif not dynamic and last.queues:
        message = f"{label}, which has children, so the rule never matches"
        yield Problem(at, line, message, "name one of the leaves below it", accepted=True)


def _missing(path: Sequence[str], level: Sequence[ConfiguredQueue]) -> str:
    written = [queue.path for queue in level if queue.name.lower() in path]
    if written:
        return f"{written[0]} has capital letters, which the rule cannot match: write the queue in lower case"
    return "add the queue, or set create to true"


def passed_over(condition: Filter) -> Iterator[Text]:
    """The entries that YuniKorn ignores: in a list of several, those that are not names."""
    for names, fits in ((condition.users, user_fits), (condition.groups, group_fits)):
        if len(names) > 1:
            yield from (name for name in names if not fits(name.text))
