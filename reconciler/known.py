"""What is known of the objects of a cluster, and how far: watches, lists and answers may overtake each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reconciler.feed import Key, Listed, Seen
from reconciler.versions import older, reached


class Known:
    """The newest that was seen of each object. `listed`: the kinds of which all is known."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self._objects: dict[Key, Seen] = {}
        self._passed: dict[str, str] = {}
        self._asked: dict[str, int] = {}
        self._times = 0

    def get(self, key: Key) -> Seen | None:
        return self._objects.get(key)

    def aside(self, key: Key) -> Any:
        """What is kept of the object beside its value; None where there is no such object."""
        seen = self._objects.get(key)
        return seen.aside if seen is not None else None

    def take(self, seen: Seen) -> bool:
        """Keep it, unless it is known already or a newer one is: then False."""
        before = self._objects.get(seen.key)
        if before is not None and (older(seen.version, before.version) or seen.version == before.version != ""):
            return False
        if seen.value is None:
            self._objects.pop(seen.key, None)
        else:
            self._objects[seen.key] = seen
        return True

    def all(self) -> list[Seen]:
        return [*self._objects.values()]

    def afresh(self) -> Known:
        """The same objects as seen long ago: whatever is told next of them counts. For a cluster that was made anew."""
        others = Known()
        others._objects = {key: replace(seen, version="") for key, seen in self._objects.items()}
        return others

    def forget(self, key: Key) -> None:
        self._objects.pop(key, None)

    def advance(self, kind: str, version: str) -> None:
        """So far the kind is known."""
        if not older(version, self._passed.get(kind, "")):
            self._passed[kind] = version

    def ask(self, kind: str) -> int:
        """From now on all of the kind is known only when the list that bears this number has come.

        One that a reflector began to read before may come later, and lack what was written in between.
        """
        self._times += 1
        self._asked[kind] = self._times
        self.listed.discard(kind)
        return self._times

    def replaced(self, listed: Listed) -> list[Seen]:
        """These are all: what is to be taken in so that there is nothing else of the kind.

        A list that is overtaken tells nothing, but that as much is known.
        """
        awaited = self._asked.get(listed.kind, 0)
        if awaited and listed.asked == awaited:
            del self._asked[listed.kind]
            self.listed.add(listed.kind)
        if older(listed.version, self._passed.get(listed.kind, "")):
            return []
        self.advance(listed.kind, listed.version)
        if not awaited:
            self.listed.add(listed.kind)
        there = {seen.key for seen in listed.objects}
        gone = [key for key in self._objects if key[0] == listed.kind and key not in there]
        return [*(Seen(key, listed.version, None) for key in gone), *listed.objects]

    def tells_news(self, seen: Seen) -> bool:
        """Whether an answer to a request still counts: a watch that is past it knows better that it is gone."""
        return seen.key in self._objects or not reached(self._passed.get(seen.key[0], ""), seen.version)
