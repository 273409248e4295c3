"""Threads that add entries: their order, waiting for others, and the errors if the ledger cannot be used."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from cluster.errors import Conflict, Forbidden, Unreachable
from cluster.reflector import Pacing
from cluster.sightings import Sighting, Snapshot
from cluster.store import FoundManifest
from cluster.wire import Timeouts
from policies.judge import Judgement, judge
from policies.judging.changes import changed
from policies.model.forest import Forest
from policies.model.objects import Ref
from tests.builders import cluster_queue, local_queue, queue, typed
from tests.waiting import eventually
from tests.webhook.ledger.api import Api, Replica
from webhook.ledger.contents import LedgerContents
from webhook.ledger.entry import (
    BYTES_OF_AUTHOR,
    BYTES_OF_NAMESPACE,
    MOST_OF_NAMESPACE,
    MOST_OF_OBJECT,
    LedgerEntry,
    crowded,
    new_entry,
)
from webhook.ledger.ledger import DECIDING_SECONDS, SILENT_SECONDS, Ledger
from webhook.ledger.remembered_authors import (
    APART_SECONDS,
    MOST_AUTHORS,
    REMEMBERED_SECONDS,
    author_key,
    surplus_authors,
)
from webhook.ledger.requested import AlreadyExists, LedgerBusy
from webhook.ledger.sequencer import LINGERING_SECONDS, REQUEST_SECONDS
from webhook.ledger.store import LARGEST, LedgerUnavailable

Manifest = dict[str, Any]


class LedgerRun:
    """A ledger over an API server in memory; `writes` are what was written, each of them after `gate`."""

    def __init__(self, *manifests: Manifest, patience: float = 0.0) -> None:
        self.api = Api(random.Random(1))
        self.now = 0.0
        self.writes: list[list[str]] = []
        self.gate: Callable[[], None] = lambda: None
        self.heard = 0.0
        self.numbers = 0
        self.tick = 0.01
        self.look_error: Exception | None = None
        for manifest in manifests:
            version = self.api.next()
            metadata = {**manifest["metadata"], "uid": manifest["metadata"]["name"], "resourceVersion": version}
            self.api.objects[typed(manifest).ref] = {**manifest, "metadata": metadata}
        self.replica = Replica(self.api, 0.0)
        self.store = self.replica.store
        self.ledger = Ledger(self, self, patience=patience, clock=lambda: self.now, pause=self._pause)

    # as a store

    def newest(self) -> LedgerContents | None:
        return self.store.newest()

    def read(self) -> LedgerContents:
        return self.store.read()

    def write(
        self,
        contents: LedgerContents,
        added: Iterable[LedgerEntry],
        dropped: Iterable[str],
        watermarks: dict[str, str | None],
    ) -> LedgerContents:
        added = list(added)
        self.gate()
        done = self.store.write(contents, added, dropped, watermarks)
        self.writes.append([each.ref.name for each in added])
        return done

    # as a cache

    def snapshot(self) -> Snapshot:
        return self.replica.snapshot

    def look(self, ref: Ref) -> FoundManifest | None:
        if self.look_error is not None:
            raise self.look_error
        direct_read = self.api.look(ref)
        return FoundManifest(direct_read.stored, direct_read.seen) if direct_read else None

    def age(self) -> float | None:
        return self.heard

    # what requests do

    def ask(self, new: Manifest | None, old: Manifest | None = None, *, dry: bool = False) -> Judgement:
        there = new or old
        assert there is not None
        change = changed(old, new)
        assert change is not None
        name = there["metadata"]["name"]
        if old is None and new is not None:
            new = {**new, "metadata": {**new["metadata"], "uid": f"new-{name}"}}
        record = None if dry else new_entry(f"request-{name}", change.ref, old, new, "ada", "today")
        return self.ledger.decide(change, lambda forest: judge(forest, [change]), record)

    def allowed(self, new: Manifest | None, old: Manifest | None = None) -> bool:
        return self.ask(new, old).verdict.allowed

    def stored(self, manifest: Manifest) -> None:
        """The API server stores it, and the watch does not show it yet."""
        version, name = self.api.next(), manifest["metadata"]["name"]
        there = {**manifest, "metadata": {**manifest["metadata"], "uid": f"new-{name}", "resourceVersion": version}}
        self.api.objects[typed(manifest).ref] = there

    def shown(self, name: str) -> None:
        """The watch shows it."""
        ref = typed(queue(name)).ref
        manifest = self.api.objects[ref]
        seen = Sighting(manifest["metadata"]["uid"], manifest["metadata"]["resourceVersion"])
        cache = self.replica.snapshot
        self.replica.snapshot = Snapshot(cache.forest.put(typed(manifest)), cache.sightings.put(ref, seen))

    def _pause(self, _: float) -> None:
        self.now += self.tick


TOP = queue("top", deserved="cpu:10")


def six(name: str) -> Manifest:
    return queue(name, "top", deserved="cpu:6")


def test_two_changes_that_are_valid_only_alone_are_not_both_allowed() -> None:
    run = LedgerRun(TOP)

    assert run.allowed(six("a"))
    assert not run.allowed(six("b"))


def test_a_denial_that_depends_on_unstored_changes_names_them() -> None:
    run = LedgerRun(TOP)
    run.allowed(six("a"))

    (finding,) = [judged.finding for judged in run.ask(six("b")).verdict.findings]

    assert finding.fix.endswith(
        "it depends on changes not stored yet (CREATE of Queue a by ada at today): if one fails, try again in a minute"
    )


def test_a_direct_read_of_the_object_settles_its_entry() -> None:
    run = LedgerRun(TOP)
    run.allowed(six("a"))
    run.stored(queue("a", "top", deserved="cpu:1"))

    assert run.allowed(six("b"))
    assert run.now < DECIDING_SECONDS / 2


def test_a_watch_event_settles_an_entry_without_waiting() -> None:
    run = LedgerRun(TOP)
    run.allowed(six("a"))
    run.stored(six("a"))
    threading.Timer(0.05, lambda: run.shown("a")).start()
    run.tick = 0.0

    assert not run.allowed(six("b"))
    assert run.now == 0.0


def test_a_change_that_depends_on_an_unstored_one_is_denied_until_it_is_stored() -> None:
    run = LedgerRun()
    run.allowed(TOP)
    assert not run.allowed(six("early"))

    run.stored(TOP)

    assert run.allowed(six("a"))


def test_a_dry_run_is_judged_with_the_entries_and_adds_none() -> None:
    run = LedgerRun(TOP)

    assert run.ask(six("dry"), dry=True).verdict.allowed
    assert run.writes == []
    run.allowed(six("a"))
    assert not run.ask(six("dry"), dry=True).verdict.allowed


def test_requests_that_arrive_during_a_write_share_the_next_one() -> None:
    run = LedgerRun(TOP)
    waiting, go_on = threading.Event(), threading.Event()

    def gate() -> None:
        waiting.set()
        assert go_on.wait(30)

    run.gate = gate
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(run.allowed, queue("a", "top", deserved="cpu:1"))
        assert waiting.wait(30)
        others = [pool.submit(run.allowed, queue(name, "top", deserved="cpu:1")) for name in "bcd"]
        eventually(lambda: len(run.ledger._waiting) == 3)
        run.gate = lambda: None
        go_on.set()

        assert all(future.result() for future in (first, *others))
    assert sorted(map(sorted, run.writes)) == [["a"], ["b", "c", "d"]]


def test_a_change_is_judged_again_with_the_entry_of_a_faster_replica() -> None:
    run = LedgerRun(TOP)
    rival = Replica(run.api, 0.0)
    run.store.hear()

    def gate() -> None:
        run.gate = lambda: None
        rival.review([(None, six("a"))])

    run.gate = gate

    assert not run.allowed(six("b"))
    assert [each.ref.name for each in run.api.contents().entries.values()] == ["a"]


def test_an_internal_error_affects_only_its_own_request() -> None:
    run = LedgerRun(TOP)
    change = changed(None, six("a"))
    assert change is not None

    def broken(_: Forest) -> Judgement:
        raise RuntimeError("a rule failed")

    with pytest.raises(RuntimeError, match="a rule failed"):
        run.ledger.decide(change, broken, None)
    assert run.allowed(six("a"))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Forbidden(403, "Forbidden", "no"), "cannot order this change: 403 Forbidden: no"),
        (Unreachable("api", "timeout", "look"), "cannot order this change: api: timeout; look"),
        (Conflict(409, "Conflict", "changed"), "other replicas were faster each time"),
        (LedgerUnavailable("the ledger is full"), "the ledger is full"),
    ],
)
def test_a_ledger_that_cannot_be_written_allows_no_change(error: Exception, says: str) -> None:
    run = LedgerRun(TOP)

    def gate() -> None:
        run.now += 0.5
        raise error

    run.gate = gate

    with pytest.raises(LedgerUnavailable, match=says):
        run.ask(six("a"))


def test_an_entry_of_a_failed_request_is_ignored_and_removed() -> None:
    run = LedgerRun(TOP)

    def broken() -> None:
        run.now += DECIDING_SECONDS
        raise Unreachable("api", "reset", "look")

    change = changed(None, six("a"))
    assert change is not None
    entry = new_entry("request-a", change.ref, None, six("a"), "ada", "today")
    run.gate = broken
    with pytest.raises(LedgerUnavailable):
        run.ask(six("a"))
    run.api.write_ledger(str(run.api.ledger_version), {"request-a": entry.text})
    run.store.hear()
    run.gate = lambda: None

    assert run.allowed(six("b"))
    assert [each.ref.name for each in run.api.contents().entries.values()] == ["b"]


def test_a_replica_without_watch_events_for_minutes_orders_no_changes() -> None:
    run = LedgerRun(TOP)
    run.heard = SILENT_SECONDS + 1

    with pytest.raises(LedgerUnavailable, match="has not heard from the API server for minutes"):
        run.ask(six("a"))


def test_a_watch_is_renewed_before_it_counts_as_silent() -> None:
    """Bookmarks are not frequent enough: the API server sent the first one after two minutes."""
    longest = Pacing().watch * 1.1 + Timeouts().watch_grace + Timeouts().connect

    assert longest < SILENT_SECONDS < LINGERING_SECONDS


def test_a_replica_behind_the_watermark_waits_and_then_reports_it() -> None:
    run = LedgerRun(TOP)
    run.api.write_ledger(str(run.api.ledger_version), {"seen": '{"Queue.scheduling.volcano.sh": "99999"}'})
    run.store.hear()

    with pytest.raises(LedgerUnavailable, match=r"has not seen the newest Queue\.scheduling\.volcano\.sh yet"):
        run.ask(six("a"))


def test_too_many_unstored_changes_are_reported() -> None:
    run = LedgerRun(queue("top", deserved="cpu:100"))
    for number in range(9):
        text = new_entry(
            f"r{number}", typed(queue(f"q{number}")).ref, None, queue(f"q{number}", "top", deserved="cpu:1"), "ada", "t"
        ).text
        run.api.ledger[f"r{number}"] = text
    run.store.hear()

    with pytest.raises(LedgerBusy, match="9 changes around Queue a are not stored yet, the first is the CREATE"):
        run.ask(queue("a", "top", deserved="cpu:1"))


def test_the_maximum_size_of_the_ledger_fits_a_config_map() -> None:
    assert LARGEST < 2**20


# -- a name that is taken ----------------------------------------------------------------------------------------------


def test_a_creation_of_an_existing_object_is_denied_without_an_entry() -> None:
    run = LedgerRun(TOP, queue("a", "top", deserved="cpu:1"))

    with pytest.raises(AlreadyExists, match="Queue a already exists"):
        run.ask(queue("a", "top", deserved="cpu:9"))

    assert run.writes == []
    assert run.allowed(six("b"))


def test_an_object_that_is_deleted_but_still_cached_can_be_created() -> None:
    run = LedgerRun(TOP, queue("a", "top", deserved="cpu:1"))
    del run.api.objects[typed(queue("a")).ref]

    assert run.allowed(six("a"))
    assert run.now < DECIDING_SECONDS / 2


def test_the_second_creation_of_a_name_waits_and_is_denied_as_existing() -> None:
    run = LedgerRun(TOP)
    assert lost(run, queue("a", "top", deserved="cpu:1"))
    made = queue("a", "top", deserved="cpu:1")
    made["metadata"] |= {"uid": "uid-1", "resourceVersion": run.api.next()}
    run.api.objects[typed(made).ref] = made
    threading.Timer(0.05, lambda: run.shown("a")).start()
    run.tick = 0.0

    with pytest.raises(AlreadyExists):
        lost(run, queue("a", "top", deserved="cpu:9"))
    assert run.writes == [["a"]]


def test_a_creation_that_was_not_stored_delays_the_next_one_of_its_name() -> None:
    run = LedgerRun(TOP)
    assert lost(run, queue("a", "top", deserved="cpu:1"))

    assert run.allowed(queue("a", "top", deserved="cpu:2"))
    assert run.now <= DECIDING_SECONDS / 2 + 0.1


def test_a_creation_is_denied_if_the_existing_object_cannot_be_read() -> None:
    run = LedgerRun(TOP, queue("a", "top", deserved="cpu:1"))
    run.look_error = Unreachable("api", "timeout", "look")

    with pytest.raises(LedgerUnavailable, match="whether Queue a exists cannot be read: api: timeout; look"):
        run.ask(queue("a", "top", deserved="cpu:9"))


# -- whoever fills the ledger fills it for himself ---------------------------------------------------------------------


def lost(run: LedgerRun, manifest: Manifest) -> bool:
    """A request that is allowed and then fails elsewhere."""
    run.numbers += 1
    change = changed(None, manifest)
    assert change is not None
    new = {**manifest, "metadata": {**manifest["metadata"], "uid": f"uid-{run.numbers}"}}
    record = new_entry(f"request-{run.numbers}", change.ref, None, new, "eve", "today")
    return run.ledger.decide(change, lambda forest: judge(forest, [change]), record).verdict.allowed


def test_repeated_requests_for_the_same_change_are_one_entry() -> None:
    run = LedgerRun(TOP)
    usual(run)

    assert all(lost(run, six("a")) for _ in range(100))

    assert list(run.api.contents().entries) == ["request-100"]


def test_one_object_does_not_fill_the_ledger() -> None:
    run = LedgerRun(queue("top", deserved="cpu:1000"))
    for cpu in range(MOST_OF_OBJECT):
        assert lost(run, queue("a", "top", deserved=f"cpu:{cpu + 1}"))

    with pytest.raises(LedgerBusy, match="20 other changes of Queue a are not stored yet"):
        lost(run, queue("a", "top", deserved="cpu:500"))


def test_one_namespace_does_not_fill_the_ledger() -> None:
    run = LedgerRun(cluster_queue("cq"))
    for number in range(MOST_OF_NAMESPACE):
        assert lost(run, local_queue(f"lq-{number}", "cq", "team"))

    with pytest.raises(LedgerBusy, match="50 changes in namespace team are not stored yet"):
        lost(run, local_queue("another", "cq", "team"))
    assert lost(run, local_queue("another", "cq", "others"))


def test_a_warning_is_given_only_if_all_possible_states_give_it() -> None:
    run = LedgerRun()
    assert run.allowed(cluster_queue("lab"))

    assert run.ask(local_queue("main", "lab")).verdict.findings == ()
    [warned] = run.ask(local_queue("other", "lba")).verdict.findings
    assert warned.rule.id == "cluster-queue-missing"


# -- authors whose entries came to nothing -----------------------------------------------------------------------------


def usual(run: LedgerRun) -> None:
    """The API server stores eight changes at once."""
    for number in range(8):
        name = f"usual-{number}"
        assert run.allowed(queue(name))
        run.stored(queue(name))
        run.shown(name)
        run.ledger.observe()


def came_to_nothing(run: LedgerRun) -> None:
    """An entry of eve's is never stored."""
    assert lost(run, queue("nothing", "top", deserved="cpu:6"))
    run.ledger.tidy()
    run.now += REQUEST_SECONDS + 1
    run.ledger.tidy()
    assert "request-1" not in run.api.contents().entries


