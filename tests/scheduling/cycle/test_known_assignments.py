"""What is known of a head is what it would be told if it were asked: compared with an engine that asks each head."""

from __future__ import annotations

import pytest

from tests.profiles import seeds
from tests.scheduling.cycle.twins import Drawn


@pytest.mark.parametrize("fair_sharing", [False, True])
@pytest.mark.parametrize("seed", seeds(0.5))
def test_an_engine_that_remembers_decides_as_one_that_asks_each_head(seed: int, fair_sharing: bool) -> None:
    drawn = Drawn(seed, fair_sharing)
    drawn.play(120)

    assert drawn.twins.reserved
