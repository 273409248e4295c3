"""An object at one resource version, reduced to the fields that are needed of it. Such a selection is a view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cluster.resource import Manifest
from policies.dialects.reading import text
from policies.model.objects import joined, parted
from reconciler.objects.packed import Packed
from reconciler.objects.stored import Stored

K = TypeVar("K")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Key: TypeAlias = tuple[str, str]
"""The kind of an object or view, and `namespace/name`; only the name for cluster-scoped objects."""


def name_of(meta: Mapping[str, object], *, namespaced: bool) -> str:
    """The name in the key of an object with this metadata."""
    return joined((text(meta.get("namespace")) or "") if namespaced else "", text(meta.get("name")) or "")


@dataclass(frozen=True, slots=True)
class Observed(Generic[T_co]):
    """An object at a resource version, in the view that `key` names.

    `value`: the fields that decisions need. It can be None only if the type says so, as in `Observed[Workload | None]`;
        then the object is gone. `Observed[object]` may be in any view; see `WatchedKind.of`.
    `detail`: the fields that writes need: the packed manifest, or the status and finalizers.
    """

    key: Key
    version: str
    value: T_co
    detail: Stored | Packed | None = None

    @property
    def namespace(self) -> str:
        """The namespace; empty for cluster-scoped objects."""
        return parted(self.key[1])[0]

    @property
    def name(self) -> str:
        return parted(self.key[1])[1]

    @property
    def stored(self) -> Stored | None:
        """Its status and finalizers; None if the view does not keep them."""
        return self.detail if isinstance(self.detail, Stored) else None

    @property
    def packed(self) -> Packed | None:
        """The packed manifest; None if the view does not keep it."""
        return self.detail if isinstance(self.detail, Packed) else None

    def manifest(self) -> Manifest:
        """The manifest. Raises ValueError if the view does not keep it."""
        if not isinstance(self.detail, Packed):
            raise ValueError(f"the manifest of {self.key[0]} {self.key[1]} is not kept")
        return self.detail.manifest()


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind at a resource version.

    `request`: see `ListProgress.ask`; 0 if the list was not requested.
    """

    kind: str
    objects: tuple[Observed[object], ...]
    version: str = ""
    request: int = 0


def put_or_drop(known: dict[K, T], key: K, value: T | None) -> None:
    """Store the value of an observed object; None means that it is gone."""
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value
