"""How far each kind of a cluster is known: watches, lists and answers may overtake each other."""

from __future__ import annotations

from collections.abc import Iterable

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

    def passed(self, observed: Observed) -> bool:
        """Whether the watch is past this version: what it has reported of the object holds."""
        return reached(self._passed.get(observed.key[0], ""), observed.version)

    def ask(self, kind: str) -> int:
        """The number of a new request: the kind counts as listed again only with the list that bears it.

        A list that a reflector began to read before may come later, and lack what was written in between.
        """
        self._requests += 1
        self._awaited[kind] = self._requests
        self.listed.discard(kind)
        return self._requests

    def replace(self, listed: Listed, known: Iterable[Key]) -> list[Observed]:
        """What a list changes: first what is gone of the `known` objects of its kind, then all that it holds.

        Nothing where a watch has overtaken it; the kind is listed all the same if this list was asked for.
        """
        awaited = self._awaited.get(listed.kind, 0)
        if awaited and listed.request == awaited:
            del self._awaited[listed.kind]
            self.listed.add(listed.kind)
        if older(listed.version, self._passed.get(listed.kind, "")):
            return []
        self.advance(listed.kind, listed.version)
        if not awaited:
            self.listed.add(listed.kind)
        there = {observed.key for observed in listed.objects}
        gone = [key for key in known if key[0] == listed.kind and key not in there]
        return [*(Observed(key, listed.version, None) for key in gone), *listed.objects]


def news(before: Observed | None, after: Observed) -> bool:
    """Whether `after` is neither known already nor older than what is known."""
    if before is None:
        return True
    return not older(after.version, before.version) and not after.version == before.version != ""
