"""A change between two states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.context import Context
from analysis.context_name import ContextName
from analysis.documents import Unreadable
from analysis.inputs import InputObjects
from policies.model.objects import KubeObject


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """`cluster` is what a cluster holds, with the manifests of the applied objects; empty without one.

    `before` are the files as they were, those of --against too; `applied` are the files of the change that differ from
    them. `deleted` are in the cluster or in `before`, and are removed. `was` says for the head line what the change is
    compared with.
    """

    was: str
    against: ContextName
    cluster: Context
    before: InputObjects
    applied: InputObjects
    deleted: tuple[KubeObject, ...]

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        return self.before.unreadable + self.applied.unreadable

    def existing(self) -> Iterator[KubeObject]:
        """All that is there before the change; an object of the files replaces that of the cluster."""
        yield from (each for each in self.cluster.world.objects() if each.ref not in self.before.objects)
        yield from (placed.obj for placed in self.before.objects.values())
