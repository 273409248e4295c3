"""Finds amounts that YuniKorn accepts, but that are most likely mistakes."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.odd_amounts import odd_in_yunikorn
from policies.dialects.yunikorn_config.checking import throughout
from policies.dialects.yunikorn_config.model import Config, ConfiguredQueue, Problem, Resources


def implausible(config: Config) -> Iterator[Problem]:
    for root in config.roots:
        yield from throughout(root, _of_queue)


def _of_queue(queue: ConfiguredQueue) -> Iterator[Problem]:
    for declared, whose in queue.declared():
        yield from _odd(declared, whose)


def _odd(resources: Resources | None, whose: str) -> Iterator[Problem]:
    for name, amount in (resources or {}).items():
        if amount.value is None:
            continue
        at = amount.written
        if found := odd_in_yunikorn(at.field, name, "".join(at.text.split())):
            yield Problem(at.field, at.line, f"{whose}: {found.message}", found.fix, f"{whose} {name}", accepted=True)
