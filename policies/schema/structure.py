"""Finds faults in the structure of one manifest, by the schemas in `policies.schema.declarations`.

The result is that of an API server with Kueue's and Volcano's CRDs. What it refuses is a defect. What it drops without
an error (unknown fields, or a status that is a subresource) is a defect with `warning`. A CEL rule is skipped if a
rule of Quotree checks the same with a better message. Schemas are loaded with the first manifest of their kind. The
check of a valid manifest takes some microseconds.

There are two known differences. A list in the place of a time is a defect here, but the API server stores it. A number
1.0 in the place of 1 is not a defect here, but the API server refuses it if a CEL rule reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from policies.model import fields
from policies.model.fields import Path
from policies.model.objects import Defect

if TYPE_CHECKING:  # it takes long to load
    from policies.schema.compiled import Compiled, KeyedPlace

Manifest: TypeAlias = Mapping[str, Any]

SAME_AS_V1BETA1 = ("Cohort", "Topology", "MultiKueueConfig", "MultiKueueCluster")
"""The kinds whose v1alpha1 is the same as v1beta1, except for the field of a Cohort's parent."""
_STATUS: Path = ("status",)


def defects(manifest: Manifest, *, subresource: str = "") -> tuple[Defect, ...]:
    """All defects of the manifest, in the order of their paths; none for a kind without a schema.

    `subresource`: `status` if the manifest is a write of the status. Other writes drop the status of a kind with this
    subresource, so its faults are only warnings.
    """
    group, version, kind = _identity(manifest)
    versions = _versions(group, kind)
    if versions is None:
        return ()
    compiled = versions.get(version)
    if compiled is None:
        migrated = version == "v1alpha1" and kind in SAME_AS_V1BETA1
        cure = ", and quotree migrate --from kueue converts it" if migrated else ""
        message = f"{kind} has no version {version!r} in {group}; known are {', '.join(versions)}{cure}"
        return (Defect("apiVersion", message),)
    if _is_sound(compiled, manifest) and not _breaks(compiled.places, manifest):
        return ()  # this check is fast, and nearly all manifests pass it
    drops_status = compiled.has_status and subresource != "status"
    found = _structural(compiled, manifest)
    if drops_status and any(path[:1] == _STATUS for path, _ in found):
        manifest = {name: value for name, value in manifest.items() if name != "status"}
        in_status = [(path, defect) for path, defect in found if path[:1] == _STATUS]
        # the fast check may have stopped before the other faults
        found = _status_as_warnings(in_status) + _structural(compiled, manifest)
    if _acceptable(found):  # as in the API server, CEL rules run only on a valid structure
        broken = _broken_rules(compiled, manifest)
        found += _status_as_warnings(broken) if drops_status else broken
    return tuple(defect for _, defect in sorted(found, key=_order))


def transition_defects(before: Manifest, after: Manifest, *, subresource: str = "") -> tuple[Defect, ...]:
    """Defects for immutable fields that differ; none if one of the manifests has other defects.

    Unless `subresource` is `status`, the status of `before` is used, as in the API server.
    """
    group, version, kind = _identity(after)
    compiled = (_versions(group, kind) or {}).get(version)
    if compiled is None or not compiled.transitions or before.get("apiVersion") != after.get("apiVersion"):
        return ()
    if compiled.has_status and subresource != "status":
        after = {**after, "status": before.get("status")}
    if not all(_acceptable(_structural(compiled, manifest)) for manifest in (before, after)):
        return ()
    found = list(_broken_transitions(compiled, before, after))
    return tuple(defect for _, defect in sorted(found, key=_order))


def _identity(manifest: Manifest) -> tuple[str, str, str]:
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return "", "", ""
    group, _, version = api_version.rpartition("/")
    return group, version, kind


def versions_of(group: str, kind: str) -> tuple[str, ...]:
    return tuple(_versions(group, kind) or ())


def _versions(group: str, kind: str) -> Mapping[str, Compiled] | None:
    file = _files().get((group, kind))
    return _declared(file) if file else None


@cache
def _files() -> Mapping[tuple[str, str], str]:
    from policies.schema.declarations import FILES  # imported here, since a command without manifests does not need it

    return FILES


@cache
def _declared(file: str) -> Mapping[str, Compiled]:
    from policies.schema.compiled import compiled  # imported here, since a command without manifests does not need it
    from policies.schema.declarations import load

    return {version["name"]: compiled(version) for version in load(file)["versions"]}


def _is_sound(compiled: Compiled, manifest: Manifest) -> bool:
    try:
        return compiled.is_sound(manifest)
    except (ValueError, RecursionError):  # a value that JSON does not have, such as a key that is not a text
        return False


def _breaks(place: KeyedPlace, value: Any) -> bool:
    """Whether a value with a valid structure breaks a rule at or below this place, or has two entries with one key."""
    for keyed in place.keyed:
        if _repeats(value, keyed.keys):
            return True
    for check in place.checks:
        for _ in check(value):
            return True
    for step, below in place.below.items():
        if step == "*":
            for each in _entries(value):
                if each is not None and _breaks(below, each):
                    return True
        elif isinstance(value, (dict, Mapping)) and (each := value.get(step)) is not None and _breaks(below, each):
            return True
    return False


