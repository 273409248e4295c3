"""What holds for every test: the hypothesis profile, and assertions that say what they compared, in helpers too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profiles import register

pytest.register_assert_rewrite(*(f"tests.{each.name}" for each in Path(__file__).parent.iterdir() if each.is_dir()))
register()
