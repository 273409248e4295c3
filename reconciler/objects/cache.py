"""The objects of another cluster as they were observed last."""

from __future__ import annotations

from dataclasses import replace

from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.progress import ListProgress, news


class NewestObjects:
    """The newest version of each object."""

    def __init__(self) -> None:
        self.progress = ListProgress()
        self._objects: dict[Key, Observed] = {}

    def get(self, key: Key) -> Observed | None:
        return self._objects.get(key)

    def all(self) -> list[Observed]:
        return [*self._objects.values()]

    def take(self, observed: Observed) -> bool:
        """Keep it; False where it is no news."""
        if not news(self._objects.get(observed.key), observed):
            return False
        if observed.value is None:
            self._objects.pop(observed.key, None)
        else:
            self._objects[observed.key] = observed
        return True

    def replaced(self, listed: Listed) -> list[Observed]:
        """See `ListProgress.replace`."""
        return [*self.progress.replace(listed, self._objects)]

    def afresh(self) -> NewestObjects:
        """The same objects without versions, so that whatever comes next is news: the cluster may be a new one."""
        other = NewestObjects()
        other._objects = {key: replace(each, version="") for key, each in self._objects.items()}
        return other

    def is_news(self, observed: Observed) -> bool:
        """Whether an answer to a request still counts: a watch that is past it knows that the object is gone."""
        return observed.key in self._objects or not self.progress.passed(observed)
