"""What a change is compared with: nothing, the files of a folder, a snapshot, or a cluster as it is now."""

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
    """A commit, what the user called it, and when it was made."""

    name: str
    commit: str
    committed: datetime


@dataclass(frozen=True, slots=True)
class Context:
    """The world before the change; `unreadable` are the parts that could not be read.

    `manifests` are those of the world where it is made of files; else those of the objects that were asked for.
    `as_of` is when the world was so; None for what is read now. `cluster` names the one that a snapshot was taken of.
    """

    against: ContextName
    world: Forest
    unreadable: tuple[Unreadable, ...] = ()
    manifests: Mapping[Ref, Manifest] = field(default_factory=dict)
    as_of: datetime | None = None
    cluster: str = ""
