"""Traces at a real OpenTelemetry Collector, from processes as they run in a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.build import MissingControlPlaneError
from tests.apiserver.collector.running import Collector, collector
from tests.apiserver.needs import skip_without
from tests.builders import queue
from tests.webhook.reviews import body, review
from tests.webhook.serving import served

TRACE = "705ab4f5639311e8b7cc42010a800002"
ABOVE = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


@pytest.fixture(scope="module")
def receiving() -> Iterator[Collector]:
    try:
        with collector() as found:
            yield found
    except MissingControlPlaneError as error:
        skip_without(error)


def test_a_review_arrives_as_a_span_with_its_judgement(
    receiving: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in receiving.environment.items():
        monkeypatch.setenv(name, value)
    with served(tmp_path) as server:
        server.post("/v1/validate/volcano", body(review(queue("lost", "nowhere"))))
        found = receiving.await_spans(lambda spans: {"review", "judge"} <= {each.name for each in spans})
        assert server.stop() == 0

    whole, judged = (next(each for each in found if each.name == name) for name in ("review", "judge"))
    assert (whole.service, whole.trace, judged.trace) == ("quotree-webhook", TRACE, TRACE)
    assert judged.parent == whole.id
    assert whole.attributes["quotree.verdict"] == "denied"
    assert whole.attributes["quotree.rules"] == ["parent-missing"]
    assert whole.began <= judged.began <= judged.ended <= whole.ended
    assert f'"trace": "{TRACE}"' in server.log
