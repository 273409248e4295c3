"""What holds for every test: the hypothesis profile, and assertions that say what they compared, in helpers too."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import yaml

from tests.profiles import register

pytest.register_assert_rewrite(*(f"tests.{each.name}" for each in Path(__file__).parent.iterdir() if each.is_dir()))
# `yaml.safe_load` takes this one: it makes the same objects in a tenth of the time.
yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[assignment, misc]
gc.set_threshold(100_000, 20, 20)  # the suite holds so much that looking for garbage was an eighth of its time
register()


def pytest_collection_finish() -> None:
    """Nine thousand collected tests are no garbage: they need not be looked through again and again."""
    gc.collect()
    gc.freeze()
