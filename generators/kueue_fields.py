"""Generates the table of fields in docs/kueue-fields.md from the schemas and generators/kueue_field_notes.py."""

from __future__ import annotations

from collections.abc import Iterator

from generators.files import table
from generators.kueue_field_notes import NOTES, OTHER_ADDITIONS, FieldNote
from policies.configuration.kueue.gates import LATEST, TABLES, Here, KueueVersion
from policies.dialects.kueue_kinds import GROUP
from policies.schema import declarations
from policies.schema.declarations import Schema

PAGE = "docs/kueue-fields.md"
_OF_KUBERNETES = ("conditions", "template")
"""Fields whose own fields have no rows, since Kubernetes defines them."""


def generate() -> dict[str, dict[str, str]]:
    return {PAGE: {"kueue-fields": field_table()}}


def field_table() -> str:
    """One row for each field of v1beta2, by kind. A field with a note has one row for itself and its subfields."""
    head = "".join(f" Kueue v{version} |" for version in KueueVersion)
    return table(f"| Field |{head} Quotree |", [*map(_row, fields()), *map(_row, OTHER_ADDITIONS)])


def fields() -> Iterator[FieldNote]:
    """The note of each row. Raises ValueError for a note on a field that is not in a schema."""
    notes = {note.path: note for note in NOTES}
    seen = set[str]()
    for path in sorted(declared()):
        note = next((notes[each] for each in _path_and_parents(path) if each in notes), FieldNote(path))
        if note.path not in seen:
            seen.add(note.path)
            yield note
    if unknown := notes.keys() - seen:
        raise ValueError(f"no kind of Kueue has the field {min(unknown)}")


def declared() -> Iterator[str]:
    """The paths of all fields of v1beta2 without subfields. Each path begins with the kind."""
    for (group, kind), file in declarations.FILES.items():
        if group == GROUP:
            schema = next(each for each in declarations.load(file)["versions"] if each["name"] == "v1beta2")["schema"]
            top = {key: value for key, value in schema["properties"].items() if key != "metadata"}
            yield from _leaves({"properties": top}, kind)


def _leaves(node: Schema, at: str) -> Iterator[str]:
    below = node.get("items", node).get("properties")
    if not below or at.endswith(_OF_KUBERNETES):
        yield at
        return
    for name, field in below.items():
        yield from _leaves(field, f"{at}.{name}")


def _path_and_parents(path: str) -> Iterator[str]:
    names = path.split(".")
    return (".".join(names[:length]) for length in range(len(names), 0, -1))


def _row(note: FieldNote) -> tuple[str, ...]:
    name = note.path if note in OTHER_ADDITIONS else f"`{note.path}`"
    known = list(KueueVersion)
    has = ("yes" if known.index(version) >= known.index(note.since) else "-" for version in known)
    return name, *has, _support(note)


def _support(note: FieldNote) -> str:
    if note.stricter:
        return f"stricter: {note.stricter}"
    if note.absent:
        return f"not: {note.absent}"
    if not note.gate:
        return f"same. {note.why}".rstrip() if note.why else "same"
    gate = TABLES[LATEST].gates[note.gate]
    link = f"[{gate.name}](feature-gates.md)"
    if gate.here is Here.OFF:
        return f"not: {gate.why[:1].lower()}{gate.why[1:].rstrip('.')} ({link})"
    return f"same, with the gate {link}"
