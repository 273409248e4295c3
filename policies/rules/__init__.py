"""The rules: one package for each project. A module has one rule, or a few that share their check. All modules are
imported automatically."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from policies.judging.rule import REGISTERED, Rule
from policies.model.change import Occasion
from policies.model.errors import UnknownRule
from policies.model.objects import GroupKind

KINDS = "kinds.json"
"""The generated file with the kinds that the rules of each module judge. Other modules are always loaded."""


@cache
def registry() -> Mapping[str, Rule]:
    """All rules by their ids. The first call loads them."""
    _load(_modules())
    return REGISTERED


@lru_cache(maxsize=1024)
def about(kinds: frozenset[GroupKind]) -> tuple[Rule, ...]:
    """The rules that judge changes of these kinds, sorted by id. Other rules are not loaded."""
    judged: Mapping[str, list[str]] = json.loads((Path(__file__).parent / KINDS).read_text(encoding="utf-8"))
    names = {spelled(each) for each in kinds}
    _load(each for each in _modules() if each not in judged or not names.isdisjoint(judged[each]))
    return tuple(rule for _, rule in sorted(REGISTERED.items()) if kinds & rule.kinds)


@lru_cache(maxsize=1024)
def concerned(kinds: frozenset[GroupKind], occasions: frozenset[Occasion]) -> tuple[Rule, ...]:
    """The rules for these kinds that may report a change with these occasions."""
    return tuple(rule for rule in about(kinds) if rule.only is None or rule.only in occasions)


def find(id: str) -> Rule:
    """The rule with this id. Raises UnknownRule."""
    rules = registry()
    if id not in rules:
        raise UnknownRule(id, rules)
    return rules[id]


def spelled(kind: GroupKind) -> str:
    """The kind as kubectl names it, such as Queue.scheduling.volcano.sh."""
    return f"{kind.kind}.{kind.group}" if kind.group else kind.kind


@cache
def _modules() -> tuple[str, ...]:
    """The modules of rules. Names of modules without rules begin with an underscore."""
    every = (each.name for each in walk_packages(__path__, f"{__name__}.") if not each.ispkg)
    return tuple(name for name in every if not name.rpartition(".")[2].startswith("_"))


def _load(modules: Iterable[str]) -> None:
    for module in modules:
        import_module(module)
