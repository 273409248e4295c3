"""What a watch showed while a write was under way is not read once more out of the answer."""

from __future__ import annotations

from cluster.actions import Patch
from reconciler.core.commands import WriteCommand
from reconciler.core.records import InFlight, Records
from reconciler.objects.observed import Observed
from reconciler.objects.patches import WORKLOADS

KEY = ("Workload", "ns/a")
SEEN = Observed(KEY, "2", "value")


def under_way() -> Records:
    records = Records()
    records.send(KEY, InFlight(WriteCommand(KEY, Patch(WORKLOADS, "ns", "a", {}, "1", "m"))))
    return records


def test_what_was_read_is_known_while_a_write_is_under_way_though_it_is_not_stored() -> None:
    records = under_way()

    assert records.note(SEEN) is SEEN
    assert records.known(KEY) is SEEN
    assert records.at(KEY) is None


def test_it_is_not_kept_longer() -> None:
    records = under_way()
    records.note(SEEN)
    records.land(KEY)

    assert records.known(KEY) is None


def test_nothing_is_kept_of_what_nobody_writes() -> None:
    records = Records()
    records.note(SEEN)

    assert records.known(KEY) is None
