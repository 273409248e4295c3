"""Renders a migration as YAML with comments about what is lost, and as JSON (docs/schemas/migration.schema.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

from cli.input.migration import Migrated, Origin
from cli.output import first_of, json_text, some
from cli.report.formats.yaml import document
from cli.report.reports import API_VERSION, unreadable_json
from policies.migration import NotKept
from policies.model.printing import plain

_CALLED = {Origin.VOLCANO: "Volcano", Origin.YUNIKORN: "YuniKorn", Origin.KUEUE: "old versions of Kueue"}
_LISTED = 8
"""The maximum number of objects that one comment names. The JSON has all of them."""


def migration_text(found: Migrated) -> str:
    comments = (f"# {plain(line)}".rstrip() for line in _comments(found))
    return "\n".join([*comments, *(f"---\n{document(each)}" for each in found.migration.objects)])


def _comments(found: Migrated) -> Iterator[str]:
    kinds = Counter(each["kind"] for each in found.migration.objects)
    counted = ", ".join(some(number, kind) for kind, number in kinds.items())
    yield f"from {_CALLED[found.origin]}: {counted or 'nothing'}"
    if found.migration.names:
        yield "names that Kueue cannot have:"
        yield from (f"  {old} is now {new}" for old, new in sorted(found.migration.names.items()))
    if not found.migration.lost:
        yield "everything is kept"
        return
    yield "what cannot be kept:"
    yield from _lost(found.migration.lost)


def _lost(every: tuple[NotKept, ...]) -> Iterator[str]:
    """The comments about what is lost. Entries that differ only in their object are joined."""
    same: dict[tuple[str, str, str], list[str]] = {}
    for each in every:
        same.setdefault((each.field, each.why, each.instead), []).append(each.object)
    for (field, why, instead), objects in same.items():
        yield f"  {first_of(objects, _LISTED)}{f', {field}' if field else ''}: {why}"
        yield f"    instead: {instead}"


def migration_json(found: Migrated) -> str:
    answer = {
        "apiVersion": API_VERSION,
        "kind": "Migration",
        "from": str(found.origin),
        "objects": list(found.migration.objects),
        "lost": [asdict(each) for each in found.migration.lost],
        "renamed": dict(found.migration.names),
        "unreadable": list(map(unreadable_json, found.unreadable)),
    }
    return json_text(answer)