def test_the_entry_of_an_author_with_unstored_changes_expires_after_the_usual_time() -> None:
    run = LedgerRun(TOP)
    usual(run)
    came_to_nothing(run)
    assert lost(run, six("a"))

    started = run.now
    assert run.allowed(six("b"))
    assert 1.0 < run.now - started < 1.5
    assert "request-2" in run.api.contents().entries


def test_the_entry_of_any_other_author_does_not_expire_early() -> None:
    run = LedgerRun(TOP)
    usual(run)
    assert lost(run, six("a"))

    assert not run.allowed(six("b"))
    run.now += 30
    assert not run.allowed(six("b"))


def test_an_entry_does_not_expire_early_before_the_usual_time_is_measured() -> None:
    run = LedgerRun(TOP)
    came_to_nothing(run)
    assert lost(run, six("a"))

    assert not run.allowed(six("b"))


def stored_slowly(run: LedgerRun, name: str) -> None:
    """The API server takes five seconds to store a queue."""
    assert run.allowed(queue(name))
    run.ledger.observe()
    run.now += 5.0
    run.stored(queue(name))
    run.shown(name)
    run.ledger.observe()


def test_an_entry_expires_later_where_the_api_server_is_slow() -> None:
    run = LedgerRun(TOP)
    usual(run)
    stored_slowly(run, "slow")
    stored_slowly(run, "slow-too")
    came_to_nothing(run)
    assert lost(run, six("a"))

    assert not run.allowed(six("b"))
    run.now += 10.0
    assert run.allowed(six("b"))


