"""A client whose requests are allowed and then not stored does not delay other clients."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cluster.client import ClusterClient
from cluster.errors import ApiError, ClusterError
from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.race.holding import holding
from tests.apiserver.race.replicas import Replicas
from tests.apiserver.race.running import TOO_LONG, Race, most_too_long
from tests.apiserver.race.shapes import QUEUES, Step
from tests.apiserver.race.wasteful import LEDGER, RIVAL, become_known, client, install
from tests.builders import cluster_queue, flavor, group, local_queue, namespace, queue
from tests.profiles import seeds
from tests.waiting import eventually

Manifest = dict[str, Any]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
CLUSTER_QUEUES = f"{KUEUE}/clusterqueues"
WASTE_SECONDS = len(seeds(1))
"""The duration of the load of the worst clients: 5 in CI, 200 at night."""
WORST_CLIENTS = 12
HELD_SECONDS = 5.0
"""Longer than the time after which the quota of a known author is lent to others."""
LOCAL_QUEUES = f"{KUEUE}/namespaces/waste/localqueues"
_numbers = count(1)


@pytest.fixture(scope="module")
def replicas(programs: build.Programs) -> Iterator[Replicas]:
    with ControlPlane(users=[RIVAL]) as control_plane, Replicas(control_plane, 2) as running:
        yield running


@pytest.fixture
def admin(replicas: Replicas) -> Iterator[ClusterClient]:
    with client(replicas.control_plane, "admin") as connected:
        yield connected


@pytest.fixture
def rival(replicas: Replicas) -> Iterator[ClusterClient]:
    with client(replicas.control_plane, "rival") as connected:
        yield connected


def tree(admin: ClusterClient, *children: str) -> str:
    """A queue with 20 cpu, and children with one each; its name."""
    top = f"top-{next(_numbers)}"
    for step in (deserving(top, "root", 20), *(deserving(f"{top}-{name}", top, 1) for name in children)):
        eventually(lambda step=step: not step.run(admin))
    return top


def deserving(name: str, parent: str, cores: int) -> Step:
    return Step("POST", QUEUES, queue(name, parent, deserved=f"cpu:{cores}"))


def edit(name: str, cores: int) -> Step:
    return Step("PATCH", f"{QUEUES}/{name}", {"spec": {"deserved": {"cpu": str(cores)}}})


def ledger(replicas: Replicas) -> Manifest:
    data = replicas.control_plane.request("GET", LEDGER).get("data") or {}
    return {request: text for request, text in data.items() if request != "seen"}


def entered(replicas: Replicas) -> list[str]:
    """The names of the objects that have entries."""
    return [json.loads(text)["object"][-1] for text in ledger(replicas).values()]


def kueue_queue(cores: int) -> Manifest:
    return cluster_queue("worst", None, group("cpu", flavor("plain", cpu=str(cores))))


def test_creates_of_existing_names_do_not_delay_other_clients(
    replicas: Replicas, admin: ClusterClient, rival: ClusterClient
) -> None:
    top = tree(admin, *"abcdefghij", "victim")

    wasted = [deserving(f"{top}-{name}", top, 9).run(rival) for name in "abcdefghij"]

    assert all("already exists" in text for text in wasted)
    started = time.monotonic()
    assert edit(f"{top}-victim", 9).run(admin) == ""
    assert deserving(f"other-{top}", "root", 1).run(admin) == ""
    assert time.monotonic() - started < 2
    with pytest.raises(ApiError) as taken:
        rival.create(QUEUES, queue(f"{top}-a", top))
    assert (taken.value.status, taken.value.reason) == (409, "AlreadyExists")


def test_annotations_do_not_fill_the_ledger(replicas: Replicas, admin: ClusterClient, rival: ClusterClient) -> None:
    admin.create("/api/v1/namespaces", namespace("waste"))
    admin.create(CLUSTER_QUEUES, cluster_queue("waste"))

    for number in range(6):
        filled = local_queue(f"lq-{number}", "waste", "waste")
        filled["metadata"]["annotations"] = {f"x{number}.kueue.x-k8s.io/blob": "x" * 195_000}
        rival.create(LOCAL_QUEUES, filled)

        assert sum(map(len, ledger(replicas).values())) < 10_000


def test_two_concurrent_applies_of_one_name_may_give_one_conflict(admin: ClusterClient, rival: ClusterClient) -> None:
    def apply(cluster: ClusterClient, name: str) -> str:
        path = f"{QUEUES}/{name}?fieldManager={id(cluster)}&force=true"
        try:
            cluster.patch(path, queue(name), "application/apply-patch+yaml")
        except ApiError as error:
            return error.reason
        return ""

    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            name = f"applied-{number}"
            both = list(pool.map(partial(apply, name=name), (admin, rival)))

            assert sorted(both) in (["", ""], ["", "Conflict"])
            assert apply(rival, name) == apply(admin, name) == ""


def test_a_change_of_an_unknown_author_counts_while_another_webhook_delays_it(
    replicas: Replicas, admin: ClusterClient, rival: ClusterClient, tmp_path: Path
) -> None:
    """No read shows the pending request, and it is stored in the end, so its quota must not be lent after seconds."""
    top = tree(admin, "victim")
    with holding(replicas.control_plane, tmp_path) as holder, ThreadPoolExecutor(1) as pool:
        held = pool.submit(deserving(f"{top}-late", top, 17).spoilt().run, admin)
        eventually(lambda: holder.asked.is_set() and f"{top}-late" in " ".join(entered(replicas)))
        until = time.monotonic() + HELD_SECONDS
        while time.monotonic() < until:
            assert edit(f"{top}-victim", 9).run(rival) != ""
        holder.go_on.set()

        assert held.result() == ""

    assert f"{top}-late" in [each["metadata"]["name"] for each in admin.get(QUEUES)["items"]]
    assert edit(f"{top}-victim", 9).run(rival) != ""
    eventually(lambda: edit(f"{top}-victim", 3).run(rival) == "")


def test_pairs_are_judged_correctly_beside_an_author_of_unstored_changes(replicas: Replicas) -> None:
    race = Race(number=20_000)

    race.wasteful("wasteful", replicas, each=1, gaps=(0.0,))

    assert sum(tally.both_passed for shape, tally in race.rows.values() if shape.wrong) == 0
    assert race.right_pairs_pass(), race.rows
    assert race.longest < 2.0 + 0.5


@pytest.mark.timeout(300 + WASTE_SECONDS)
def test_an_abusive_client_delays_others_only_briefly_and_denies_none(
    replicas: Replicas, admin: ClusterClient, rival: ClusterClient
) -> None:
    install(replicas.control_plane)
    become_known(replicas.control_plane, rival, admin)
    top = tree(admin, *"ab", "victim")
    admin.create("/api/v1/namespaces", namespace("worst"))
    admin.create(CLUSTER_QUEUES, kueue_queue(1))
    ended = threading.Event()
    chance = random.Random(29)

    def worst(number: int) -> None:
        """Requests for all free quota, for existing names, that another webhook denies, or that time out early."""
        with client(replicas.control_plane, RIVAL.name) as own:
            for turn in count():
                if ended.is_set():
                    return
                name = f"{top}-{number}-{turn}"
                wanted = deserving(name, top, chance.randint(5, 17))
                early = replace(wanted, path=f"{QUEUES}?timeout={chance.randint(3, 60)}ms")
                filled = local_queue(name, "worst", "worst")
                filled["metadata"]["annotations"] = {f"x{turn}.kueue.x-k8s.io/blob": "x" * 100_000}
                for step in (
                    deserving(f"{top}-a", top, 17),
                    wanted.spoilt(),
                    early,
                    Step("POST", f"{KUEUE}/namespaces/worst/localqueues", filled).spoilt(),
                    Step("PATCH", f"{QUEUES}/{top}-b", {"spec": {"deserved": {"cpu": "17"}}}).spoilt(),
                ):
                    with suppress(ClusterError):
                        step.run(own)
                rival_queues = own.get(QUEUES)["items"] if turn % 20 == 19 else []
                for each in rival_queues:  # an edit that was stored in time uses quota rightly
                    if each["metadata"]["name"].startswith(f"{top}-{number}-"):
                        Step("DELETE", f"{QUEUES}/{each['metadata']['name']}").run(own)

    refused: list[str] = []
    longest = unjudged = 0.0
    leases = "/apis/coordination.k8s.io/v1/namespaces/worst/leases"
    with ThreadPoolExecutor(WORST_CLIENTS) as pool:
        running = [pool.submit(worst, number) for number in range(WORST_CLIENTS)]
        until = time.monotonic() + WASTE_SECONDS
        try:
            for turn in count():
                if time.monotonic() > until:
                    break
                for step in (
                    edit(f"{top}-victim", 1 + turn % 2),
                    deserving(f"beside-{top}-{turn}", "root", 1),
                    Step("PATCH", f"{CLUSTER_QUEUES}/worst", {"spec": kueue_queue(1 + turn % 2)["spec"]}),
                ):
                    began = time.monotonic()
                    refused += filter(None, [step.run(admin)])
                    longest = max(longest, time.monotonic() - began)
                began = time.monotonic()
                admin.create(leases, {"metadata": {"name": f"turn-{turn}"}})
                unjudged = max(unjudged, time.monotonic() - began)
        finally:
            ended.set()
        for each in running:
            each.result()

    print(f"{turn} rounds of three edits, the longest took {longest:.2f} s, {len(refused)} refused: {refused[:3]}")
    assert [text for text in refused if TOO_LONG not in text] == []
    assert len(refused) <= most_too_long(3 * turn)
    assert longest < 2.5 + 2 * unjudged, "a write that no webhook judges shows how busy the machine is"
