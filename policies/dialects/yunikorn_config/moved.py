"""Moves parts of a configuration to other lines after an edit. Parts before the edit remain the same objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from policies.dialects.yunikorn_config.model import (
    ConfiguredAmount,
    ConfiguredQueue,
    Filter,
    Limit,
    Partition,
    PlacementRule,
    Resources,
    Template,
    Text,
)


class Move(NamedTuple):
    """Lines after the line `after` are now `by` lines further down."""

    after: int
    by: int

    def line(self, line: int) -> int:
        return line + self.by if line > self.after else line


def partition(given: Partition, move: Move) -> Partition:
    """The partition with moved lines, except for those of its queues."""
    return replace(
        given,
        name=_text(given.name, move),
        line=move.line(given.line),
        rules=tuple(_rule(each, move) for each in given.rules),
        limits=_limits(given.limits, move),
        sort_type=_text(given.sort_type, move),
        weights={name: (_text(written, move), weight) for name, (written, weight) in given.weights.items()},
        resolver=_text(given.resolver, move),
    )


def tree(given: ConfiguredQueue, move: Move) -> ConfiguredQueue:
    """The queue and its descendants with moved lines."""
    made = queue(given, move, tuple(tree(child, move) for child in given.queues))
    if given.known:
        made.known.update(given.known)
    return made


def queue(given: ConfiguredQueue, move: Move, queues: tuple[ConfiguredQueue, ...]) -> ConfiguredQueue:
    """The queue with moved lines, and with these children."""
    return ConfiguredQueue(
        given.name,
        given.path,
        given.field,
        move.line(given.line),
        given.parent,
        _resources(given.guaranteed, move),
        _resources(given.maximum, move),
        given.max_applications,
        _texts(given.properties, move) if given.properties else given.properties,
        _text(given.admin_acl, move) if given.admin_acl.line else given.admin_acl,
        _text(given.submit_acl, move) if given.submit_acl.line else given.submit_acl,
        _template(given.template, move) if given.template else None,
        queues,
        _limits(given.limits, move) if given.limits else (),
    )


def _text(given: Text, move: Move) -> Text:
    return Text(given.text, given.field, given.line + move.by) if given.line > move.after else given


def _texts(given: Mapping[str, Text], move: Move) -> Mapping[str, Text]:
    return {key: _text(each, move) for key, each in given.items()}


def _resources(given: Resources | None, move: Move) -> Resources | None:
    return None if given is None else _amounts(given, move)


def _amounts(given: Resources, move: Move) -> Resources:
    return {name: ConfiguredAmount(_text(each.written, move), each.value, each.fault) for name, each in given.items()}


def _template(given: Template | None, move: Move) -> Template | None:
    if given is None:
        return None
    return replace(
        given,
        line=move.line(given.line),
        properties=_texts(given.properties, move),
        guaranteed=_resources(given.guaranteed, move),
        maximum=_resources(given.maximum, move),
    )


def _limits(given: tuple[Limit, ...], move: Move) -> tuple[Limit, ...]:
    return tuple(
        replace(
            each,
            line=move.line(each.line),
            users=_listed(each.users, move),
            groups=_listed(each.groups, move),
            max_resources=_amounts(each.max_resources, move),
        )
        for each in given
    )


def _listed(given: tuple[Text, ...], move: Move) -> tuple[Text, ...]:
    return tuple(_text(each, move) for each in given)


def _rule(given: PlacementRule, move: Move) -> PlacementRule:
    filtered = given.filter
    return replace(
        given,
        line=move.line(given.line),
        name=_text(given.name, move),
        filter=Filter(_text(filtered.type, move), _listed(filtered.users, move), _listed(filtered.groups, move)),
        parent=_rule(given.parent, move) if given.parent else None,
        value=_text(given.value, move),
    )
