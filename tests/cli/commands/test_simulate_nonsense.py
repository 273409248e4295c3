"""`simulate` with malformed files ends with 0, 1 or 3, and reports the position of each object that it leaves out."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.simulation import SimulatedFiles
from cli.input.documents import gather
from cli.input.settings import settings as read_settings
from tests.builders import FLAVOR, cohort, queued_job, queued_pod, template, workload
from tests.cli.organisations import KUEUE, local, org_queue
from tests.cli.runs import run, write
from tests.scheduling.volcano import manifests as volcano
from tests.scheduling.yunikorn import manifests as yunikorn

QUEUED = {"kueue.x-k8s.io/queue-name": "b"}
ORGANISATION: list[dict[str, Any]] = [
    FLAVOR,
    cohort("org"),
    org_queue("a", 4, "org", preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}),
    org_queue("b", 4, "org"),
    local("a"),
    local("b"),
    queued_job("j", "a", 2, pods=2, max_exec_time_seconds="60", job_min_parallelism="1"),
    queued_job("k", "b", 3, priority_class="high"),
    queued_pod("p", "a", 1),
    queued_pod("g1", "b", 1, "g", 2),
    queued_pod("g2", "b", 1, "g", 2),
    workload("w", "a", 1, priority=3),
    {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 10},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "pc"}, "value": 10},
    {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "ns"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "8"}, "defaultRequest": {"cpu": "1"}}]},
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "1"}},
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": {"x": "y"}}},
    {"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": {"name": "c"}, "spec": {"controllerName": "x/y"}},
    {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "rc", "namespace": "ns", "labels": QUEUED},
        "spec": {
            "headGroupSpec": {"template": template(1)},
            "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "template": template(1)}],
        },
    },
    yunikorn.queues_yaml("- {name: q, resources: {max: {vcore: 2}}}"),
    yunikorn.namespace("dev", namespace_quota='{"cpu":"1"}', namespace_max_cpu="1", namespace_maxApps="1"),
    yunikorn.pod("y1", "app"),
    yunikorn.pod("y2", "app", task_groups='[{"name": "g", "minMember": 2, "minResource": {"cpu": "1"}}]'),
    yunikorn.node(),
    volcano.queue("org", capability={"cpu": "4"}),
    volcano.queue("team", "org", deserved={"cpu": "2"}, guarantee={"cpu": "1"}, capability={"cpu": "3"}),
    volcano.job("vj", "team", volcano.task("w", 2, minAvailable=1), minAvailable=1),
    volcano.pod_group("pg", "team", 1, minResources={"cpu": "1"}, minTaskMember={"w": 1}),
    volcano.pod("vp", "pg"),
    volcano.pod("alone", queue_name="team", group_min_member="1"),
]
_NONSENSE = st.sampled_from(
    [
        None,
        -1,
        0,
        1,
        2**70,
        1.5,
        "",
        "x",
        "1e400",
        "-5",
        [],
        {},
        [1],
        {"a": 1},
        True,
        [None],
        {"cpu": "x"},
        "10000-01-01T00:00:00Z",
    ]
)


def _places(obj: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inside = obj.items() if isinstance(obj, dict) else enumerate(obj) if isinstance(obj, list) else ()
    for key, value in inside:
        yield from _places(value, (*at, key))


_PLACES = [(index, at) for index, manifest in enumerate(ORGANISATION) for at in _places(manifest)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wrong=st.lists(st.tuples(st.sampled_from(_PLACES), _NONSENSE), min_size=1, max_size=3))
def test_invalid_values_are_simulated_or_reported(
    tmp_path: Path, wrong: list[tuple[tuple[int, tuple[Any, ...]], Any]]
) -> None:
    manifests = copy.deepcopy(ORGANISATION)
    for (index, at), value in wrong:
        _put(manifests[index], at, value)
    queues, work = (
        _listed(tmp_path / name, part) for name, part in (("q.json", manifests[:6]), ("w.json", manifests[6:]))
    )

    ended = run("simulate", queues, "--add", work, "--at", "+2h", "--add", queues, "-o", "json")

    assert ended.exit_code in (0, 1, 3), ended.stderr
    outcome = json.loads(ended.stdout)
    assert bool(outcome["unreadable"] or outcome.get("problems")) == (ended.exit_code in (1, 3))


def _put(obj: Any, at: tuple[Any, ...], value: Any) -> None:
    """Does nothing if an earlier malformed value has replaced the parent."""
    for key in at[:-1]:
        obj = obj[key] if _has(obj, key) else None
    if _has(obj, at[-1]):
        obj[at[-1]] = value


def _has(obj: Any, key: Any) -> bool:
    return (isinstance(obj, dict) and key in obj) or (isinstance(obj, list) and isinstance(key, int) and key < len(obj))


def _listed(file: Path, manifests: list[Any]) -> Path:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    return file


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (("metadata",), "x", "metadata: is not a mapping; it needs at least a name"),
        (("metadata", "name"), "", "metadata.name: is missing"),
        (("metadata", "labels"), ["x"], "metadata.labels: is not a mapping"),
        (("metadata", "labels", "kueue.x-k8s.io/queue-name"), 1, "is not a string; write it in quotes"),
        (("spec",), "x", "spec: is not a mapping"),
        (("spec", "parallelism"), -1, "spec.parallelism: -1 is not a whole number from 0 to 2147483647"),
    ],
)
def test_invalid_job_is_left_out(tmp_path: Path, at: tuple[str, ...], value: Any, says: str) -> None:
    job = queued_job("job", "a", 1)
    _put(job, at, value)

    (reported,) = _refused(write(tmp_path / "a.yaml", job))

    assert says in reported


@pytest.mark.parametrize(
    ("requests", "says"),
    [
        ({"cpu": "4 cores"}, "requests.cpu: "),
        ({"cpu": "-1"}, "requests.cpu: -1 is negative"),
        (["cpu"], "requests: is not a mapping of quantities"),
    ],
)
def test_job_with_an_unreadable_request_is_left_out(tmp_path: Path, requests: Any, says: str) -> None:
    job = queued_job("job", "a", 1)
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = requests

    (reported,) = _refused(write(tmp_path / "a.yaml", job))

    assert says in reported
    assert "Job ns/job is left out" in reported


def test_limits_of_a_namespace_and_overhead_are_looked_at_too(tmp_path: Path) -> None:
    limits, runtime = copy.deepcopy(ORGANISATION[14]), copy.deepcopy(ORGANISATION[15])
    limits["spec"]["limits"][0]["max"]["cpu"] = runtime["overhead"]["podFixed"]["cpu"] = "lots"

    reported = _refused(write(tmp_path / "a.yaml", limits, runtime))

    assert ["spec.limits[0].max.cpu" in reported[0], "overhead.podFixed.cpu" in reported[1]] == [True, True]


def _refused(file: Path) -> list[str]:
    inputs = SimulatedFiles(read_settings(None, [str(file)]))
    inputs.accept(gather([str(file)]))
    return [item.message for item in inputs.refused]
