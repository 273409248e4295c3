"""What a migration starts from and what it ends in, whichever scheduler the queues come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

KueueAmounts: TypeAlias = Mapping[str, int]
"""Amounts by Kubernetes resource, as Kueue counts: milli-CPU for cpu, whole units for all else."""


@dataclass(frozen=True, slots=True)
class MigrationWish:
    """`totals` is what the machines have, which no manifest says. `flavor` is the one ResourceFlavor of all quota."""

    totals: KueueAmounts = field(default_factory=dict)
    flavor: str = "default"


@dataclass(frozen=True, slots=True, order=True)
class NotKept:
    """What of an object cannot be kept, why, and what to do instead."""

    object: str
    field: str
    why: str
    instead: str


@dataclass(frozen=True, slots=True)
class Migration:
    """`objects` are manifests of Kueue in the order in which they can be applied. `names` has the queues that got
    another name, by the name that they had."""

    objects: tuple[dict[str, Any], ...] = ()
    lost: tuple[NotKept, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How the source calls what it has, for messages."""

    queue: str
    deserved: str
    most: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQueue:
    """A queue of the source.

    `guarantee` is never lent, `deserved` can be reclaimed from other queues, `most` is the limit; a resource that
    `most` does not name has none. `shielded`: its work may not be preempted for another queue.
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
