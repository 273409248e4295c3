"""The fake API server, closed after each test."""

from collections.abc import Iterator

import pytest

from cluster.client import Cluster
from tests.cluster.fake import FakeApi


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def cluster(api: FakeApi) -> Iterator[Cluster]:
    with api.cluster() as client:
        yield client
