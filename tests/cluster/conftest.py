"""The fake API server, its client, and listeners; closed after each test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.client import ClusterClient
from cluster.store import Store
from tests.cluster.fake import FakeApi
from tests.cluster.listener import Listener
from tests.cluster.quota_api import QUICK, QuotaApi


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def cluster(api: FakeApi) -> Iterator[ClusterClient]:
    with api.cluster() as client:
        yield client


@pytest.fixture
def listen(cluster: ClusterClient) -> Iterator[Callable[..., Listener]]:
    listeners: list[Listener] = []

    def start(of: ClusterClient = cluster, rests: int = 1000, **options: Any) -> Listener:
        listener = Listener(of, **options)
        listener.rests_allowed = rests
        listeners.append(listener)
        listener.reflector.start()
        return listener

    yield start
    for listener in listeners:
        listener.reflector.stop()
        assert listener.reflector.state == "stopped"


@pytest.fixture
def quota_api() -> Iterator[QuotaApi]:
    server = QuotaApi()
    yield server
    server.close()


@pytest.fixture
def quota_cluster(quota_api: QuotaApi) -> Iterator[ClusterClient]:
    with quota_api.cluster(connections=16, attempts=1) as client:
        yield client


@pytest.fixture
def followed(quota_cluster: ClusterClient) -> Iterator[Store]:
    """Not started yet; closed after the test."""
    following = Store(QUICK)
    yield following
    following.close()
