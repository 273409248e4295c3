"""Reports are brought to what the last audit says: by who holds the Lease, whatever fails and whoever interferes."""

from __future__ import annotations

from datetime import UTC, datetime

from cluster.errors import NotFound
from policies.audit.audited import Audit, audit
from policies.configuration.settings import Configuration
from tests.audit.stored_reports import Published, refusal
from tests.builders import cohort, local_queue, world

CLUSTER = "/apis/openreports.io/v1alpha1/clusterreports"
TEAM = "/apis/openreports.io/v1alpha1/namespaces/team/reports"


def found(*roots: str, lost: bool = False) -> Audit:
    held = world(*(cohort(name, name) for name in roots), *([local_queue("x", "none", "team")] if lost else []))
    return audit(held, Configuration(), datetime(2026, 11, 23, tzinfo=UTC))


def roots(published: Published) -> list[str]:
    return sorted(each["scope"]["name"] for each in published.stored.objects.values() if "scope" in each)


def test_what_is_equal_is_not_written_again() -> None:
    published, first = Published(), found("a", "b", lost=True)
    published.publisher.step(first)
    assert roots(published) == ["a", "b"]
    published.stored.written.clear()

    published.news()
    published.publisher.step(first)
    published.publisher.step(found("a", "b", lost=True))
    assert published.stored.written == []

    published.publisher.step(found("b"))
    assert [each.split()[0] for each in published.stored.written] == ["DELETE", "DELETE"]
    assert roots(published) == ["b"]


def test_without_the_lease_or_before_the_reports_are_known_nothing_is_written() -> None:
    published = Published(installed=None)
    published.publisher.step(found("a"))
    published.publisher.step(None)
    standby = Published()
    standby.lead.writes = 0
    standby.publisher.step(found("a"))

    assert published.stored.objects == standby.stored.objects == {}


def test_a_lease_that_is_lost_between_two_writes_ends_them_and_one_that_comes_back_goes_on() -> None:
    published, every = Published(), found("a", "b", "c")
    published.lead.writes = 2  # the step itself, and one report
    published.publisher.step(every)
    assert roots(published) == ["a"]

    published.lead.writes = 100
    published.publisher.step(every)
    assert roots(published) == ["a"], "the same term: it is tried again after a while"
    published.now += 60
    published.publisher.step(every)
    assert roots(published) == ["a", "b", "c"]


def test_a_new_term_looks_at_everything_again() -> None:
    published, every = Published(), found("a")
    published.publisher.step(every)
    published.stored.objects.clear()  # by the holder in between, and no watch has told of it

    published.publisher.step(every)
    assert roots(published) == []
    published.lead.terms += 1
    published.publisher.step(every)
    assert roots(published) == ["a"]


def test_one_that_fails_is_counted_and_tried_again_and_holds_up_no_other() -> None:
    published, every = Published(), found("a", "b", lost=True)
    published.publisher.step(every)
    (first, *_) = sorted(published.stored.objects)
    del published.stored.objects[first]
    published.stored.refusals[first] = refusal()
    published.news()
    published.publisher.step(every)
    assert (roots(published), published.writes("failed")) == (["b"], 1)

    published.stored.refusals.clear()
    published.publisher.step(every)
    assert roots(published) == ["b"]
    published.now += 60
    published.publisher.step(every)
    assert roots(published) == ["a", "b"]


def test_a_namespace_that_is_gone_is_no_failure() -> None:
    published, every = Published(), found("a", lost=True)
    published.stored.refusals[f"{TEAM}/quotree-in-no-tree"] = NotFound(404, "NotFound", "namespaces team")

    published.publisher.step(every)

    assert (roots(published), published.writes("failed")) == (["a"], 0)


def test_a_report_without_our_label_under_our_name_is_taken_back() -> None:
    published, every = Published(), found("a")
    published.publisher.step(every)
    (path,) = published.stored.objects
    published.stored.edit(path, {"metadata": {"labels": None}, "results": []})

    published.news()
    published.publisher.step(every)

    report = published.stored.objects[path]
    assert report["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "quotree"}
    assert len(report["results"]) == 1


def test_where_the_api_server_drops_a_field_it_is_not_written_for_ever() -> None:
    published, every = Published(), found("a")
    published.stored.pruned = ("configuration",)  # an older version of the kind

    for _ in range(5):
        published.news()
        published.publisher.step(every)

    assert len(published.stored.written) == 1


def test_who_edits_a_report_is_answered_each_time() -> None:
    published, every = Published(), found("a")
    published.publisher.step(every)
    (path,) = published.stored.objects
    for _ in range(3):
        published.stored.edit(path, {"summary": {"fail": 0}})
        published.news()
        published.publisher.step(every)
        assert published.stored.objects[path]["summary"]["fail"] == 1


def test_once_the_reports_can_be_stored_nowhere_that_is_said_and_is_no_fault() -> None:
    published = Published(installed=False)

    published.publisher.step(found("a"))

    assert published.stored.written == []
    assert "neither OpenReports nor PolicyReports" in published.publisher.notes()[0]
    assert Published().publisher.notes() == []