def test_one_slow_write_does_not_raise_the_usual_time() -> None:
    run = LedgerRun(TOP)
    usual(run)
    stored_slowly(run, "slow")
    came_to_nothing(run)
    assert lost(run, six("a"))

    assert run.allowed(six("b"))


def assert_room_is_lent_soon(run: LedgerRun) -> None:
    came_to_nothing(run)
    assert lost(run, six("a"))

    started = run.now
    assert run.allowed(six("b"))
    assert run.now - started < 1.5


def edit_that_fails_elsewhere(run: LedgerRun, name: str, cores: int) -> None:
    """Eve's edit of a queue is allowed and never stored."""
    old = run.api.objects[typed(queue(name)).ref]
    new = {**old, "spec": {**old["spec"], "deserved": {"cpu": str(cores)}}}
    change = changed(old, new)
    assert change is not None
    run.ledger.decide(
        change, lambda forest: judge(forest, [change]), new_entry("edit", change.ref, old, new, "eve", "")
    )
    run.ledger.observe()


def test_the_age_of_an_edit_that_was_not_stored_is_not_measured_by_a_status_write() -> None:
    """A controller writes the status half a minute later. This settles the entry, but the edit was not stored."""
    run = LedgerRun(TOP)
    usual(run)
    edit_that_fails_elsewhere(run, "usual-0", 1)
    run.now += 30.0
    run.stored({**queue("usual-0"), "status": {"state": "Open"}})
    run.shown("usual-0")
    run.ledger.observe()

    assert_room_is_lent_soon(run)


