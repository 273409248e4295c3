"""Which object was seen at which version: what the store keeps of it, and a look at one object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.client import Cluster
from cluster.sightings import Sighting, scope
from cluster.store import Store
from cluster.versions import is_newer
from policies.dialects import core, volcano
from policies.dialects.volcano import queue_ref
from policies.model.objects import Ref
from tests.builders import pod_group, queue
from tests.cluster.quota_api import QUICK, QuotaApi, names
from tests.waiting import eventually

ENG = queue_ref("eng")


def of(name: str, uid: str) -> dict[str, Any]:
    found = queue(name)
    return {**found, "metadata": {**found["metadata"], "uid": uid}}


@pytest.fixture
def sighting_store(quota_api: QuotaApi, quota_cluster: Cluster) -> Iterator[Store]:
    """Started, with one queue and one PodGroup, of which only the queue is tracked."""
    quota_api.put(of("eng", "one"), pod_group("group", "eng"))
    store = Store(QUICK, sighted=frozenset({volcano.QUEUE}))
    store.start(quota_cluster)
    eventually(lambda: not store.ready())
    yield store
    store.close()


def test_a_list_shows_what_is_there_and_how_far_it_reaches(sighting_store: Store) -> None:
    sightings = sighting_store.snapshot().sightings

    assert sightings.of(ENG) == Sighting("one", "2")
    assert sightings.progress == {scope(ENG): "3"}
    assert sightings.reached(ENG, "3")
    assert not sightings.reached(ENG, "4")
    assert sightings.of(Ref(*volcano.POD_GROUP, "ns", "group")) is None


def test_events_move_on_and_a_deletion_is_remembered(quota_api: QuotaApi, sighting_store: Store) -> None:
    quota_api.tell("MODIFIED", of("eng", "one"))
    quota_api.tell("DELETED", of("eng", "one"))
    quota_api.tell("ADDED", of("eng", "two"))
    eventually(lambda: sighting_store.snapshot().sightings.of(ENG) == Sighting("two", "6"))

    sightings = sighting_store.snapshot().sightings
    assert sightings.deleted(ENG, "one") == "5"
    assert sightings.deleted(ENG, "two") is None
    assert sightings.progress == {scope(ENG): "6"}
    assert "eng" in names(sighting_store.snapshot().forest)


def test_one_object_can_be_read_as_it_is_now(quota_api: QuotaApi, sighting_store: Store) -> None:
    quota_api.objects["queues"].append(
        {**of("new", "n"), "metadata": {"name": "new", "uid": "n", "resourceVersion": "9"}}
    )

    found = sighting_store.look(queue_ref("new"))

    assert found is not None
    assert found.seen == Sighting("n", "9")
    assert sighting_store.look(queue_ref("nowhere")) is None
    assert sighting_store.look(Ref("", "Secret", "ns", "a")) is None


def test_each_config_map_has_a_watch_of_its_own() -> None:
    assert scope(Ref("", "ConfigMap", "yunikorn", "yunikorn-configs")) == "ConfigMap/yunikorn/yunikorn-configs"
    assert scope(Ref(*core.NAMESPACE, "", "a")) == "Namespace"


@pytest.mark.parametrize(
    ("version", "than", "newer"), [("10", "9", True), ("9", "9", False), ("9", "10", False), ("x", "9", True)]
)
def test_versions_are_compared_as_numbers(version: str, than: str, newer: bool) -> None:
    assert is_newer(version, than) is newer
