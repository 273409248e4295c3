"""Finds out which pages the user may open, so that menus and links only lead to these."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from cluster.errors import ClusterError, Unauthorized
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader

_TREES = {"Kueue": "trees", "Volcano": "volcano", "YuniKorn": "yunikorn"}
"""The name in /v1/self for the right to read the trees of each dialect."""
_KEPT = 60.0
"""Seconds for which the response is cached."""
_PAGES = {"ClusterQueue": "trees", "Cohort": "trees", "Queue": "volcano"}
"""The name in /v1/self for the right to open the page of a kind."""


class SelfAccess:
    """The rights of the user according to /v1/self, which is read once a minute.

    If the reconciler does not answer or is not installed, everything counts as allowed. Then the pages themselves show
    their errors.
    """

    def __init__(self, reader: CachedReader) -> None:
        self._reader = reader

    @cached_property
    def _rights(self) -> Manifest | None:
        try:
            found = self._reader.aside(("self",), self._ask, _KEPT)
            return found or self._reader.aside(("self",), self._ask)
        except Unauthorized:
            return None  # the page reports its own error

    def _ask(self) -> Manifest | None:
        """The response of /v1/self, or None. None is cached too, so that a hanging server delays only one page."""
        try:
            return self._reader.reader.ask("/v1/self")
        except Unauthorized:
            raise
        except ClusterError:
            return None

    def _may_read(self, *names: str) -> bool:
        return self._rights is None or any(each in self._rights["reads"] for each in names)

    @property
    def user(self) -> str:
        """The name of the user in the cluster; empty if it is unknown.

        It comes from the reconciler, or from the API server if the reconciler does not answer.
        """
        return (
            str(self._rights["user"])
            if self._rights
            else self._reader.aside(("user",), self._name_at_api_server, _KEPT)
        )

    def _name_at_api_server(self) -> str:
        try:
            return self._reader.reader.user()
        except ClusterError:
            return ""

    @cached_property
    def dialects(self) -> Sequence[str]:
        return [dialect for dialect, answer in _TREES.items() if self._may_read(answer)]

    @property
    def trees(self) -> bool:
        """Whether the user may see trees of any project, and the what-if about them."""
        return bool(self.dialects)

    @property
    def everywhere(self) -> bool:
        return self._rights is None or bool(self._rights["allNamespaces"])

    @property
    def now(self) -> bool:
        return self.trees or self.clusters

    def opens(self, kind: str) -> bool:
        answer = _PAGES.get(kind)
        return answer is None or self._may_read(answer)

    @property
    def clusters(self) -> bool:
        return self._may_read("clusters")

    @property
    def topologies(self) -> bool:
        return self._may_read("topologies")

    @property
    def namespaces(self) -> Sequence[str]:
        """Namespaces with LocalQueues in which the user may list Workloads. The reconciler checks a limited number."""
        return [str(each) for each in self._rights["namespaces"]] if self._rights else []

    @property
    def all_tried(self) -> bool:
        return self._rights is not None and bool(self._rights["allTried"])
