"""What can go wrong in the domain. Each error adds one fact; the doors decide what to make of it."""

from __future__ import annotations

from collections.abc import Iterable

from policies.model.suggestion import suggest


class PolicyError(Exception):
    """The root of Quotree's own errors."""


class BadConfiguration(PolicyError):
    """A configuration that cannot be used; `at` is the path of the key concerned."""

    def __init__(self, message: str, at: str = ""):
        super().__init__(f"{at}: {message}" if at else message)
        self.at = at


class UnknownRule(PolicyError):
    """An id that no rule has."""

    def __init__(self, id: str, rules: Iterable[str]):
        super().__init__("; ".join(filter(None, (f"there is no rule {id!r}", suggest(id, rules)))))
