"""An object as the API server stores it at one version, kept as small as decisions need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from policies.dialects.reading import text
from policies.model.objects import joined

Key: TypeAlias = tuple[str, str]
"""The kind and `namespace/name`, or the bare name of what is in no namespace."""


def name_of(meta: Mapping[str, Any], *, namespaced: bool) -> str:
    """The name in its key, by the metadata of an object."""
    return joined((text(meta.get("namespace")) or "") if namespaced else "", text(meta.get("name")) or "")


@dataclass(frozen=True, slots=True)
class Observed:
    """An object at a resource version; `value` is what decisions go by, None where the object is gone.

    `detail` is what writes need beside it: all of a Workload, the status and finalizers of a queue.
    """

    key: Key
    version: str
    value: Any
    detail: Any = None


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind at a resource version. `request`: see `ListProgress.ask`; 0: nobody asked for the list."""

    kind: str
    objects: tuple[Observed, ...]
    version: str = ""
    request: int = 0
