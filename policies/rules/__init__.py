"""One rule per file, one folder per project; a rule is found by its file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from policies.judging.rule import REGISTERED, Rule
from policies.model.errors import UnknownRule


@cache
def registry() -> Mapping[str, Rule]:
    """Every rule by its id. The first call loads them all."""
    for module in walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
    return REGISTERED


def find(id: str) -> Rule:
    """The rule of this id. Raises UnknownRule."""
    rules = registry()
    if id not in rules:
        raise UnknownRule(id, rules)
    return rules[id]
