"""Which entries count for a change, when an entry is settled, and which forests are possible."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.sightings import Sighting, Sightings, Snapshot, covers, scope
from policies.judging.changes import changed
from policies.model.change import Change
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Ref
from tests.builders import (
    EVERYTHING,
    cluster_queue,
    cohort,
    config_map,
    flavor,
    group,
    kueue,
    local_queue,
    namespace,
    queue,
    typed,
)
from tests.profiles import each_case
from webhook.ledger.contents import LedgerContents, open_entries, possible_forests, related_entries, settlement
from webhook.ledger.direct_reads import DirectRead, DirectReads
from webhook.ledger.entry import LedgerEntry, new_entry

Manifest = dict[str, Any]


def known(*manifests: Manifest) -> Forest:
    return Forest.of(map(typed, manifests), known=EVERYTHING)


def made(old: Manifest | None, new: Manifest | None, base: str = "5", uid: str = "u") -> LedgerEntry:
    """The entry of a change; its object has this uid, and a version if there is an old one."""
    there = old or new
    assert there is not None
    ref = typed(there).ref
    if old is not None:
        old = {**old, "metadata": {**old["metadata"], "uid": uid, "resourceVersion": base}}
    elif new is not None:
        new = {**new, "metadata": {**new["metadata"], "uid": uid}}
    return new_entry(f"{ref} {new} {base}", ref, old, new, "ada", "now")


def asked(old: Manifest | None, new: Manifest | None) -> Change:
    found = changed(old, new)
    assert found is not None
    return found


# -- settled -----------------------------------------------------------------------------------------------------------

A = queue("a")
REF = typed(A).ref


def sightings(progress: str, *seen: tuple[Ref, str, str], gone: tuple[str, str] | None = None) -> Sightings:
    found = Sightings().listed(scope(REF), progress, (), {ref: Sighting(uid, version) for ref, uid, version in seen})
    return found.drop(REF, Sighting(*gone)) if gone else found


@each_case(
    ("entry", "shown", "outcome"),
    [
        (made(None, A), sightings("9"), None),
        (made(None, A), sightings("9", (REF, "other", "8")), None),
        (made(None, A), sightings("9", (REF, "u", "6")), ("6",)),
        (made(None, A), sightings("6", gone=("u", "7")), ("7",)),
        (made(A, A), sightings("5", (REF, "u", "5")), None),
        (made(A, A), sightings("6", (REF, "u", "6")), ("6",)),
        (made(A, A), sightings("4", (REF, "u", "4")), None),
        (made(A, None), sightings("4"), None),
        (made(A, None), sightings("5"), (None,)),
        (made(A, None), sightings("5", gone=("u", "7")), ("7",)),
        (made(A, None), sightings("9", (REF, "other", "8")), (None,)),
        (made(A, A, base="10"), sightings("9", (REF, "u", "9")), None),
    ],
)
def test_an_entry_is_settled_when_its_outcome_is_observed(
    entry: LedgerEntry, shown: Sightings, outcome: tuple[str | None] | None
) -> None:
    assert settlement(entry, shown) == outcome


def test_a_cache_older_than_the_watermark_of_the_ledger_is_behind() -> None:
    contents = LedgerContents("1", watermarks={scope(REF): "7", "Unfollowed": "9"})

    assert contents.behind(sightings("6")) == [scope(REF)]
    assert contents.behind(sightings("7")) == []
    assert contents.behind(sightings("6"), forgiven=[scope(REF)]) == []


def test_a_watch_without_a_resource_version_covers_no_version() -> None:
    assert not covers(None, "1")
    assert not covers("", "1")


def test_old_deletions_are_dropped_from_the_sightings() -> None:
    found = Sightings()
    for number in range(2000):
        found = found.drop(REF, Sighting(f"u{number}", str(number)))

    assert found.deleted(REF, "u1999") == "1999"
    assert found.deleted(REF, "u0") is None


# -- which entries count -----------------------------------------------------------------------------------------------

CPU = group("cpu", flavor("spot", cpu="4"))


@each_case(
    ("change", "entry", "counts"),
    [
        (asked(None, queue("a", "top")), made(None, queue("b", "top")), True),
        (asked(None, queue("a", "top")), made(queue("top"), None), True),
        (asked(None, queue("a", "top")), made(None, queue("a", "top")), False),  # of one object one is stored at most
        (asked(cohort("x"), cohort("x", "y")), made(cohort("y"), cohort("y", "x")), True),
        (asked(None, cohort("x", "one")), made(None, cohort("y", "two")), False),
        (asked(None, cohort("x", "one")), made(cohort("two"), cohort("two", "one")), True),
        (asked(None, cluster_queue("q", "one", CPU)), made(kueue("ResourceFlavor", "spot"), None), True),
        (asked(None, cluster_queue("q", "one", CPU)), made(None, cluster_queue("r", "two", CPU)), False),
        (asked(None, local_queue("lq", "q")), made(cluster_queue("q"), None), True),
        (asked(None, local_queue("lq", "q")), made(None, cluster_queue("r", "two")), False),
        (asked(None, cluster_queue("same")), made(None, cohort("same")), True),
        (asked(None, namespace("a", {})), made(None, namespace("b", {})), True),
        (asked(None, namespace("a", {})), made(None, config_map("yunikorn-configs", "yunikorn", data={})), True),
        (asked(None, namespace("a", {})), made(None, queue("b")), False),
    ],
)
def test_entries_count_if_one_change_could_affect_the_other(change: Change, entry: LedgerEntry, counts: bool) -> None:
    assert bool(related_entries(change, known(), [entry])) is counts


def test_entries_of_the_old_and_the_new_tree_of_a_moved_cohort_count() -> None:
    forest = known(cohort("old"), cohort("moved", "old"), cohort("new"))
    moving = made(cohort("moved", "old"), cohort("moved", "new"))
    below = asked(None, cluster_queue("q", "moved", CPU))
    beside = [made(None, cohort(name, name[3:]), uid=name) for name in ("in-old", "in-new", "in-else")]

    related = related_entries(below, forest, [moving, *beside])
    assert [each.ref.name for each in related] == ["moved", "in-old", "in-new"]


def test_changes_of_two_clusters_of_one_config_count_for_each_other() -> None:
    eu, us = (kueue("MultiKueueCluster", name, {"kubeConfig": {"location": name}}) for name in ("eu", "us"))
    forest = known(kueue("MultiKueueConfig", "both", {"clusters": ["eu", "us"]}))

    assert related_entries(asked(None, eu), forest, [made(None, us)])


# -- possible forests -------------------------------------------------------------------------------------------------


def names(forest: Forest) -> str:
    return " ".join(sorted(node.ref.name for node in forest.nodes()))


def test_possible_forests_have_each_combination_of_changes_and_one_per_object() -> None:
    forest = known(queue("kept"), queue("going"))
    entries = [
        made(queue("going"), None),
        made(None, queue("new")),
        made(None, queue("new", deserved="cpu:1"), uid="v"),
    ]

    found = possible_forests(forest, entries, 6)

    assert found is not None
    assert sorted(map(names, found)) == [
        "going kept",
        "going kept new",
        "going kept new",
        "kept",
        "kept new",
        "kept new",
    ]


def test_an_entry_without_effect_adds_no_forest_and_too_many_forests_give_none() -> None:
    forest = known(queue("a"))

    assert len(list(possible_forests(forest, [made(None, queue("a"))], 1) or ())) == 1
    assert possible_forests(forest, [made(queue("a"), None)], 1) is None


# -- what was read of single objects -----------------------------------------------------------------------------------


def view(entry: LedgerEntry, direct_read: DirectRead | None, cache: Snapshot) -> tuple[str, int]:
    """The names in the forest, and how many entries are open, once the object was read."""
    direct_reads = DirectReads(lambda: 0.0)
    direct_reads.note(entry, direct_read)
    seen = direct_reads.over(cache)
    return names(seen.forest), len(open_entries([entry], seen))


@pytest.mark.parametrize(
    ("entry", "direct_read", "expected"),
    [
        (made(None, queue("b")), None, ("a", 1)),
        (made(None, queue("b")), (queue("b"), "other", "6"), ("a", 1)),
        (made(None, queue("b")), (queue("b"), "u", "6"), ("a b", 0)),
        (made(A, None), (A, "u", "5"), ("a", 1)),
        (made(A, None), (A, "u", "6"), ("a", 0)),
        (made(A, None), None, ("", 0)),
        (made(A, None), (A, "other", "6"), ("", 0)),
    ],
)
def test_a_direct_read_settles_an_entry_before_the_watch(
    entry: LedgerEntry, direct_read: tuple[Manifest, str, str] | None, expected: tuple[str, int]
) -> None:
    cache = Snapshot(known(A), sightings("5", (REF, "u", "5")))
    found = DirectRead(_thing(direct_read[0]), Sighting(*direct_read[1:])) if direct_read else None

    assert view(entry, found, cache) == expected


def _thing(manifest: Manifest) -> KubeObject:
    return typed(manifest)


def test_a_direct_read_is_dropped_when_the_watch_has_a_newer_version() -> None:
    direct_reads = DirectReads(lambda: 0.0)
    direct_reads.note(
        made(None, queue("b"), uid="v"), DirectRead(typed(queue("b", deserved="cpu:1")), Sighting("v", "6"))
    )
    b = typed(queue("b"))
    newer = Snapshot(known(A).put(b), sightings("7", (b.ref, "v", "7")))

    assert direct_reads.over(newer) is newer
