"""How far each kind of a cluster is known: watches, lists and answers may overtake each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.versions import older, reached


class ListProgress:
    """`listed`: the kinds of which all objects are known."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self._passed: dict[str, str] = {}
        self._awaited: dict[str, int] = {}
        self._requests = 0

    def advance(self, kind: str, version: str) -> None:
        """The watch of the kind has come to this version."""
        if not older(version, self._passed.get(kind, "")):
            self._passed[kind] = version

    def passed(self, observed: Observed[object]) -> bool:
        """Whether the watch is past this version: what it has reported of the object holds."""
        return reached(self._passed.get(observed.key[0], ""), observed.version)

    def known(self, kinds: Iterable[str]) -> bool:
        """Whether any list of each of these kinds has come."""
        return self._passed.keys() >= {*kinds}

    def awaited(self, kind: str) -> int:
        """The request that a list which begins now answers, 0 where there is none. May be called from any thread."""
        return self._awaited.get(kind, 0)

    def ask(self, kinds: Iterable[str]) -> int:
        """The number of a new request: each kind counts as listed again only with the list that bears it.

        A list that a reflector began to read before may come later, and lack what was written in between.
        """
        self._requests += 1
        for kind in kinds:
            self._awaited[kind] = self._requests
            self.listed.discard(kind)
        return self._requests

    def replace(self, listed: Listed, known: Iterable[Key]) -> Iterator[Observed[object]]:
        """What a list changes: first what is gone of the `known` objects of its kind, then all that it holds.

        Nothing where a watch has overtaken it; the kind is listed all the same if this list was asked for. It counts as
        listed once all that was taken in.
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
    """Whether `after` is neither known already nor older than what is known."""
    if before is None:
        return True
    return not older(after.version, before.version) and not after.version == before.version != ""
