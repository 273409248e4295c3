"""The input and the result of a migration, independent of the scheduler that the queues come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

KueueAmounts: TypeAlias = Mapping[str, int]
"""Amounts by Kubernetes resource in Kueue's units: milli-CPU for cpu, whole units for all others."""


@dataclass(frozen=True, slots=True)
class MigrationWish:
    """The settings of a migration.

    `totals`: the sum of the Nodes, which no manifest has.
    `flavor`: the name of the ResourceFlavor for all quota.
    """

    totals: KueueAmounts = field(default_factory=dict)
    flavor: str = "default"


@dataclass(frozen=True, slots=True, order=True)
class NotKept:
    """A field of an object that cannot be migrated, why not, and what to do instead."""

    object: str
    field: str
    why: str
    instead: str


@dataclass(frozen=True, slots=True)
class Migration:
    """The result.

    `objects`: manifests of Kueue, in an order in which they can be applied.
    `lost`: what could not be migrated.
    `names`: the new names of renamed queues, by their old names.
    """

    objects: tuple[dict[str, Any], ...] = ()
    lost: tuple[NotKept, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of the source scheduler for a queue, its deserved amount and its limit, for messages."""

    queue: str
    deserved: str
    most: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQueue:
    """A queue of the source scheduler.

    `parent`: None for the root.
    `guarantee`: the amounts that are never lent.
    `deserved`: the amounts that the queue can reclaim from other queues.
    `most`: the limits; a missing resource has no limit.
    `inner`: whether it is a parent even without children.
    `stopped`: whether it takes no work.
    `shielded`: whether its work must not be preempted for another queue.
    `weight`: its weight, None if it has none.
    """

    name: str
    parent: str | None
    guarantee: KueueAmounts = field(default_factory=dict)
    deserved: KueueAmounts = field(default_factory=dict)
    most: KueueAmounts = field(default_factory=dict)
    inner: bool = False
    stopped: bool = False
    shielded: bool = False
    weight: int | None = None
