"""A change, and the state it is compared with: nothing, the files of a folder, a snapshot, or a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from analysis.context_name import ContextName
from analysis.documents import Unreadable
from analysis.inputs import InputObjects
from policies.dialects.reading import Manifest
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Ref


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit. `name`: as the user wrote it. `committed`: when it was made."""

    name: str
    commit: str
    committed: datetime


@dataclass(frozen=True, slots=True)
class Context:
    """The state before the change.

    against: its name.
    world: its objects.
    unreadable: the parts that could not be read.
    manifests: all manifests if the state consists of files; else those of the requested objects.
    as_of: the time of a snapshot; None for a state that is read now.
    cluster: the cluster of a snapshot.
    """

    against: ContextName
    world: Forest
    unreadable: tuple[Unreadable, ...] = ()
    manifests: Mapping[Ref, Manifest] = field(default_factory=dict)
    as_of: datetime | None = None
    cluster: str = ""


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
