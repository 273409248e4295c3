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
    """A change between two states.

    was: the state before the change, in words for the head line.
    against: the name of that state.
    cluster: the objects of a cluster, with the manifests of the applied ones; empty without a cluster.
    before: the files before the change, including those of --against.
    applied: the files of the change that differ from `before`.
    deleted: the objects of the cluster or of `before` that are removed.
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
        """Yield all objects before the change. Objects of files replace those of the cluster."""
        yield from (each for each in self.cluster.world.objects() if each.ref not in self.before.objects)
        yield from (placed.obj for placed in self.before.objects.values())
