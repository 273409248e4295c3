"""How much of each kind of a cluster is known: watches, lists and answers may overtake each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.versions import older, reached


class ListProgress:
    """`listed`: the kinds whose objects are all known."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self._passed: dict[str, str] = {}
        self._awaited: dict[str, int] = {}
        self._requests = 0

    def advance(self, kind: str, version: str) -> None:
        """The watch of the kind has reached this version."""
        if not older(version, self._passed.get(kind, "")):
            self._passed[kind] = version

    def passed(self, observed: Observed[object]) -> bool:
        """Whether the watch is past this version: its report of the object is newer."""
        return reached(self._passed.get(observed.key[0], ""), observed.version)

    def known(self, kinds: Iterable[str]) -> bool:
        """Whether a list of each of these kinds has arrived."""
        return self._passed.keys() >= {*kinds}

    def awaited(self, kind: str) -> int:
        """The request that a list which begins now answers; 0 for none. May be called from any thread."""
        return self._awaited.get(kind, 0)

    def ask(self, kinds: Iterable[str]) -> int:
        """The number of a new request. Each kind counts as listed again only with the list that has this number.

        A list that a reflector began before the request may arrive later, and lack the writes in between.
        """
        self._requests += 1
        for kind in kinds:
            self._awaited[kind] = self._requests
            self.listed.discard(kind)
        return self._requests

    def replace(self, listed: Listed, known: Iterable[Key]) -> Iterator[Observed[object]]:
        """The changes of a list: first the `known` objects of its kind that are gone, then all its objects.

        Nothing if a watch is ahead of the list; the kind counts as listed all the same if this list was requested. It
        counts as listed once all changes were taken in.
        """
        awaited, overtaken = self.awaited(listed.kind), older(listed.version, self._passed.get(listed.kind, ""))
        if not overtaken:
            self.advance(listed.kind, listed.version)
            there = {observed.key for observed in listed.objects}
            gone = [key for key in known if key[0] == listed.kind and key not in there]
            yield from (Observed(key, listed.version, None) for key in gone)
            yield from listed.objects
        if listed.request == awaited and (awaited or not overtaken):
            self._awaited.pop(listed.kind, None)
            self.listed.add(listed.kind)


def news(before: Observed[object] | None, after: Observed[object]) -> bool:
    """Whether `after` is neither known already nor older than the known version.

    The answer to a deletion shows the object at the version of its end, and may come before the watch reports that end.
    """
    if before is None:
        return True
    if after.version == before.version != "":
        return after.value is None and before.value is not None
    return not older(after.version, before.version)
