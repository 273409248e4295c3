"""The table of keys in docs/configuration.md, from policies/configuration/kueue/keys.py."""

from __future__ import annotations

from collections.abc import Iterable

from policies.configuration.kueue.keys import KEYS, Key

_HEAD = "| Key | Here | |\n|---|---|---|"


def generate() -> dict[str, dict[str, str]]:
    return {"docs/configuration.md": {"kueue-configuration": table(KEYS)}}


def table(keys: Iterable[Key]) -> str:
    """In the order of their paths."""
    ordered = sorted(keys, key=lambda key: key.path.lower())
    return "\n".join((_HEAD, *(f"| `{key.path}` | {key.use} | {key.why} |" for key in ordered)))
