"""The table of all keys of Kueue's Configuration and their use in the reconciler, for code and documentation.

An entry applies to its key and to all keys below it. Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from policies.model.errors import BadConfiguration
from policies.model.suggestion import suggest


class Use(StrEnum):
    """The use of a key in the reconciler.

    USED: it has the same effect as in Kueue.
    IDLE: it may be set and has no effect.
    """

    USED = "used"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class ConfigurationKey:
    """A key. `why`: a sentence for the documentation and for messages."""

    path: str
    use: Use
    why: str = ""


def _keys() -> Iterator[ConfigurationKey]:
    with Path(__file__).with_name("keys.csv").open(encoding="utf-8", newline="") as file:
        yield from (ConfigurationKey(row["path"], Use(row["use"]), row["why"]) for row in csv.DictReader(file))


KEYS = tuple(_keys())
_BY_PATH: Mapping[str, ConfigurationKey] = {key.path: key for key in KEYS}
_SECTIONS = frozenset(path.rsplit(".", depth)[0] for path in _BY_PATH for depth in range(1, path.count(".") + 1))


def idle_keys(section: Mapping[str, Any], under: str = "") -> Iterator[str]:
    """The paths of keys without effect. Raises BadConfiguration for an unknown key."""
    for name, value in section.items():
        at = f"{under}.{name}" if under else str(name)
        key = _BY_PATH.get(at)
        if at in _SECTIONS:
            if not isinstance(value, Mapping | None):
                raise BadConfiguration("expected a mapping", at)
            yield from idle_keys(value or {}, at)
        elif key is None:
            raise BadConfiguration(f"unknown key{_near(str(name), under)}", at)
        elif key.use is Use.IDLE:
            yield at


def _near(name: str, under: str) -> str:
    prefix = f"{under}." if under else ""
    below = (path.removeprefix(prefix).partition(".")[0] for path in _BY_PATH if path.startswith(prefix))
    return f"; {suggest(name, below)}"
