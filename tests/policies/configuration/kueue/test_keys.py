"""What becomes of each key of Kueue's Configuration."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.kueue.keys import KEYS, ConfigurationKey, Use, idle_keys


def test_every_key_is_named_once_and_none_is_below_another() -> None:
    paths = [key.path for key in KEYS]

    assert len(paths) == len(set(paths))
    assert not [path for path in paths if any(path.startswith(f"{other}.") for other in paths)]


@pytest.mark.parametrize("key", [key for key in KEYS if key.use is Use.IDLE], ids=lambda key: key.path)
def test_what_is_idle_says_why_and_may_stand_there(key: ConfigurationKey) -> None:
    section: Any = "x"
    for part in reversed(key.path.split(".")):
        section = {part: section}

    assert key.why
    assert list(idle_keys(section)) == [key.path]
