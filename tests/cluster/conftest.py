"""The fake API server, its client, and listeners; closed after each test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.client import Cluster
from tests.cluster.fake import FakeApi
from tests.cluster.listener import Listener


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def cluster(api: FakeApi) -> Iterator[Cluster]:
    with api.cluster() as client:
        yield client


@pytest.fixture
def listen(cluster: Cluster) -> Iterator[Callable[..., Listener]]:
    listeners: list[Listener] = []

    def start(of: Cluster = cluster, rests: int = 1000, **options: Any) -> Listener:
        listener = Listener(of, **options)
        listener.rests_allowed = rests
        listeners.append(listener)
        listener.reflector.start()
        return listener

    yield start
    for listener in listeners:
        listener.reflector.stop()
        assert listener.reflector.state == "stopped"
