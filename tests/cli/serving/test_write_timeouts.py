"""How long the reconciler waits for the answer to a write."""

from __future__ import annotations

import pytest

from cli.serving.reconciler import write_timeouts
from cluster.lease import LeaseTimes

TIMES = LeaseTimes(duration=15, renew_deadline=10, retry=2)


@pytest.mark.parametrize("left", [15.0, 12.3, 5.0])
def test_a_write_ends_before_another_replica_may_write_and_not_much_earlier(left: float) -> None:
    """While the Lease is held, the margin of five seconds at least is left."""
    timeouts = write_timeouts(TIMES, left)

    assert left - 1 < timeouts.connect + timeouts.read < left


def test_a_write_that_begins_as_the_lease_ends_still_has_timeouts_that_a_socket_takes() -> None:
    timeouts = write_timeouts(TIMES, -3.0)

    assert timeouts.connect > 0
    assert 0 < timeouts.read < 1
