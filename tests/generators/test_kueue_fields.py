"""Each field of Kueue's objects is in the table once, with its support in Quotree."""

from __future__ import annotations

import pytest

from generators import kueue_fields
from generators.kueue_field_notes import FieldNote
from generators.kueue_fields import declared, field_table, fields
from policies.configuration.kueue.gates import LATEST, TABLES, Here


def test_each_field_or_one_of_its_parents_has_a_row() -> None:
    rows = [note.path for note in fields()]

    assert len(set(rows)) == len(rows)
    assert [path for path in declared() if not any(f"{path}.".startswith(f"{row}.") for row in rows)] == []
    assert [row for row in rows if any(row != other and row.startswith(f"{other}.") for other in rows)] == []


def test_a_field_is_supported_if_its_gate_is() -> None:
    gates = TABLES[LATEST].gates
    table = field_table()
    for note in fields():
        if note.gate:
            (row,) = (line for line in table.splitlines() if line.startswith(f"| `{note.path}` |"))
            assert ("| not: " in row) == (gates[note.gate].here is Here.OFF), row


def test_a_version_that_lacks_a_field_has_a_dash() -> None:
    assert "| `Cohort.status.effectiveQuotas` | - | yes |" in field_table()
    assert "| `Cohort.spec.fairSharing.weight` | yes | yes | same |" in field_table()


def test_a_note_on_a_field_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kueue_fields, "NOTES", (FieldNote("Cohort.spec.parent"),))

    with pytest.raises(ValueError, match=r"no kind of Kueue has the field Cohort\.spec\.parent"):
        list(fields())