def test_the_age_of_an_unstored_edit_is_not_measured_by_a_later_edit() -> None:
    run = LedgerRun(TOP)
    usual(run)
    edit_that_fails_elsewhere(run, "usual-0", 1)
    run.now += 30.0
    before = run.api.objects[typed(queue("usual-0")).ref]
    after = queue("usual-0", deserved="cpu:1")
    assert run.allowed(after, before)
    run.stored(after)
    run.shown("usual-0")
    run.ledger.observe()

    assert_room_is_lent_soon(run)


def test_the_usual_time_is_measured_from_edits_and_creations() -> None:
    run = LedgerRun(TOP, *(queue(f"usual-{number}") for number in range(8)))
    for number in range(8):
        before = run.api.objects[typed(queue(f"usual-{number}")).ref]
        after = {**before, "spec": {**before["spec"], "deserved": {"cpu": "1"}}}
        assert run.allowed(after, before)
        after["metadata"] = {**after["metadata"], "resourceVersion": run.api.next()}
        run.api.objects[typed(after).ref] = after
        run.shown(f"usual-{number}")
        run.ledger.observe()
    came_to_nothing(run)
    assert lost(run, six("a"))

    assert run.allowed(six("b"))


def test_a_change_that_is_stored_late_still_counts() -> None:
    run = LedgerRun(TOP)
    usual(run)
    came_to_nothing(run)
    assert lost(run, six("a"))
    run.now += 5.0
    made = six("a")
    made["metadata"] |= {"uid": "uid-2", "resourceVersion": run.api.next()}
    run.api.objects[typed(made).ref] = made

    assert not run.allowed(six("b"))


