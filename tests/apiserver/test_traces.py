"""Traces at a real OpenTelemetry Collector, from processes as they run in a cluster."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.tracing.ids import trace_id
from tests.apiserver.build import MissingControlPlaneError
from tests.apiserver.collector.running import Collector, collector
from tests.apiserver.harness import ControlPlane
from tests.apiserver.jobs.batch_jobs import job
from tests.apiserver.kueue_world import KUEUE, queue
from tests.apiserver.needs import skip_without
from tests.apiserver.processes import passed_on
from tests.apiserver.reconciler.shipped_reconciler import Replica, shipped
from tests.apiserver.webhook.guard import QUOTREE
from tests.builders import kueue
from tests.builders import queue as volcano_queue
from tests.waiting import eventually
from tests.webhook import serving
from tests.webhook.reviews import body, review

TRACE = "705ab4f5639311e8b7cc42010a800002"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
PARTS = {"queued", "decided", "written", "admission"}


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
    with serving.served(tmp_path) as server:
        server.post("/v1/validate/volcano", body(review(volcano_queue("lost", "nowhere"))))
        found = receiving.await_spans(lambda spans: {"review", "judge"} <= {each.name for each in spans})
        assert server.stop() == 0

    whole, judged = (next(each for each in found if each.name == name) for name in ("review", "judge"))
    assert (whole.service, whole.trace, judged.trace) == ("quotree-webhook", TRACE, TRACE)
    assert judged.parent == whole.id
    assert whole.attributes["quotree.verdict"] == "denied"
    assert whole.attributes["quotree.rules"] == ["parent-missing"]
    assert whole.began <= judged.began <= judged.ended <= whole.ended
    assert f'"trace": "{TRACE}"' in server.log


def organisation(server: ControlPlane) -> None:
    server.request("POST", f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "plain", {}))
    server.request("POST", f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "team", queue("org", "2")))
    local = kueue("LocalQueue", "main", {"clusterQueue": "team"})
    server.request("POST", f"{KUEUE}/namespaces/default/localqueues", local)


def started(server: ControlPlane, name: str) -> str:
    """Submits a job, and waits until it runs; the uid of its Workload."""
    server.request("POST", JOBS, job(name, "500m"))
    eventually(lambda: not server.request("GET", f"{JOBS}/{name}")["spec"]["suspend"], lambda: f"{name} never started")
    (uid,) = [
        found["metadata"]["uid"]
        for found in server.request("GET", WORKLOADS)["items"]
        if found["metadata"]["ownerReferences"][0]["name"] == name
    ]
    return str(uid)


def events(server: ControlPlane, trace: str) -> list[dict[str, Any]]:
    found = server.request("GET", "/api/v1/namespaces/default/events")["items"]
    return [each for each in found if each["metadata"].get("annotations", {}).get("quotree.dev/trace") == trace]


def test_one_id_leads_from_a_workload_to_its_events_log_lines_and_spans(
    receiving: Collector, new_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    server = shipped(new_control_plane())
    organisation(server)
    replica = Replica(server, tmp_path / "traced", environment=receiving.environment)
    try:
        trace = trace_id(started(server, "work"))
        kinds = {("Workload", "Admitted"), ("Job", "Started")}
        eventually(
            lambda: kinds <= {(e["involvedObject"]["kind"], e["reason"]) for e in events(server, trace)},
            lambda: str(events(server, trace)),
        )
        found = receiving.await_spans(
            lambda spans: {each.name for each in spans if each.trace == trace} >= PARTS, seconds=30
        )
        lines = [json.loads(line) for line in replica.log().splitlines() if trace in line]
    finally:
        replica.close()

    mine = [each for each in found if each.trace == trace]
    (whole,) = [each for each in mine if each.name == "admission"]
    assert {each.parent for each in mine if each.name in PARTS - {"admission"}} == {whole.id}
    assert {each.service for each in mine} == {"quotree-reconciler"}
    assert any(each.name == "cycle" and trace in each.links for each in found)
    assert {"QuotaReserved", "Admitted", "Started"} <= {line["reason"] for line in lines}

    _goes_on_where_nobody_takes_the_spans(server, tmp_path)


def _goes_on_where_nobody_takes_the_spans(server: ControlPlane, folder: Path) -> None:
    """A collector that takes connections and never answers: work is admitted, the process ends in time, and says so."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        replica = Replica(server, folder / "hanging", environment=environment)
        try:
            for name in ("first", "second", "third"):
                started(server, name)
            said = "traces cannot be exported"
            eventually(lambda: said in replica.log(), lambda: replica.log()[-3000:])
            assert replica.end() == 0
        finally:
            replica.close()
    assert len(re.findall(said, replica.log())) == 1


def test_a_variable_that_is_not_served_ends_the_process_with_the_cure(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), **passed_on(), "OTEL_TRACES_EXPORTER": "zipkin"}
    ended = subprocess.run(
        [str(QUOTREE), "serve", "reconciler", "--kubeconfig=none"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 2
    assert "OTEL_TRACES_EXPORTER is 'zipkin'; set it to otlp, or to none" in ended.stderr
    assert "Traceback" not in ended.stderr
