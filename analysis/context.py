"""The state with which a change is compared: nothing, the files of a folder, a snapshot, or a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from analysis.context_name import ContextName
from analysis.documents import Unreadable
from policies.dialects.reading import Manifest
from policies.model.forest import Forest
from policies.model.objects import Ref


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
