"""The ConfigMap of the ledger: its content, the errors if it cannot be written, and when it is ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.errors import ApiError, Conflict
from tests.builders import queue, typed
from tests.cluster.fake import FakeApi, Handler, Reply, events, page, status
from tests.waiting import eventually
from webhook.ledger import keeping
from webhook.ledger.contents import LedgerContents
from webhook.ledger.entry import LedgerEntry, UnreadableEntry, new_entry
from webhook.ledger.keeping import MaintainedLedger
from webhook.ledger.store import LARGEST, ConfigMapStore, LedgerUnavailable, read_contents

Manifest = dict[str, Any]
QUEUE = queue("a")


def entry(name: str = "r", **spec: str) -> LedgerEntry:
    return new_entry(name, typed(QUEUE).ref, None, queue("a", **spec), "ada", "now")


def config_map(version: int, **data: str) -> Manifest:
    metadata = {"name": "quotree-ledger", "namespace": "quotree-system", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def says(manifest: Manifest) -> Reply:
    return lambda handler: handler.send_json(200, manifest)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    running = FakeApi()
    yield running
    running.close()


@pytest.fixture
def store(api: FakeApi) -> Iterator[ConfigMapStore]:
    made = ConfigMapStore(api.cluster(attempts=1))
    yield made
    made.close()


def test_stored_entries_and_watermarks_are_read(api: FakeApi, store: ConfigMapStore) -> None:
    made = entry()
    api.others.append(says(config_map(7, r=made.text, seen='{"Queue": "5"}')))

    assert store.read() == LedgerContents("7", {"r": made}, {"Queue": "5"})
    assert store.newest() == LedgerContents("7", {"r": made}, {"Queue": "5"})


def test_a_write_adds_and_removes_entries_at_the_judged_resource_version(api: FakeApi, store: ConfigMapStore) -> None:
    made = entry()
    api.others.append(says(config_map(8, r=made.text)))

    after = store.write(LedgerContents("7", {}, {"Queue": "5"}), [made], ["old"], {"Queue": None, "Cohort": "6"})

    (sent,) = api.seen
    assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/quotree-system/configmaps/quotree-ledger")
    assert sent.body == {
        "metadata": {"resourceVersion": "7"},
        "data": {"old": None, "r": made.text, "seen": '{"Cohort": "6"}'},
    }
    assert after == store.newest() == LedgerContents("8", {"r": made}, {})


def test_the_state_of_a_restored_api_server_replaces_a_newer_one(api: FakeApi, store: ConfigMapStore) -> None:
    restored = page(config_map(9), version=9)
    api.others += [page(config_map(10), version=10), events(), restored, restored, events(then=Handler.hold)]

    store.start()

    assert eventually(lambda: store.newest() == LedgerContents("9"))


def test_an_older_state_never_replaces_a_newer_one(api: FakeApi, store: ConfigMapStore) -> None:
    api.others.extend([says(config_map(10)), says(config_map(9))])

    store.read()
    store.read()

    assert store.newest() == LedgerContents("10")


@pytest.mark.parametrize(
    ("reply", "error", "text"),
    [
        (status(404, "NotFound"), LedgerUnavailable, "does not exist; apply manifests/base, or set `ledger: off`"),
        (status(403, "Forbidden"), LedgerUnavailable, "may not use ConfigMap quotree-system/quotree-ledger; apply"),
        (status(409, "Conflict"), Conflict, "says the fake"),
        (status(500, "InternalError"), ApiError, "says the fake"),
    ],
)
def test_errors_that_an_administrator_can_fix_are_reported(
    api: FakeApi, store: ConfigMapStore, reply: Reply, error: type[Exception], text: str
) -> None:
    api.others.extend([reply, reply])

    with pytest.raises(error, match=text):
        store.read()
    with pytest.raises(error, match=text):
        store.write(LedgerContents("1"), [entry()], (), {})


def test_a_ledger_beyond_its_maximum_size_is_full(store: ConfigMapStore) -> None:
    huge = LedgerEntry("r", typed(QUEUE).ref, "u", "", None, "ada", "now", "x" * (LARGEST + 1))

    with pytest.raises(LedgerUnavailable, match="the ledger is full: 1 changes are not stored yet"):
        store.write(LedgerContents("1", {"old": entry()}), [huge], (), {})


@pytest.mark.parametrize("data", [{"r": "{"}, {"seen": "{"}, {"seen": "[]"}, {"seen": "[" * 99_999}])
def test_an_unreadable_ledger_is_an_error_and_not_empty(data: dict[str, str]) -> None:
    with pytest.raises(UnreadableEntry):
        read_contents(config_map(1, **data))


# -- readiness ---------------------------------------------------------------------------------------------------------


class Calm:
    """A ledger with nothing to tidy."""

    def tidy(self) -> None:
        """Nothing is settled."""


def test_the_ledger_is_ready_once_its_config_map_was_read_and_may_be_written(api: FakeApi) -> None:
    api.others.extend([status(403, "Forbidden")])
    kept = MaintainedLedger(Calm(), ConfigMapStore(api.cluster(attempts=1)))  # type: ignore[arg-type]
    try:
        assert kept.ready() == ["ledger: not read yet"]
        kept.attempt()
        (lack,) = kept.ready()
        assert "the webhook may not use ConfigMap" in lack
        api.others.extend([says(config_map(1)), says(config_map(1))])
        kept.attempt()
        assert kept.ready() == []
        assert api.seen[-1].body == {"metadata": {"resourceVersion": "1"}, "data": {}}
    finally:
        kept.close()


def test_an_internal_error_does_not_end_the_thread(
    api: FakeApi, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_RETRY_AFTER", 0.01)

    class Broken(Calm):
        tidied = 0

        def tidy(self) -> None:
            self.tidied += 1
            raise KeyError("queue")

        def observe(self) -> None:
            """Nothing is open."""

    api.others.extend([says(config_map(1))] * 20)
    broken = Broken()
    kept = MaintainedLedger(broken, ConfigMapStore(api.cluster(attempts=1)))  # type: ignore[arg-type]
    kept.attempt()
    kept.start()
    try:
        eventually(lambda: broken.tidied > 1)
    finally:
        kept.close()
    assert "ledger: internal error; trying again" in caplog.text
