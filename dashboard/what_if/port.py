"""The port to the what-if engine, so that the dashboard does not depend on the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dashboard.reading.backend import Manifest, UserLogin
from dashboard.what_if.outcome import WhatIfOutcome


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """`manifests` are the objects that the form makes. `pasted` is YAML as it was typed; the engine parses it, since
    only there is its time limited."""

    manifests: tuple[Manifest, ...] = ()
    pasted: str = ""


class Unanswered(Exception):
    """There is no answer. The text tells the person what to do about it."""


class MissingRights(Unanswered):
    """`missing` are the rights that it takes, as `kubectl auth can-i` has them."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__("Only those who may list all of a tree can see what a change does to it.")
        self.missing = missing


class Later(Unanswered):
    """The same question has an answer soon: the cluster is being read, or others are ahead."""


class ReadingCluster(Later):
    """The cluster is being read for this question."""


class WhatIf(Protocol):
    def missing(self, login: UserLogin) -> tuple[str, ...]:
        """The rights that this person lacks for an answer. Raises ClusterError."""

    def ask(self, login: UserLogin, change: ProposedChange) -> WhatIfOutcome:
        """What comes of applying the change: for this person, with their rights.

        May be called by many threads. Raises Unanswered, ClusterError.
        """
