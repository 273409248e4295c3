"""The cache of objects when watches, lists and answers arrive out of order."""

from __future__ import annotations

from reconciler.multikueue.worker_cache import NewestObjects
from reconciler.objects.observed import Listed, Observed
from reconciler.objects.progress import ListProgress

KEY = ("Workload", "ns/a")


def test_an_older_object_than_the_known_one_is_not_taken() -> None:
    known = NewestObjects()
    assert known.take(Observed(KEY, "10", "new"))
    assert not known.take(Observed(KEY, "9", "old"))
    found = known.at(KEY)
    assert found is not None
    assert found.value == "new"


def test_an_object_is_deleted_after_the_answer_to_its_deletion() -> None:
    """The API server answers with the object, at the version that the watch reports for its end."""
    known = NewestObjects()
    assert known.take(Observed(KEY, "10", "there"))
    assert known.take(Observed(KEY, "11", "deleting"))
    assert known.take(Observed(KEY, "11", None))
    assert known.at(KEY) is None


def test_an_object_missing_in_a_list_is_deleted_and_the_kind_is_listed() -> None:
    known = NewestObjects()
    known.take(Observed(KEY, "10", "a"))
    news = known.replaced(Listed("Workload", (Observed(("Workload", "ns/b"), "11", "b"),), "12"))
    assert [(observed.key[1], observed.value) for observed in news] == [("ns/a", None), ("ns/b", "b")]
    assert known.progress.listed == {"Workload"}


def taken(known: ListProgress, listed: Listed) -> list[Observed]:
    return [*known.replace(listed, ())]


def test_a_kind_is_listed_once_the_whole_list_is_processed() -> None:
    known = ListProgress()
    changes = known.replace(Listed("Workload", (Observed(KEY, "10", "a"),), "11"), ())
    assert next(changes).key == KEY
    assert known.listed == set()

    assert [*changes] == []
    assert known.listed == {"Workload"}


def test_a_list_older_than_the_watch_is_ignored() -> None:
    known = ListProgress()
    known.advance("Workload", "20")
    assert taken(known, Listed("Workload", (Observed(KEY, "10", "a"),), "19")) == []
    assert known.listed == set()


def test_only_the_requested_list_marks_a_kind_as_listed_again() -> None:
    known = ListProgress()
    taken(known, Listed("Workload", (), "10"))
    first, second = known.ask(["Workload"]), known.ask(["Workload"])
    assert known.listed == set()

    assert taken(known, Listed("Workload", (Observed(KEY, "11", "a"),), "11")) != []
    taken(known, Listed("Workload", (Observed(KEY, "11", "a"),), "12", request=first))
    assert known.listed == set()

    taken(known, Listed("Workload", (Observed(KEY, "11", "a"),), "13", request=second))
    assert known.listed == {"Workload"}


def test_a_requested_list_counts_although_the_watch_is_newer() -> None:
    known = ListProgress()
    request = known.ask(["Workload"])
    known.advance("Workload", "20")
    assert taken(known, Listed("Workload", (Observed(KEY, "10", "a"),), "19", request)) == []
    assert known.listed == {"Workload"}


def test_an_answer_does_not_restore_an_object_that_the_watch_deleted() -> None:
    known = NewestObjects()
    known.progress.advance("Workload", "20")
    assert not known.is_news(Observed(KEY, "15", "a"))
    assert known.is_news(Observed(KEY, "21", "a"))
