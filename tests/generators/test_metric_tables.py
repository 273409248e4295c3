"""The tables of metrics."""

from __future__ import annotations

import pytest

from cluster.metrics import Family, Stability
from generators.metric_tables import ADDED_0_20, metric_table, of_the_reconciler, version_table


def test_a_metric_is_a_row_with_its_labels_and_values() -> None:
    family = Family("a_total", "What happened.", ("kind", "at"), initial=(("x", "y"), ("x", "z")))

    assert metric_table([family]).splitlines()[-1] == (
        "| `a_total` | counter | `kind`, `at` | beta | What happened. One of `x`, `y`, `z`. |"
    )


def test_a_metric_that_belongs_to_no_table_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"other_things: no table of docs/metrics\.md"):
        of_the_reconciler([Family("other_things", "Things.")])


def of_kueue(*names: str) -> list[Family]:
    return [Family(name, "Says nothing.", stability=Stability.KUEUE) for name in names]


def test_a_metric_of_kueue_has_its_versions_and_its_support() -> None:
    added = "kueue_workload_recovery_wait_time_seconds"
    there = [name for name, why in ADDED_0_20.items() if not why]

    table = version_table(of_kueue("kueue_pending_workloads", *there))

    assert "| `kueue_pending_workloads` | yes | yes | same |" in table
    assert f"| `{added}` | - | yes | not: {ADDED_0_20[added]} |" in table
    assert f"| `{added}` | - | yes | same |" in version_table(of_kueue(added, *there))


def test_a_missing_metric_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="kueue_execution_time_seconds is not exported"):
        version_table(of_kueue("kueue_pending_scheduling_hashes"))
