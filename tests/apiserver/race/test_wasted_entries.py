"""Whoever makes requests that are allowed and then not stored holds up nobody else, whatever they do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest

from cluster.client import ClusterClient
from cluster.errors import ApiError
from cluster.wire import Timeouts
from tests.apiserver import build
from tests.apiserver.harness import ControlPlane, User
from tests.apiserver.race.replicas import Replicas
from tests.apiserver.race.shapes import QUEUES, Step
from tests.builders import cluster_queue, local_queue, namespace, queue
from tests.waiting import eventually

Manifest = dict[str, Any]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
LOCAL_QUEUES = f"{KUEUE}/namespaces/waste/localqueues"
LEDGER = "/api/v1/namespaces/quotree-system/configmaps/quotree-ledger"
_numbers = count(1)


@pytest.fixture(scope="module")
def replicas(programs: build.Programs) -> Iterator[Replicas]:
    users = [User("rival", ("system:masters",))]
    with ControlPlane(users=users) as control_plane, Replicas(control_plane, 2) as running:
        yield running


@pytest.fixture
def admin(replicas: Replicas) -> Iterator[ClusterClient]:
    with client(replicas, "admin") as connected:
        yield connected


@pytest.fixture
def rival(replicas: Replicas) -> Iterator[ClusterClient]:
    with client(replicas, "rival") as connected:
        yield connected


def client(replicas: Replicas, user: str) -> ClusterClient:
    kubeconfig = str(replicas.control_plane.kubeconfig_for(user))
    return ClusterClient.connect(kubeconfig=kubeconfig, timeouts=Timeouts(connect=5.0, read=30.0), attempts=1)


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


def test_creations_of_names_that_exist_are_answered_and_hold_up_nobody(
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
    admin.create(f"{KUEUE}/clusterqueues", cluster_queue("waste"))

    for number in range(6):
        filled = local_queue(f"lq-{number}", "waste", "waste")
        filled["metadata"]["annotations"] = {f"x{number}.kueue.x-k8s.io/blob": "x" * 195_000}
        rival.create(LOCAL_QUEUES, filled)

        assert sum(map(len, ledger(replicas).values())) < 10_000


def test_of_two_who_apply_a_name_at_the_same_moment_one_may_have_to_apply_again(
    admin: ClusterClient, rival: ClusterClient
) -> None:
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