def test_an_author_with_unstored_changes_waits_until_others_had_a_turn() -> None:
    run = LedgerRun(TOP)
    usual(run)
    came_to_nothing(run)
    assert lost(run, queue("a", "top", deserved="cpu:1"))

    started = run.now
    assert lost(run, queue("b", "top", deserved="cpu:1"))
    assert run.now - started >= 1.0 + APART_SECONDS


def test_an_author_whose_next_change_is_stored_at_once_hardly_waits() -> None:
    run = LedgerRun(TOP)
    usual(run)
    came_to_nothing(run)
    assert lost(run, queue("a", "top", deserved="cpu:1"))
    made = queue("a", "top", deserved="cpu:1")
    made["metadata"] |= {"uid": "uid-2", "resourceVersion": run.api.next()}
    run.api.objects[typed(made).ref] = made

    started = run.now
    assert lost(run, queue("b", "top", deserved="cpu:1"))
    assert run.now - started < 0.5


def test_eight_new_entries_of_one_author_do_not_delay_others_for_long() -> None:
    run = LedgerRun(queue("top", deserved="cpu:100"))
    usual(run)
    for number in range(8):
        assert lost(run, queue(f"q{number}", "top", deserved="cpu:1"))

    started = run.now
    assert run.allowed(queue("mine", "top", deserved="cpu:1"))
    assert run.now - started < DECIDING_SECONDS
    with pytest.raises(LedgerBusy):
        lost(run, queue("q8", "top", deserved="cpu:1"))


