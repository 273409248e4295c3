"""The errors of `policies`. Callers decide how to report them."""

from __future__ import annotations

from collections.abc import Iterable

from policies.model.suggestion import suggest

_MOST_BEGUN = 4
"""The most rules that a message lists because their ids begin with the written text."""


class PolicyError(Exception):
    """The base class of Quotree's own errors."""


class BadConfiguration(PolicyError):
    """The configuration cannot be used. `at`: the path of the key."""

    def __init__(self, message: str, at: str = ""):
        super().__init__(f"{at}: {message}" if at else message)
        self.at = at


class UnknownRule(PolicyError):
    """No rule has this id."""

    def __init__(self, id: str, rules: Iterable[str]):
        known = list(rules)
        begun = [each for each in known if id and each.startswith(id)]
        hint = f"did you mean {' or '.join(map(repr, begun))}?" if 0 < len(begun) <= _MOST_BEGUN else suggest(id, known)
        super().__init__("; ".join(filter(None, (f"there is no rule {id!r}", hint))))
