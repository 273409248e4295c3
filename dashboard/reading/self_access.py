"""What the person who looks may open: menus and links lead nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from cluster.errors import ClusterError, Unauthorized
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader

_TREES = {"Kueue": "trees", "Volcano": "volcano", "YuniKorn": "yunikorn"}
"""The answer of each dialect."""
_KEPT = 60.0
"""Seconds for which the answer is kept."""
_PAGES = {"ClusterQueue": "trees", "Cohort": "trees", "Queue": "volcano"}
"""The answers that pages of these kinds are made of."""


class SelfAccess:
    """The answer of /v1/self, which is asked for once a minute.

    If the reconciler does not answer, or is not installed, everything counts as open. The page then says what it cannot
    show.
    """

    def __init__(self, reader: CachedReader) -> None:
        self._reader = reader

    @cached_property
    def _found(self) -> Manifest | None:
        try:
            found = self._reader.aside(("self",), self._asked, _KEPT)
            return found or self._reader.aside(("self",), self._asked)
        except Unauthorized:
            return None  # the page reports its own error

    def _asked(self) -> Manifest | None:
        """None, which is kept as well, so that a server that hangs delays one page and not each."""
        try:
            return self._reader.reader.ask("/v1/self")
        except Unauthorized:
            raise
        except ClusterError:
            return None

    def _reads(self, *names: str) -> bool:
        return self._found is None or any(each in self._found["reads"] for each in names)

    @property
    def user(self) -> str:
        """The name under which the cluster knows this person; empty where nobody says.

        While the reconciler is away, the API server says it.
        """
        return str(self._found["user"]) if self._found else self._reader.aside(("user",), self._named, _KEPT)

    def _named(self) -> str:
        try:
            return self._reader.reader.user()
        except ClusterError:
            return ""

    @cached_property
    def dialects(self) -> Sequence[str]:
        """The projects whose trees this person may see."""
        return [dialect for dialect, answer in _TREES.items() if self._reads(answer)]

    @property
    def trees(self) -> bool:
        """The trees of some project, and what if something changed there."""
        return bool(self.dialects)

    @property
    def everywhere(self) -> bool:
        """The Workloads of all namespaces."""
        return self._found is None or bool(self._found["allNamespaces"])

    @property
    def now(self) -> bool:
        """Something of what the first page sums up."""
        return self.trees or self.clusters

    def opens(self, kind: str) -> bool:
        """The page of an object of this kind."""
        answer = _PAGES.get(kind)
        return answer is None or self._reads(answer)

    @property
    def clusters(self) -> bool:
        return self._reads("clusters")

    @property
    def topologies(self) -> bool:
        return self._reads("topologies")

    @property
    def namespaces(self) -> Sequence[str]:
        """Namespaces with LocalQueues in which this person may list Workloads, as far as they were tried."""
        return [str(each) for each in self._found["namespaces"]] if self._found else []

    @property
    def all_tried(self) -> bool:
        """Whether `namespaces` is complete."""
        return self._found is not None and bool(self._found["allTried"])
