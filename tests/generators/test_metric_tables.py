"""The tables of metrics."""

from __future__ import annotations

import pytest

from cluster.metrics import Family, Type
from generators.metric_tables import metric_table, of_the_reconciler


def test_a_metric_is_a_row_with_its_labels_and_values() -> None:
    family = Family("a_total", Type.COUNTER, "What happened.", ("kind", "at"), initial=(("x", "y"), ("x", "z")))

    assert metric_table([family]).splitlines()[-1] == (
        "| `a_total` | counter | `kind`, `at` | beta | What happened. One of `x`, `y`, `z`. |"
    )


def test_a_metric_that_belongs_to_no_table_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"other_things: no table of docs/metrics\.md"):
        of_the_reconciler([Family("other_things", Type.GAUGE, "Things.")])
