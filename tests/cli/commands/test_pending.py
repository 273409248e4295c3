"""`quotree pending`: the waiting workloads of each queue with the reason; files are simulated first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.exits import Misused
from cli.input.named import named
from cli.input.snapshot import key_of
from cli.report.explanations import explained_lines
from reconciler.api.explanation import explanation_json
from reconciler.api.pending import rows, summary
from tests.builders import FLAVOR, batch_job, kueue, queued, queued_job, template
from tests.cli.organisations import local, org_queue
from tests.cli.runs import kubeconfig, run, write
from tests.cluster.fake import FakeApi, Reply, Seen
from tests.reconciler.api.lists import Lists
from tests.reconciler.api.organisation import NOW, core, organisation, waiting
from tests.scheduling.volcano import manifests as volcano
from tests.scheduling.yunikorn import manifests as yunikorn


@pytest.fixture
def files(tmp_path: Path) -> str:
    """`small` has 4 and runs `first`; two wait there, one at a LocalQueue without a ClusterQueue."""
    queues = (org_queue("small", 4), org_queue("idle", 4), local("small"), local("idle"), local("lost", queue="gone"))
    jobs = (queued_job("first", "small", 4), queued_job("second", "small", 2), queued_job("third", "small", 9))
    return f"files:{write(tmp_path / 'a.yaml', FLAVOR, *queues, *jobs, queued_job('stray', 'lost', 1)).parent}"


def test_pending_lists_workloads_by_queue_and_those_in_no_cluster_queue(files: str) -> None:
    shown = run("pending", "--against", files)

    assert shown.exit_code == 0
    assert shown.stdout == (
        "ClusterQueue small: 2 pending\n"
        "    1  Job ns/second, priority 0: WaitingForQuota: couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor spot, 2 more needed\n"
        "    2  Job ns/third, priority 0: ExceedsMaxQuota: couldn't assign flavors to pod set main: "
        "insufficient quota for cpu in flavor spot, previously considered podsets requests (0) + current podset "
        "request (9) > maximum capacity (4)\n"
        "in no ClusterQueue: 1 pending\n"
        "  Job ns/stray, priority 0: Misconfigured: ClusterQueue gone doesn't exist\n"
    )


def test_pending_lists_one_queue_by_name(files: str) -> None:
    assert run("pending", "idle", "--against", files).stdout == "ClusterQueue idle: no pending workloads\n"
    assert run("pending", "ns/small", "--against", files).stdout.startswith(
        "LocalQueue ns/small: 2 pending\n    1  Job ns/second, "
    )
    assert "(number 2 of its ClusterQueue)" in run("pending", "ns/small", "--against", files).stdout
    assert "doesn't exist" in run("pending", "ns/lost", "--against", files).stdout


def test_positions_start_at_1_in_text_and_at_0_in_kueue_fields(files: str) -> None:
    def read(*arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(run(*arguments, "--against", files, "-o", "json").stdout)
        return found

    head, tail = read("pending", "small")["queues"][0]["items"]

    assert (head["positionInClusterQueue"], tail["positionInLocalQueue"]) == (0, 1)
    assert read("why", "ns/third")["position"] == 2
    assert "in small, number 2: " in run("why", "ns/third", "--against", files).stdout
    assert "    2  Job ns/third" in run("pending", "small", "--against", files).stdout


def test_misspelt_local_queue_of_a_job_is_listed_with_a_suggestion(tmp_path: Path) -> None:
    job = queued_job("slip", "smal", 1)
    file = write(tmp_path / "a.yaml", FLAVOR, org_queue("small", 4), local("small"), job)

    shown = run("pending", "ns/smal", "--against", f"files:{file.parent}")

    assert (shown.exit_code, shown.stdout) == (
        0,
        (
            "LocalQueue ns/smal: 1 pending\n"
            "  Job ns/slip, priority 0: Misconfigured: LocalQueue ns/smal does not exist; did you mean small?\n"
        ),
    )


def test_limit_truncates_the_list_and_counts_the_rest(files: str) -> None:
    lines = run("pending", "small", "--against", files, "--limit", "1").stdout.splitlines()

    assert (len(lines), lines[0], lines[-1]) == (3, "ClusterQueue small: 2 pending", "  and 1 more")


def test_json_has_the_items_of_the_pending_lists(files: str) -> None:
    (found,) = json.loads(run("pending", "small", "--against", files, "-o", "json").stdout)["queues"]

    assert (found["kind"], found["name"], found["pending"]) == ("ClusterQueue", "small", 2)
    assert [each["positionInClusterQueue"] for each in found["items"]] == [0, 1]
    assert found["items"][0]["reason"] == "WaitingForQuota"


def test_pending_reports_no_pending_workloads(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", FLAVOR, org_queue("a", 1), local("a"))

    assert run("pending", "--against", f"files:{file.parent}").stdout == "no pending workloads\n"


@pytest.mark.parametrize(
    ("queue", "said"),
    [("ghost", "there is no ClusterQueue ghost"), ("ns/ghost", "there is no LocalQueue ns/ghost")],
)
def test_a_queue_that_is_not_there_is_a_mistake(files: str, queue: str, said: str) -> None:
    shown = run("pending", queue, "--against", files)

    assert (shown.exit_code, said in shown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("queue", "code", "said"),
    [
        ("eng", 0, "no pending workloads"),
        ("root.team", 0, "no pending workloads"),
        ("enf", 2, "there is no queue enf; did you mean eng?"),
        ("team", 2, "there is no queue team; did you mean root.team?"),
        ("default", 2, "there is no queue default; for a LocalQueue write NAMESPACE/NAME"),
    ],
)
def test_queues_of_volcano_and_yunikorn_are_known_by_name(tmp_path: Path, queue: str, code: int, said: str) -> None:
    file = write(tmp_path / "a.yaml", volcano.queue("eng"), yunikorn.queues_yaml("- name: team"))

    shown = run("pending", queue, "--against", f"files:{file.parent}")

    assert (shown.exit_code, said in shown.output) == (code, True)


def test_namespace_option_limits_the_queues_listed(files: str) -> None:
    assert run("pending", "small", "-n", "ns", "--against", files).stdout == (
        run("pending", "ns/small", "--against", files).stdout
    )
    listed = run("pending", "-n", "ns", "--against", files).stdout
    assert [line for line in listed.splitlines() if "Queue ns/" in line] == [
        "LocalQueue ns/lost: 1 pending",
        "LocalQueue ns/small: 2 pending",
    ]
    assert listed.count("Job ns/stray") == 1
    assert run("pending", "-n", "empty", "--against", files).stdout == "no pending workloads\n"
    both = run("pending", "-n", "ns", "-A", "--against", files)
    assert (both.exit_code, "keep one" in both.stderr) == (2, True)


def test_a_queue_of_another_namespace_than_that_of_the_option_is_a_mistake(files: str) -> None:
    shown = run("pending", "ns/small", "-n", "ml", "--against", files)

    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "ns/small is not in the namespace ml of -n; leave -n or ns/ out" in shown.stderr
    assert run("pending", "ns/small", "-n", "ns", "--against", files).exit_code == 0


@pytest.mark.parametrize("command", [("pending",), ("why", "ns/first")])
def test_a_cluster_that_cannot_be_read_is_out_of_reach(tmp_path: Path, command: tuple[str, ...]) -> None:
    shown = run(*command, "--kubeconfig", str(tmp_path / "none"))

    assert (shown.exit_code, "no such kubeconfig" in shown.stderr) == (4, True)
    assert run(*command, "--against", "nothing").exit_code == 2


# --- answers of a reconciler


@pytest.fixture
def reconciler() -> Iterator[FakeApi]:
    with closing(FakeApi()) as server:
        yield server


def asked(reconciler: FakeApi, folder: Path, *arguments: str) -> Result:
    (folder / "token").write_text("secret\n")
    return run("pending", *arguments, "--reconciler", reconciler.url, "--token-file", str(folder / "token"))


def test_pending_count_of_a_reconciler_includes_workloads_beyond_the_limit(tmp_path: Path, reconciler: FakeApi) -> None:
    known = core(*organisation(*(waiting(f"w{at}", 9) for at in range(3)))).state.world
    answer = summary(rows(known, "a", 0, 1), 2)
    reconciler.others.extend([lambda handler: handler.send_json(200, answer)] * 2)

    head, _, rest = asked(reconciler, tmp_path, "a", "--limit", "1").stdout.splitlines()
    (found,) = json.loads(asked(reconciler, tmp_path, "a", "--limit", "200000", "-o", "json").stdout)["queues"]

    assert (head, rest) == ("ClusterQueue a: 3 pending", "  and 2 more")
    assert (found["pending"], len(found["items"])) == (3, 1)
    assert [each.path for each in reconciler.seen] == ["/v1/clusterqueues/a/pendingworkloads"] * 2
    assert [each.query["limit"] for each in reconciler.seen] == ["1", "100000"], "more is refused"


def test_a_reconciler_does_not_list_all_namespaces(tmp_path: Path, reconciler: FakeApi) -> None:
    shown = asked(reconciler, tmp_path, "-A")

    assert (shown.exit_code, shown.stdout, reconciler.seen) == (2, "", [])
    assert "leave -A or --reconciler out" in shown.stderr


# --- a workload of a live cluster by the name of its job


def owned(name: str, owner: str, kind: str = "Job") -> dict[str, object]:
    owners = [{"apiVersion": "v1", "kind": kind, "name": owner, "uid": owner}]
    return waiting(name, 9, metadata={"ownerReferences": owners})


def finished(name: str, owner: str) -> dict[str, object]:
    condition = {"type": "Finished", "status": "True", "reason": "WorkloadSliceReplaced", "message": ""}
    return owned(name, owner) | {"status": {"conditions": [condition]}}


def test_a_job_is_found_by_its_own_name_and_by_that_of_its_workload() -> None:
    world = core(
        *organisation(
            *(owned("job-one-1a", "one"), owned("x", "two"), owned("y", "two", "JobSet")),
            *(finished("old", "grown"), owned("new", "grown"), finished("old-done", "done")),
        )
    ).state.world

    def key(called: str, namespace: str | None = None) -> str:
        return key_of(world, named(called, namespace, lambda: "b"))

    assert key("a/one") == key("a/job-one-1a") == key("one", "a") == key("job/one", "a") == "a/job-one-1a"
    assert key("jobset/two", "a") == key("jobsets.jobset.x-k8s.io/two", "a") == "a/y"
    assert key("workload/job-one-1a", "a") == "a/job-one-1a"
    with pytest.raises(Misused, match="2 Workloads belong to a/two; name one of them: a/x, a/y"):
        key("a/two")
    assert key("a/grown") == "a/new"
    assert key("a/done") == "a/old-done"
    with pytest.raises(Misused, match=r"there is no Workload of a Job a/job-one-1a; did you mean a/job-one-1a\?"):
        key("job/job-one-1a", "a")
    with pytest.raises(Misused, match=r"there is no Workload a/onee, .* did you mean a/one\?"):
        key("a/onee")
    for called in ("b/one", "one", "a/", "a/b/c", "", "/a"):
        with pytest.raises(Misused):
            key(called)
    with pytest.raises(Misused, match="a is neither a known kind of job nor the namespace b of -n; leave -n or a out"):
        key("a/one", "b")


def test_evicted_workload_shows_its_requeue_time() -> None:
    later = {"count": 1, "requeueAt": "2030-01-01T00:00:00Z"}
    evicted = {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout", "message": "too slow"}
    status = {"requeueState": later, "conditions": [evicted | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    world = core(*organisation(waiting("slow", 1, status=status)), leads=False).state.world

    lines = list(explained_lines(explanation_json(world, "a/slow", NOW)))

    again = "it was evicted (PodsReadyTimeout) and is tried again at 2030-01-01T00:00:00Z"
    assert lines == [
        f"Workload a/slow: Waiting in ClusterQueue a (LocalQueue a/main): {again}",
        "    in a, number 1: PodsReadyTimeout: too slow",
        "    not before 2030-01-01T00:00:00Z",
    ]


# --- jobs without a Workload


class WithJobs(Lists):
    """Lists batch Jobs as well."""

    def __init__(self, *manifests: dict[str, Any], jobs: Sequence[dict[str, Any]]) -> None:
        self.jobs = jobs
        super().__init__(*manifests)

    def reply_to(self, observed: Seen) -> Reply:
        if not observed.path.endswith("/jobs"):
            return super().reply_to(observed)
        items = {"metadata": {"resourceVersion": "1"}, "items": [*self.jobs]}
        return lambda handler: handler.send_json(200, items)


def suspended(name: str, priority_class: str, queue: str = "main", **meta: Any) -> dict[str, Any]:
    labels = queued(queue, priority_class=priority_class)
    return batch_job(name, {"suspend": True, "template": template()}, namespace="a", labels=labels, **meta)


URGENT = {**kueue("WorkloadPriorityClass", "urgent"), "value": 100}


def test_job_with_a_missing_priority_class_is_listed(tmp_path: Path) -> None:
    has_one, fine = suspended("one", "gone"), suspended("two", "urgent")
    runs = batch_job("runs", {"suspend": False}, namespace="a", labels=queued("main", priority_class="gone"))
    jobs = [suspended("held", "urgnt"), suspended("other", "gone", "else"), has_one, fine, runs]
    with closing(WithJobs(*organisation(owned("w", "one")), URGENT, jobs=jobs)) as api:

        def shown(*arguments: str) -> str:
            result = run("pending", *arguments, "--kubeconfig", kubeconfig(tmp_path, api.url))
            assert (result.exit_code, result.stderr) == (0, "")
            return result.stdout

        held = "  Job a/held (LocalQueue main): WorkloadPriorityClass urgnt does not exist; did you mean urgent?\n"
        other = (
            "  Job a/other (LocalQueue else): WorkloadPriorityClass gone does not exist; create it or name another\n"
        )
        assert shown().endswith(f"without a Workload: 2 pending\n{held}{other}")
        assert shown("-n", "a").endswith(f"without a Workload: 2 pending\n{held}{other}")
        assert shown("a/main").endswith(f"without a Workload: 1 pending\n{held}")
        assert shown("a").endswith(f"without a Workload: 1 pending\n{held}"), "ClusterQueue a"
        (first, _) = json.loads(shown("-o", "json"))["withoutWorkload"]
        assert (first["name"], first["localQueueName"]) == ("held", "main")


def test_a_job_in_files_that_cannot_be_queued_is_listed(tmp_path: Path) -> None:
    job, free = queued_job("held", "small", 1), queued_job("free", "small", 1)
    job["metadata"]["labels"] |= queued("small", priority_class="urgnt")
    free["metadata"]["labels"] = {}
    file = write(tmp_path / "a.yaml", FLAVOR, URGENT, org_queue("small", 4), local("small"), job, free)

    shown = run("pending", "--against", f"files:{file.parent}").stdout

    assert shown == (
        "without a Workload: 1 pending\n"
        "  Job ns/held (LocalQueue small): WorkloadPriorityClass urgnt does not exist; did you mean urgent?\n"
    )
    assert run("pending", "ns/small", "--against", f"files:{file.parent}").stdout.endswith(shown)
    assert "held" not in run("pending", "-n", "else", "--against", f"files:{file.parent}").stdout