def _structural(compiled: Compiled, manifest: Manifest) -> list[tuple[Path, Defect]]:
    if _is_sound(compiled, manifest):
        return list(_duplicates(compiled, manifest)) if _breaks(compiled.lists, manifest) else []
    from policies.schema.messages import explain, unreadable  # imported here, since a valid manifest does not need it

    found = list(unreadable(manifest))
    if not found:
        found = [*explain(compiled.document, manifest), *_duplicates(compiled, manifest)]
    return found


def _acceptable(found: list[tuple[Path, Defect]]) -> bool:
    return all(defect.warning for _, defect in found)


def _duplicates(compiled: Compiled, manifest: Manifest) -> Iterator[tuple[Path, Defect]]:
    """Defects for entries of sets and keyed lists that repeat an earlier entry or its key."""
    for keyed in compiled.keyed:
        for path, entries in _located(manifest, keyed.steps):
            if isinstance(entries, list) and len(entries) > 1:
                yield from _repeated(entries, keyed.keys, path)


def _repeats(entries: Any, keys: tuple[tuple[str, Any], ...]) -> bool:
    if not isinstance(entries, list) or len(entries) < 2:
        return False
    found: list[object]
    if not keys:
        found = [entry for entry in entries if isinstance(entry, str)]
    elif len(keys) == 1:  # as in nearly all lists; _key would take three times as long
        ((name, default),) = keys
        values = [default if (value := entry.get(name)) is None else value for entry in entries if type(entry) is dict]
        found = [value for value in values if isinstance(value, str)]
    else:
        found = [key for entry in entries if (key := _key(entry, keys)) is not None]
    return len(set(found)) < len(found)


def _repeated(entries: list[Any], keys: tuple[tuple[str, Any], ...], path: Path) -> Iterator[tuple[Path, Defect]]:
    seen: dict[tuple[str, ...], int] = {}
    for index, entry in enumerate(entries):
        key = _key(entry, keys)
        first = index if key is None else seen.setdefault(key, index)
        if key is not None and first != index:
            message = f"{_named(key, keys)} is already in entry {first} of this list; every entry needs its own"
            at = (*path, index, keys[-1][0]) if keys else (*path, index)
            yield at, Defect(fields.join("", *at), message)


def _named(key: tuple[str, ...], keys: tuple[tuple[str, Any], ...]) -> str:
    if not keys:
        return repr(key[0])
    return " and ".join(f"{name} {value!r}" for (name, _), value in zip(keys, key, strict=True))


def _key(entry: Any, keys: tuple[tuple[str, Any], ...]) -> tuple[str, ...] | None:
    """The key of an entry; None if it has no valid key."""
    if not keys:
        return (entry,) if isinstance(entry, str) else None
    if not isinstance(entry, dict):
        return None
    values = tuple(default if entry.get(name) is None else entry[name] for name, default in keys)
    return values if all(isinstance(value, str) for value in values) else None


def _broken_rules(compiled: Compiled, manifest: Manifest) -> list[tuple[Path, Defect]]:
    from policies.schema.structure_rules import RULES  # here, since few kinds have such rules

    return [
        ((*path, *below), Defect(fields.join("", *path, *below), rule.message))
        for rule in compiled.rules
        for path, value in _located(manifest, rule.steps)
        for below in RULES[rule.id](value)
    ]


def _broken_transitions(compiled: Compiled, before: Manifest, after: Manifest) -> Iterator[tuple[Path, Defect]]:
    from policies.schema.structure_rules import TRANSITIONS  # here, since few kinds have such rules

    for rule in compiled.transitions:
        old = dict(_located(before, rule.steps))
        for path, value in _located(after, rule.steps):
            if path in old:
                for below in TRANSITIONS[rule.id](value, old[path]):
                    at = (*path, *below)
                    yield at, Defect(fields.join("", *at), rule.message)


def _entries(holder: Any) -> Iterable[Any]:
    if isinstance(holder, list):
        return holder
    return holder.values() if isinstance(holder, (dict, Mapping)) else ()


def _located(value: Any, steps: tuple[str, ...], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values at this place, with their paths. A null counts as absent."""
    if value is None:
        return
    if not steps:
        yield path, value
        return
    step, rest = steps[0], steps[1:]
    if step != "*":
        if isinstance(value, (dict, Mapping)):
            yield from _located(value.get(step), rest, (*path, step))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _located(item, rest, (*path, index))
    elif isinstance(value, (dict, Mapping)):
        for key, item in value.items():
            yield from _located(item, rest, (*path, key))


def _status_as_warnings(found: list[tuple[Path, Defect]]) -> list[tuple[Path, Defect]]:
    return [(path, replace(defect, warning=True) if path[:1] == _STATUS else defect) for path, defect in found]


def _order(found: tuple[Path, Defect]) -> tuple[list[tuple[int, int, str]], str]:
    path, defect = found
    return [(0, step, "") if isinstance(step, int) else (1, 0, step) for step in path], defect.message
