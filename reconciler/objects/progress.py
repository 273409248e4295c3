"""Which objects of a cluster are known, although watches, lists and responses may overtake each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cluster.versions import is_newer, is_older
from reconciler.objects.observed import Key, Listed, Observed


class ListProgress:
    """The progress of watches and lists. `listed`: the kinds of which all objects are known."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self._passed: dict[str, str] = {}
        self._awaited: dict[str, int] = {}
        self._requests = 0

    def advance(self, kind: str, version: str) -> None:
        """The watch of the kind has reached this version."""
        if not is_older(version, self._passed.get(kind, "")):
            self._passed[kind] = version

    def overtaken(self, observed: Observed[object]) -> bool:
        """Whether a list is newer than what the watch reports. The list shows the object at a later version, or lacks
        it because it is gone.
        """
        return is_older(observed.version, self._passed.get(observed.key[0], ""))

    def passed(self, observed: Observed[object]) -> bool:
        """Whether the watch has passed the version of the object. If so, it has already reported something newer."""
        return not is_newer(observed.version, self._passed.get(observed.key[0]))

    def known(self, kinds: Iterable[str]) -> bool:
        """Whether a list of each of these kinds has arrived."""
        return self._passed.keys() >= {*kinds}

    def awaited(self, kind: str) -> int:
        """The number of the request that a list which begins now fulfils; 0 for none. Any thread may call this."""
        return self._awaited.get(kind, 0)

    def ask(self, kinds: Iterable[str]) -> int:
        """Request new lists. Returns a number. A kind counts as listed again only with a list that has this number.

        A list that began before the request may arrive later, and may lack the writes in between.
        """
        self._requests += 1
        for kind in kinds:
            self._awaited[kind] = self._requests
            self.listed.discard(kind)
        return self._requests

    def replace(self, listed: Listed, known: Iterable[Key]) -> Iterator[Observed[object]]:
        """Process a list. Yields its changes: the `known` objects of its kind that are gone, then all its objects.

        If the watch is ahead of the list, there are no changes. A list that was requested still makes the kind count
        as listed, once all changes have been consumed.
        """
        awaited, overtaken = self.awaited(listed.kind), is_older(listed.version, self._passed.get(listed.kind, ""))
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
    """Whether `after` is new: it differs from the known version, and is not older.

    The response to a deletion and the watch event of that deletion have the same version. The response may come first.
    """
    if before is None:
        return True
    if after.version == before.version != "":
        return after.value is None and before.value is not None
    return not is_older(after.version, before.version)
