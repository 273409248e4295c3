"""Numbers for texts, so that states compare fast, and the same texts with the two jobs exchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from typing import Any

_TIMES = re.compile(r'(["\'])\d{4}-\d\d-\d\dT[^"\']*\1')
_VERSION = re.compile(r'"resourceVersion": "\d*"')
_JOB = re.compile(r"zz([ab])")
_BOUND = re.compile(r"resource_version='\d*'")


class Names:
    """`alias`: a name with a hash in it is the same as this one."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._swapped: list[int] = []
        self._texts: list[str] = []
        self._of: dict[str, int] = {}
        self._of_values: dict[Hashable, int] = {}
        self._aliases: dict[str, str] = {}
        self._actions: dict[int, tuple[object, int]] = {}

    def alias(self, name: str, alias: str) -> None:
        bare = name.partition("/")[2]
        if bare not in self._aliases:
            self._aliases[bare] = alias
            self._of.clear()
            self._of_values.clear()
            self._actions.clear()

    def text(self, manifest: Any) -> int:
        return self._number(json.dumps(manifest, sort_keys=True))

    def text_of(self, value: Hashable) -> int:
        found = self._of_values.get(value)
        if found is None:
            found = self._of_values[value] = self._number(repr(value))
        return found

    def text_of_action(self, action: object) -> int:
        """An action is never changed: its text is made once."""
        found = self._actions.get(id(action))
        if found is None:
            found = self._actions[id(action)] = action, self._number(repr(action))
        return found[1]

    def plain(self, number: int) -> int:
        return number

    def swapped(self, number: int) -> int:
        found = self._swapped[number]
        if found < 0:
            text = _JOB.sub(lambda each: "zz" + ("b" if each.group(1) == "a" else "a"), self._texts[number])
            found = self._swapped[number] = self._known(text)
        return found

    def _number(self, text: str) -> int:
        found = self._of.get(text)
        if found is None:
            plain = _BOUND.sub("", _VERSION.sub("", _TIMES.sub('""', text)))
            for name, alias in self._aliases.items():
                plain = plain.replace(name, alias)
            found = self._of[text] = self._known(plain)
        return found

    def _known(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._texts)
            self._texts.append(text)
            self._swapped.append(-1)
        return found
