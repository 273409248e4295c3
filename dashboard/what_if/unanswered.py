"""Why a what-if has no answer."""

from __future__ import annotations

from collections.abc import Sequence


class Unanswered(Exception):
    """The question was not answered. The text tells the person what to do."""


class MissingRights(Unanswered):
    """`missing` are the rights that it takes, as `kubectl auth can-i` has them."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__("To see the effects of a change, you need the right to list all objects of the tree.")
        self.missing = tuple(missing)


class TryAgain(Unanswered):
    """The same question has an answer soon: the cluster is being read, or others are ahead."""


class ReadingCluster(TryAgain):
    """The cluster is being read for this question."""
