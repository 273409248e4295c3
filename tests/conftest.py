"""What holds for every test: the hypothesis profile, and assertions that say what they compared, in helpers too."""

from __future__ import annotations

import gc
import os
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.profiles import PROFILES, register

pytest.register_assert_rewrite(*(f"tests.{each.name}" for each in Path(__file__).parent.iterdir() if each.is_dir()))
# `yaml.safe_load` takes this one: it makes the same objects in a tenth of the time.
yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[assignment, misc]
gc.set_threshold(100_000, 20, 20)  # the suite holds so much that looking for garbage was an eighth of its time
register()

SHARD = os.environ.get("TEST_SHARD", "")
"""Which files are collected: `1/2` is the first half of them, all without it. `make unit` starts a process for each
shard. Workers of xdist import all files each, and send every result to another process: a fifth of the time."""


def pytest_sessionstart() -> None:
    """Of five examples hardly one draws a constant of our modules, for which Hypothesis parses the source of each."""
    if settings().max_examples == PROFILES["lean"]:
        providers._get_local_constants = lambda: providers._local_constants


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of other shards, and those without a test that is wanted, need not be imported."""
    if not collection_path.name.startswith("test_"):
        return None
    if SHARD and collection_path not in _files_of(SHARD):
        return True
    return True if config.option.markexpr.startswith("apiserver") and not _may_be_slow(collection_path) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """A file that hides its mark would not run at all."""
    if item.get_closest_marker("apiserver") and not _may_be_slow(item.path):
        raise pytest.UsageError(f"{item.path} needs the word apiserver for tests that are marked so")


@cache
def _may_be_slow(file: Path) -> bool:
    """Whether it is below tests/apiserver, or it says `apiserver`, or a conftest beside it does: that may mark all."""
    sources = {file, file.with_name("conftest.py")} - {Path(__file__)}
    return "apiserver" in file.parts or any("apiserver" in each.read_text() for each in sources if each.exists())


@cache
def _files_of(shard: str) -> frozenset[Path]:
    """The files of a shard. All are sorted by size and dealt out in turn, so that the shards take about as long."""
    number, count = map(int, shard.split("/"))
    files = sorted(Path(__file__).parent.rglob("test_*.py"), key=lambda file: (file.stat().st_size, file))
    return frozenset(files[number - 1 :: count])


def pytest_collection_finish() -> None:
    """Nine thousand collected tests are no garbage: they need not be looked through again and again."""
    gc.collect()
    gc.freeze()
