"""Queues and Cohorts that stop admitting report it once, and once more when they admit again."""

from __future__ import annotations

from reconciler.controllers.status import QueueEvents
from reconciler.core.records import Records
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import by_kind
from scheduling.objects.queue_settings import CohortSettings
from tests.reconciler.two_queues import NOW, world


def stored() -> Records:
    """The queues and Cohorts of the world; "top" is only named by one of them."""
    records, kinds = Records(), by_kind()
    for kind, name in (("ClusterQueue", "q"), ("ClusterQueue", "r"), ("Cohort", "c")):
        manifest = {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "7"}}
        records.keep(kinds[kind].observed(manifest))
    return records


def about(found: list[WantedWrite]) -> list[str]:
    return sorted(each.about.name for each in found if each.about is not None)


def test_a_cohort_cycle_and_its_end_are_reported_for_every_node() -> None:
    made, events = world(), QueueEvents(stored())
    assert [*events.of(made, made.take_touched())] == []

    made.put_cohort(CohortSettings("top", "c", {}), NOW)
    touched = made.take_touched()
    found = [*events.of(made, touched), *events.of(made, touched)]
    assert about(found) == ["c", "q", "r"], "top has no object that an Event could be about"
    assert {(each.reason, each.warning, each.action) for each in found} == {("CohortCycleDetected", True, None)}

    made.put_cohort(CohortSettings("top", None, {}), NOW)
    found = [*events.of(made, made.take_touched())]
    assert about(found) == ["c", "q", "r"]
    assert {each.about and each.about.uid for each in found} == {"uid-c", "uid-q", "uid-r", None}
    assert {(each.reason, each.warning) for each in found} == {("Ready", False)}


def test_a_deleted_queue_gets_no_event() -> None:
    made, events = world(), QueueEvents(stored())
    made.drop_flavor("spot")
    assert len([*events.of(made, [("ClusterQueue", "q")])]) == 1
    made.drop_queue("q", NOW)
    assert [*events.of(made, [("ClusterQueue", "q"), ("LocalQueue", "ns/q")])] == []
