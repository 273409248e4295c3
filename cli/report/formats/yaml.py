"""Renders the JSON output as YAML, with the same keys and values."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import yaml

from cli.output import without_commands

_WORD = re.compile(r"[A-Za-z]{2,}(-[A-Za-z]+)*")


class _Dumper(yaml.CSafeDumper):
    """Quotes texts that YAML 1.1 or 1.2 would read as another type, such as `1e3`, which is a number only in 1.2."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002, PyYAML's signature
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    text = text.encode(errors="backslashreplace").decode()  # YAML knows no half of a surrogate pair
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if _WORD.fullmatch(text) else '"')


def _number(dumper: _Dumper, number: Decimal) -> yaml.ScalarNode:
    """An exact decimal as a YAML float. Manifests are read with exact numbers."""
    text = f"{number:f}"
    return dumper.represent_scalar("tag:yaml.org,2002:float", text if "." in text else f"{text}.0")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Decimal, _number)


def document(answer: dict[str, Any]) -> str:
    """The YAML text. If it contains an unprintable character, all characters outside of ASCII are escaped."""
    shown = _dumped(answer, letters=True)
    printable = all(line.isprintable() for line in shown.split("\n"))
    return shown if printable else _dumped(answer, letters=False)


def _dumped(answer: dict[str, Any], *, letters: bool) -> str:
    text = yaml.dump(answer, Dumper=_Dumper, sort_keys=False, allow_unicode=letters, width=2**20).rstrip("\n")
    return without_commands(text)
