"""An object as the API server stores it at one version, kept as small as decisions need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cluster.stream import Manifest
from policies.dialects.reading import text
from policies.model.objects import joined, parted
from reconciler.objects.packed import Packed
from reconciler.objects.stored import Stored

T_co = TypeVar("T_co", covariant=True)
Key: TypeAlias = tuple[str, str]
"""The kind and `namespace/name`, or the bare name of what is in no namespace."""


def name_of(meta: Mapping[str, object], *, namespaced: bool) -> str:
    """The name in its key, by the metadata of an object."""
    return joined((text(meta.get("namespace")) or "") if namespaced else "", text(meta.get("name")) or "")


@dataclass(frozen=True, slots=True)
class Observed(Generic[T_co]):
    """An object at a resource version, in the view that `key` names; `value` is what decisions go by.

    `Observed[Workload]` is a Workload that is stored. `Observed[Workload | None]` may be gone: its value is None then.
    `Observed[object]` is in any view; `WatchedKind.of` says in which.
    `detail` is what writes need beside it: all of a Workload, or the status and finalizers of a queue.
    """

    key: Key
    version: str
    value: T_co
    detail: Stored | Packed | None = None

    @property
    def namespace(self) -> str:
        """Empty for what is in no namespace."""
        return parted(self.key[1])[0]

    @property
    def name(self) -> str:
        """The bare name."""
        return parted(self.key[1])[1]

    @property
    def stored(self) -> Stored | None:
        """What is kept for writes of its status and finalizers; None for a view that keeps nothing, or all."""
        return self.detail if isinstance(self.detail, Stored) else None

    @property
    def packed(self) -> Packed | None:
        """All of the object; None for a view that does not keep it."""
        return self.detail if isinstance(self.detail, Packed) else None

    def manifest(self) -> Manifest:
        """All of the object, unpacked. Raises ValueError for a view that does not keep it."""
        if not isinstance(self.detail, Packed):
            raise ValueError(f"of {self.key[0]} {self.key[1]} not everything is kept")
        return self.detail.manifest()


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind at a resource version. `request`: see `ListProgress.ask`; 0: nobody asked for the list."""

    kind: str
    objects: tuple[Observed[object], ...]
    version: str = ""
    request: int = 0
