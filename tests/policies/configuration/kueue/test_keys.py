"""How each key of Kueue's Configuration is used."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.kueue.keys import KEYS, ConfigurationKey, Use, idle_keys
from policies.model.errors import BadConfiguration


def test_configuration_keys_are_unique_and_not_nested() -> None:
    paths = [key.path for key in KEYS]

    assert len(paths) == len(set(paths))
    assert not [path for path in paths if any(path.startswith(f"{other}.") for other in paths)]


@pytest.mark.parametrize(
    "section",
    [
        {"cacheNamespace": "a"},
        {"gracefulShutDown": "1s"},
        {"metrics": {"localQueueMetrics": {"namespaceSelector": {}}}},
    ],
)
def test_a_key_that_kueue_does_not_have_is_unknown(section: dict[str, Any]) -> None:
    with pytest.raises(BadConfiguration, match="unknown key"):
        list(idle_keys(section))


@pytest.mark.parametrize("key", [key for key in KEYS if key.use is Use.IDLE], ids=lambda key: key.path)
def test_idle_key_is_accepted_and_has_a_reason(key: ConfigurationKey) -> None:
    section: Any = "x"
    for part in reversed(key.path.split(".")):
        section = {part: section}

    assert key.why
    assert list(idle_keys(section)) == [key.path]
