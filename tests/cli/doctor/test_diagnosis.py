"""A failing check does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli.actions.doctor import diagnose
from cli.doctor.target import CheckedCluster, CheckResult, HealthState, check, ok
from cluster.client import ClusterClient
from cluster.endpoint import Endpoint
from cluster.errors import BadAnswer, Forbidden, Unauthorized, Unreachable


@pytest.mark.parametrize(
    ("error", "states", "answered"),
    [
        (Forbidden(403, "Forbidden", "no"), ["ok", "skipped", "ok"], True),
        (BadAnswer("a proxy's page"), ["ok", "failure", "ok"], True),
        (ValueError("Port out of range"), ["ok", "failure", "ok"], True),
        (Unreachable("lab", "no route", "look"), ["ok", "failure", "skipped"], False),
        (Unauthorized(401, "Unauthorized", "expired"), ["ok", "failure", "skipped"], False),
    ],
)
def test_check_that_raises_midway_does_not_stop_the_others(error: Exception, states: list[str], answered: bool) -> None:
    @check("breaks", "Any.")
    def breaks(_: CheckedCluster) -> Iterator[CheckResult]:
        yield ok("", "the first half")
        raise error

    @check("works", "Any.")
    def works(_: CheckedCluster) -> Iterator[CheckResult]:
        yield ok("", "fine")

    found = diagnose(CheckedCluster(ClusterClient(Endpoint("http://lab"))), [breaks, works])

    assert [result.state.value for _, result in found.results] == states
    assert found.answered is answered
    assert sum(found.counts.values()) == 3
    assert all(result.fix for _, result in found.results if result.state is HealthState.FAILURE)
