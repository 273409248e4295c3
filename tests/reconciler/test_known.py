"""What is known of objects when watches, lists and answers overtake each other."""

from __future__ import annotations

from reconciler.feed import Listed, Seen
from reconciler.known import Known

KEY = ("Workload", "ns/a")


def test_an_older_object_than_the_known_one_is_not_taken() -> None:
    known = Known()
    assert known.take(Seen(KEY, "10", "new"))
    assert not known.take(Seen(KEY, "9", "old"))
    found = known.get(KEY)
    assert found is not None
    assert found.value == "new"


def test_what_a_list_lacks_is_gone_and_the_kind_is_listed() -> None:
    known = Known()
    known.take(Seen(KEY, "10", "a"))
    news = known.replaced(Listed("Workload", (Seen(("Workload", "ns/b"), "11", "b"),), "12"))
    assert [(seen.key[1], seen.value) for seen in news] == [("ns/a", None), ("ns/b", "b")]
    assert known.listed == {"Workload"}


def test_a_list_that_a_watch_has_overtaken_tells_nothing() -> None:
    known = Known()
    known.advance("Workload", "20")
    assert known.replaced(Listed("Workload", (Seen(KEY, "10", "a"),), "19")) == []
    assert known.listed == set()


def test_only_the_list_that_was_asked_for_tells_that_all_is_known_again() -> None:
    known = Known()
    known.replaced(Listed("Workload", (), "10"))
    first, second = known.ask("Workload"), known.ask("Workload")
    assert known.listed == set()

    assert known.replaced(Listed("Workload", (Seen(KEY, "11", "a"),), "11")) != []
    known.replaced(Listed("Workload", (Seen(KEY, "11", "a"),), "12", asked=first))
    assert known.listed == set()

    known.replaced(Listed("Workload", (Seen(KEY, "11", "a"),), "13", asked=second))
    assert known.listed == {"Workload"}


def test_a_list_that_was_asked_for_counts_though_the_watch_is_past_it() -> None:
    known = Known()
    asked = known.ask("Workload")
    known.advance("Workload", "20")
    assert known.replaced(Listed("Workload", (Seen(KEY, "10", "a"),), "19", asked)) == []
    assert known.listed == {"Workload"}


def test_an_answer_does_not_bring_back_what_a_watch_has_seen_go() -> None:
    known = Known()
    known.advance("Workload", "20")
    assert not known.tells_news(Seen(KEY, "15", "a"))
    assert known.tells_news(Seen(KEY, "21", "a"))
