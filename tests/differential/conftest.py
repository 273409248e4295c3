"""The oracle that the differential tests ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver import build
from tests.apiserver.needs import Need
from tests.differential.oracle import QuantityOracle

_binary = Need(Path(__file__).parent, build.binary)


@pytest.hookimpl(tryfirst=True)  # before `-m` sorts out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _binary.mark(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    _binary.build_early(session)


@pytest.fixture(scope="session")
def oracle() -> Iterator[QuantityOracle]:
    """Kubernetes' own quantity parser."""
    _binary.get()
    with QuantityOracle() as running:
        yield running
