"""The two versions. Without a history there is only one, and the tests say why they skip."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.versions import Installation, NoPreviousVersionError, current, installed, previous


@pytest.fixture(scope="session")
def old() -> Iterator[Installation]:
    """The version before. Where CI=true a history that was cut off fails: one command gets it."""
    try:
        revision = previous()
    except NoPreviousVersionError as error:
        if error.curable and os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    with installed(revision) as found:
        yield found


@pytest.fixture(scope="session")
def new() -> Iterator[Installation]:
    with current() as found:
        yield found
