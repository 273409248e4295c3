"""For the conftest of a folder whose tests need something of `build`: get it early, skip without it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NoReturn, TypeVar

import pytest

from tests import debian_packages
from tests.apiserver.build import MissingControlPlaneError

T = TypeVar("T")

_ONE_OF_MANY = "PYTEST_XDIST_WORKER" in os.environ


class Need(Generic[T]):
    """Something that `find` returns or builds; it is looked for once, and so is the reason why it is missing."""

    def __init__(self, folder: Path, find: Callable[[], T]) -> None:
        self._folder = folder
        self._find = find
        self._found: T | MissingControlPlaneError | None = None

    def mark(self, items: list[pytest.Item]) -> None:
        """Marks the tests of the folder as `apiserver`."""
        for item in items:
            if self._has(item):
                item.add_marker(pytest.mark.apiserver)

    def _has(self, item: pytest.Item) -> bool:
        """By text: there are thousands of tests, and a path takes long to compare with each folder above it."""
        return str(item.path).startswith(f"{self._folder}{os.sep}")

    def build_early(self, session: pytest.Session) -> None:
        """Looks now if a test of the folder will run: no test's time limit counts, and the message can be seen.

        One of many processes does not: nobody would see it, and who starts many builds beforehand (see the Makefile).
        """
        wanted = any(map(self._has, session.items))
        if wanted and not session.config.option.collectonly and not _ONE_OF_MANY:
            capture = session.config.pluginmanager.getplugin("capturemanager")
            assert capture
            with capture.global_and_fixture_disabled():
                self._look()

    def get(self) -> T:
        """What is needed; without it the test is skipped, and fails where CI=true."""
        found = self._look()
        if isinstance(found, MissingControlPlaneError):
            skip_without(found)
        return found

    def _look(self) -> T | MissingControlPlaneError:
        if self._found is None:
            try:
                self._found = self._find()
            except MissingControlPlaneError as error:
                self._found = error
        return self._found


def debian_program(name: str) -> str:
    """The path of a program in `debian_packages.PACKAGES`; without it as `Need.get`."""
    try:
        return debian_packages.find(name)
    except debian_packages.MissingProgramError as error:
        skip_without(error)


def skip_without(error: MissingControlPlaneError | debian_packages.MissingProgramError) -> NoReturn:
    """Skips the test and says what to install; where CI=true it fails, since nobody would notice a skip there."""
    if os.environ.get("CI") == "true":
        pytest.fail(str(error), pytrace=False)
    pytest.skip(str(error))
