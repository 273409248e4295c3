"""The reasons why a what-if has no answer."""

from __future__ import annotations

from collections.abc import Sequence


class Unanswered(Exception):
    """The request was not answered. The message says what the user can do."""


class MissingRights(Unanswered):
    """The user lacks rights. `missing`: the rights that are needed, in the form of `kubectl auth can-i`."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__("To see the effects of a change, you need the right to list all objects of the tree.")
        self.missing = tuple(missing)


class TryAgain(Unanswered):
    """The same request can be answered soon: the cluster is being read, or other requests are ahead."""


class ReadingCluster(TryAgain):
    """The cluster is being read for this request."""
