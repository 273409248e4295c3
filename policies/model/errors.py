"""What can go wrong in the domain. Each error adds one fact; the doors decide what to make of it."""

from __future__ import annotations

from collections.abc import Iterable

from policies.model.suggestion import suggest

_MOST_BEGUN = 4
"""Rules whose ids begin with what was written, as far as a message lists them."""


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
        known = list(rules)
        begun = [each for each in known if id and each.startswith(id)]
        hint = f"did you mean {' or '.join(map(repr, begun))}?" if 0 < len(begun) <= _MOST_BEGUN else suggest(id, known)
        super().__init__("; ".join(filter(None, (f"there is no rule {id!r}", hint))))
