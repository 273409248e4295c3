"""Reads a mapping of a configuration file key by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from policies.model.errors import BadConfiguration
from policies.model.suggestion import suggest


class Section:
    """A mapping of the file. Its methods raise BadConfiguration for a wrong value; `done` does for keys never read."""

    def __init__(self, value: object, path: str):
        if not isinstance(value, Mapping):
            raise BadConfiguration("expected a mapping", path)
        self._value: Mapping[str, Any] = value
        self._path = path
        self._known: list[str] = []

    def at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _take(self, key: str) -> Any:
        self._known.append(key)
        return self._value.get(key)

    def value(self, key: str) -> Any:
        return self._take(key)

    def text(self, key: str, default: str | None = None, among: list[Any] | None = None) -> str:
        value = self._take(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise BadConfiguration("expected a string" if value is not None else "is required", self.at(key))
        if among is not None and value not in among:
            raise BadConfiguration(f"{value!r} is not valid; it must be one of {', '.join(among)}", self.at(key))
        return value

    def optional(self, key: str) -> str | None:
        return self.text(key) if key in self._value else self._take(key)

    def day(self, key: str) -> date | None:
        """A day, which is a text or a date of YAML; None if it is absent."""
        value = self._take(key)
        if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
            return value
        if isinstance(value, str) and len(value) == len("2026-12-31"):
            with suppress(ValueError):
                return date.fromisoformat(value)
        raise BadConfiguration(f"{value!r} is not a date; use the form 2026-12-31", self.at(key))

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise BadConfiguration("expected true or false", self.at(key))
        return value

    def number(self, key: str, default: int) -> int:
        value = self._take(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadConfiguration("expected a whole number above 0", self.at(key))
        return value

    def section(self, key: str) -> Section:
        value = self._take(key)
        return Section({} if value is None else value, self.at(key))

    def sections(self, key: str) -> list[Section]:
        return [Section(item, f"{self.at(key)}[{i}]") for i, item in enumerate(self.entries(key))]

    def entries(self, key: str) -> list[Any]:
        value = self._take(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise BadConfiguration("expected a list", self.at(key))
        return value

    def texts(self, key: str) -> list[str]:
        items = self.entries(key)
        if not all(isinstance(item, str) for item in items):
            raise BadConfiguration("expected a list of strings", self.at(key))
        return items

    def labels(self, key: str) -> dict[str, str]:
        value = self._take(key) or {}
        if not isinstance(value, Mapping) or not all(isinstance(item, str) for pair in value.items() for item in pair):
            raise BadConfiguration("expected a mapping of strings", self.at(key))
        return dict(value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self._take(key)
        if not isinstance(value, Mapping | None):
            raise BadConfiguration("expected a mapping", self.at(key))
        return value or {}

    def mappings(self, key: str) -> list[Mapping[str, Any]]:
        items = self.entries(key)
        if not all(isinstance(item, Mapping) for item in items):
            raise BadConfiguration("expected a list of mappings", self.at(key))
        return items

    def json_object(self, key: str) -> Mapping[str, Any]:
        """The JSON object in a text; empty if the text is absent or empty."""
        text = self.text(key, "")
        try:
            value = json.loads(text) if text else {}
        except (ValueError, RecursionError) as error:
            raise BadConfiguration(f"expected JSON: {error}", self.at(key)) from error
        if not isinstance(value, dict):
            raise BadConfiguration("expected a JSON object", self.at(key))
        return value

    def expect(self, *keys: str) -> None:
        """Refuse unknown keys before a key is read. Else a misspelt required key would be reported as missing."""
        self._known.extend(keys)
        self.done()

    def rest(self) -> list[str]:
        return [str(key) for key in self._value if key not in self._known]

    def done(self) -> None:
        for key in self._value:
            if key not in self._known:
                raise BadConfiguration(f"unknown key; {suggest(key, self._known)}", self.at(str(key)))