def test_the_author_of_a_repeated_request_is_recorded_as_having_unstored_changes() -> None:
    run = LedgerRun(TOP)
    usual(run)
    assert lost(run, six("a"))
    run.now += 2.0
    assert lost(run, six("a"))

    assert run.api.contents().remembers("eve")
    assert run.allowed(six("b"))


def test_an_abandoned_request_is_removed_and_its_author_is_recorded() -> None:
    run = LedgerRun(TOP)
    usual(run)
    assert lost(run, six("a"))
    run.ledger.abandon("request-1")

    assert run.allowed(six("b"))
    assert list(run.api.contents().entries) == ["request-b"]
    assert run.api.contents().remembers("eve")


def test_an_author_is_forgotten_after_an_hour() -> None:
    run = LedgerRun(TOP)
    usual(run)
    came_to_nothing(run)
    run.now += LINGERING_SECONDS + 1
    run.ledger.tidy()
    assert run.api.contents().remembers("eve")

    run.now += REMEMBERED_SECONDS + 1
    run.ledger.tidy()

    assert not run.api.contents().remembers("eve")


def test_only_the_newest_authors_with_unstored_changes_are_recorded() -> None:
    watermarks = [author_key(str(number)) for number in range(MOST_AUTHORS)]
    ages = {each: float(number) for number, each in enumerate(watermarks)}

    assert surplus_authors([*watermarks, "Queue.scheduling.volcano.sh"], ages, [author_key("new")]) == [watermarks[-1]]
    assert surplus_authors(watermarks[1:], ages, [author_key("new")]) == []
    assert surplus_authors(watermarks, ages, [watermarks[0]]) == []


def test_a_decision_that_takes_too_long_is_an_error() -> None:
    run = LedgerRun(TOP)
    usual(run)
    came_to_nothing(run)

    def slow() -> None:
        run.now += 0.6

    run.gate = slow
    with pytest.raises(LedgerUnavailable, match="took too long"):
        lost(run, six("a"))
    run.gate = lambda: None
    assert run.allowed(six("b"))


# -- bytes -------------------------------------------------------------------------------------------------------------


def large(name: str, resources: int) -> Manifest:
    """A queue whose entry has some 60 bytes for each resource."""
    chance = random.Random(name)
    manifest = queue(name)
    manifest["spec"]["capability"] = {f"example.com/{chance.randbytes(30).hex()}": "1" for _ in range(resources)}
    return manifest


def test_the_bytes_of_one_object_in_the_ledger_are_limited() -> None:
    run = LedgerRun()

    assert lost(run, large("some", 500))
    with pytest.raises(LedgerBusy, match=r"Queue many takes \d+ bytes of the ledger, and one object may"):
        lost(run, large("many", 3000))


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ([("q", "eve", 100), ("p", "eve", 100)], "2 changes of eve are not stored yet"),
        ([("q", "eve", 100), ("p", "ada", 100)], ""),
    ],
)
def test_the_bytes_of_one_author_in_the_ledger_are_limited(others: list[tuple[str, str, int]], says: str) -> None:
    entries = [sized(queue(name), user, BYTES_OF_AUTHOR * percent // 200) for name, user, percent in others]

    assert says in crowded(sized(queue("new"), "eve", 1000), entries)[1]
    assert bool(crowded(sized(queue("new"), "eve", 1000), entries)[1]) == bool(says)


def test_the_bytes_of_one_namespace_in_the_ledger_are_limited() -> None:
    full = [sized(local_queue("a", "cq", "team"), "ada", BYTES_OF_NAMESPACE)]

    assert crowded(sized(local_queue("b", "cq", "team"), "eve", 1000), full)[1].startswith(
        "1 changes in namespace team"
    )
    assert not crowded(sized(local_queue("b", "cq", "others"), "eve", 1000), full)[1]


def sized(manifest: Manifest, user: str, size: int) -> LedgerEntry:
    """An entry of so many bytes."""
    return replace(new_entry("r", typed(manifest).ref, None, manifest, user, "now"), text="x" * size)
