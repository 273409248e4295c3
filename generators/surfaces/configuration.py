"""The record of configuration keys: those of Quotree, found by reading a file, and those of Kueue with an effect."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from cli.input.selection import InputSelection
from cli.input.workspace import organisations
from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.configuration.kueue.keys import KEYS, Use
from policies.configuration.section import Section

_HEAD = {"apiVersion": API_VERSION, "kind": KIND}
_SHAPE = {
    "suspend": {"path": "spec.suspend"},
    "podSets": [{"name": "main", "template": "spec.template", "counts": [{"path": "spec.replicas"}]}],
    "finished": {
        "succeeded": {"condition": "Complete"},
        "failed": {"fields": {"status.phase": "Failed"}},
    },
    "ready": {"condition": "Ready"},
    "active": {"counts": ["status.active"], "when": {"condition": "Running"}},
    "reclaimable": {"entries": "status.done", "name": "name", "count": "count"},
}
_ONE_OF_EACH = {
    **_HEAD,
    "rules": [{"rule": "*", "action": "deny"}],
    "volcano": {"resourceGroups": [{"resourceGroup": "one"}]},
    "reconciler": {
        "jobs": [{"group": "example.com", "version": "v1", "kind": "Train", "plural": "trains", **_SHAPE}],
        "multiKueue": {"configs": [{"name": "one", "rounds": 1, "weights": [{"cluster": "one"}]}]},
    },
}
_ROOTS = {**_HEAD, "roots": [{"path": "one.yaml"}]}
"""A configuration with an entry in each list, so that the keys of entries are read, too."""
_READERS = ("text", "flag", "number", "optional", "texts", "sections")


def keys() -> Iterator[str]:
    """Each key by its path, with `[]` for an entry of a list, and its default if it has one."""
    found: dict[str, None] = {}
    take, expect = Section._take, Section.expect

    def taking(section: Section, key: str) -> Any:
        found[section.at(key).replace("[0]", "[]")] = None
        return take(section, key)

    def expecting(section: Section, *names: str) -> None:
        found.update(dict.fromkeys(section.at(name).replace("[0]", "[]") for name in names))
        expect(section, *names)

    with mock.patch.object(Section, "_take", taking), mock.patch.object(Section, "expect", expecting):
        read_configuration(_ONE_OF_EACH, ())
        _read_roots()
    yield from found
    for key, value in defaults().items():
        if value not in (None, [], *_HEAD.values()):
            yield f"{key} default: {json.dumps(value)}"


def _read_roots() -> None:
    """Read a file that declares a root, as `quotree validate` does."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "quotree.yaml")
        Path(folder, "one.yaml").touch()
        file.write_text(json.dumps(_ROOTS), encoding="utf-8")
        list(organisations(InputSelection((folder,)), str(file)))


def defaults() -> dict[str, Any]:
    """The default of each key, by its path."""
    found: dict[str, Any] = {}

    def wrapped(read: Callable[..., Any]) -> Callable[..., Any]:
        def reading(section: Section, key: str, *rest: Any, **more: Any) -> Any:
            found[section.at(key)] = value = read(section, key, *rest, **more)
            return value

        return reading

    readers: dict[str, Any] = {name: wrapped(getattr(Section, name)) for name in _READERS}
    with mock.patch.multiple(Section, **readers):
        read_configuration(_HEAD, ())
    return found


def kueues_keys() -> Iterator[str]:
    """The keys of Kueue's Configuration that have the same effect as in Kueue."""
    return (key.path for key in KEYS if key.use is Use.USED)
