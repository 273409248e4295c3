"""The objects of another cluster, as last observed."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from reconciler.objects.observed import Key, Listed, Observed, put_or_drop
from reconciler.objects.progress import ListProgress, news
from reconciler.objects.watched import WatchedKind

T = TypeVar("T")


class NewestObjects:
    """The newest version of each object."""

    def __init__(self) -> None:
        self.progress = ListProgress()
        self._objects: dict[Key, Observed[object]] = {}

    def get(self, view: WatchedKind[T], name: str) -> Observed[T] | None:
        return view.find(self._objects, name)

    def at(self, key: Key) -> Observed[object] | None:
        return self._objects.get(key)

    def all(self, view: WatchedKind[T]) -> list[T]:
        return [value for each in self._objects.values() if (value := view.value(each)) is not None]

    def take(self, observed: Observed[object]) -> bool:
        """Store the object. Returns False if nothing has changed."""
        if not news(self._objects.get(observed.key), observed):
            return False
        put_or_drop(self._objects, observed.key, observed if observed.value is not None else None)
        return True

    def replaced(self, listed: Listed) -> list[Observed[object]]:
        """Process a list, see `ListProgress.replace`. Returns the changes."""
        return [*self.progress.replace(listed, self._objects)]

    def afresh(self) -> NewestObjects:
        """The same objects without versions, because another cluster may have other versions of equal objects."""
        other = NewestObjects()
        other._objects = {key: replace(each, version="") for key, each in self._objects.items()}
        return other

    def is_news(self, observed: Observed[object]) -> bool:
        """Whether a response is still relevant. A watch at a later version has already reported the object's end."""
        return observed.key in self._objects or not self.progress.passed(observed)
