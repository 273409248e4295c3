"""A snapshot of a cluster equals the state of the reconciler, and is read with lists only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.api.snapshot import snapshot
from tests.cli.runs import kubeconfig, run, write
from tests.reconciler.api.lists import Lists
from tests.reconciler.api.organisation import admitted, kueue, organisation, queue, waiting

BORROWER = admitted("big", 6, "b/main", "b")


@pytest.fixture
def api() -> Iterator[Lists]:
    server = Lists(*organisation(BORROWER, waiting("late", 4)))
    yield server
    server.close()


def test_a_snapshot_uses_only_lists_and_a_missing_kind_counts_as_empty(api: Lists) -> None:
    with api.cluster() as cluster:
        world = snapshot(cluster)

    assert set(world.workloads) == {"a/late", "b/big"}
    assert world.state.reservations.keys() == {"b/big"}
    assert [each.key for each in world.queues.pending["a"].entries()] == ["a/late"]
    assert api.methods == {"GET"}


def test_why_and_pending_report_on_a_cluster(api: Lists, tmp_path: Path) -> None:
    login = ("--kubeconfig", kubeconfig(tmp_path, api.url))

    why = run("why", "a/late", *login)
    assert (why.exit_code, why.stderr) == (0, "")
    assert why.stdout == (
        "Workload a/late: Waiting in ClusterQueue a (LocalQueue a/main): needs 2 more cpu of flavor spot; "
        "the nominalQuota of ClusterQueue a would be enough, but other queues borrow it, and its reclaimWithinCohort "
        "is Never; it starts once that is released, or ClusterQueue a gets more quota\n"
        "    in a, number 1: WaitingForQuota: couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor spot, 2 more needed\n"
        "    spot/cpu: pod set main needs 4, 2 free\n"
        "      2 short: raise nominalQuota of ClusterQueue a from 4 to 6, or of ClusterQueue b from 4 to 6, "
        "or wait until other work releases 2\n"
        "      in use by b 6 (2 borrowed)\n"
    )
    assert json.loads(run("why", "b/big", *login, "-o", "json").stdout)["state"] == "running"
    assert run("pending", *login).stdout.startswith(
        "ClusterQueue a: 1 pending\n    1  Workload a/late, priority 0: Wait"
    )


def test_why_names_the_workloads_ahead_in_a_strict_fifo_queue(tmp_path: Path) -> None:
    rest = [each for each in organisation() if (each["kind"], each["metadata"]["name"]) != ("ClusterQueue", "a")]
    works = (waiting("big", 9, priority=1), waiting("small", 1))
    api = Lists(*rest, queue("a", 4, queueingStrategy="StrictFIFO"), *works)
    try:
        shown = run("why", "a/small", "--kubeconfig", kubeconfig(tmp_path, api.url)).stdout
    finally:
        api.close()

    assert shown == (
        "Workload a/small: Waiting in ClusterQueue a (LocalQueue a/main): ClusterQueue a is StrictFIFO, and no "
        "workload may overtake its head; 1 workload is ahead; it is tried once that one has started\n"
        "    in a, number 2: PendingEvaluation: It waits for its turn\n"
        "    behind Workload a/big, which no workload may overtake\n"
        "    ahead of it: Workload a/big\n"
    )


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("late", waiting("late", 4)),
        ("big", waiting("big", 99)),
        ("slip", waiting("slip", 1, local="a/mian")),
        ("off", waiting("off", 1) | {"spec": {**waiting("off", 1)["spec"], "active": False}}),
    ],
)
def test_why_reports_the_same_for_a_cluster_and_for_files(tmp_path: Path, name: str, work: dict[str, Any]) -> None:
    objects = organisation(BORROWER, work)
    write(tmp_path / "files" / "a.yaml", *objects)
    api = Lists(*objects)
    try:
        live = run("why", f"a/{name}", "--kubeconfig", kubeconfig(tmp_path, api.url))
    finally:
        api.close()

    files = run("why", f"a/{name}", "--against", f"files:{tmp_path / 'files'}")

    assert (files.exit_code, files.stdout) == (live.exit_code, live.stdout) == (0, live.stdout)


def test_why_suggests_the_local_queue_that_was_meant(tmp_path: Path) -> None:
    api = Lists(*organisation(), waiting("slip", 1, local="a/mian"))
    try:
        shown = run("why", "a/slip", "--kubeconfig", kubeconfig(tmp_path, api.url)).stdout
    finally:
        api.close()

    assert "LocalQueue a/mian does not exist; did you mean main?" in shown


def test_pending_reports_the_list_that_is_forbidden(api: Lists, tmp_path: Path) -> None:
    api.forbidden = {"workloads"}

    shown = run("pending", "--kubeconfig", kubeconfig(tmp_path, api.url))

    assert shown.exit_code == 4
    assert "cannot read cluster (current context)" in shown.stderr
    assert "/workloads" in shown.stderr
    assert "the cluster has no APIService v1alpha1.visibility.quotree.dev; install the reconciler" in shown.stderr
    elsewhere = run("pending", "-n", "empty", "--kubeconfig", kubeconfig(tmp_path, api.url))
    assert elsewhere.exit_code == 4


def test_why_reports_a_finished_workload_and_fails_for_a_missing_one(tmp_path: Path) -> None:
    done = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
    status = {"conditions": [done | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    api = Lists(*organisation(waiting("done", 1, status=status), kueue("Cohort", "org", {})))
    try:
        login = ("--kubeconfig", kubeconfig(tmp_path, api.url))
        finished, ghost = run("why", "a/done", *login), run("why", "a/ghost", *login)
    finally:
        api.close()

    assert finished.stdout == "Workload a/done is finished\n"
    assert (ghost.exit_code, "there is no Workload a/ghost" in ghost.stderr) == (2, True)


RACK, HOST = "example.com/rack", "kubernetes.io/hostname"


def racks(*more: dict[str, Any]) -> Lists:
    """Two racks of one node each with 4 cpu, on one of which another Pod uses 3."""
    flavor = kueue("ResourceFlavor", "spot", {"nodeLabels": {"pool": "a"}, "topologyName": "racks"})
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "resourceVersion": "1", "labels": {"pool": "a", RACK: f"r-{name}", HOST: name}},
            "status": {
                "allocatable": {"cpu": "4", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for name in ("n1", "n2")
    ]
    other = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "agent", "namespace": "a", "resourceVersion": "1"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
        "status": {"phase": "Running"},
    }
    gang = waiting("gang", 1)
    gang["spec"]["podSets"][0] |= {"count": 5, "topologyRequest": {"required": RACK}}
    queues = [each for each in organisation() if each["kind"] != "ResourceFlavor"]
    return Lists(*queues, flavor, kueue("Topology", "racks", levels), *nodes, other, gang, *more)


def test_why_names_the_domain_that_is_short_on_the_nodes_of_the_cluster(tmp_path: Path) -> None:
    server = racks()
    login = ("--kubeconfig", kubeconfig(tmp_path, server.url))
    try:
        known = run("why", "a/gang", *login)
        server.forbidden.add("nodes")
        unknown = run("why", "a/gang", *login)
    finally:
        server.close()

    assert "rack r-n2 has room for 4 of the 5 pods" in known.stdout, known.output
    assert "the Nodes are not known here" in unknown.stdout, unknown.output
    assert (known.exit_code, unknown.exit_code) == (0, 0)


@pytest.mark.parametrize("flags", [(), ("--hash-names",)])
def test_a_snapshot_has_the_usage_of_other_pods_on_the_nodes(tmp_path: Path, flags: tuple[str, ...]) -> None:
    server, file = racks(), tmp_path / "prod.json"
    login = ("--kubeconfig", kubeconfig(tmp_path, server.url))
    small = waiting("small", 1)
    small["spec"]["podSets"][0] |= {"count": 2, "topologyRequest": {"required": RACK}}
    change = write(tmp_path / "small.yaml", small)
    try:
        taken = run("snapshot", "--against", "cluster:lab", *login, "--file", file, *flags)
        live = run("why", "a/gang", *login)
    finally:
        server.close()

    assert taken.exit_code == 0, taken.output
    nodes = {
        each["metadata"]["name"]: each["status"]["requested"]
        for each in json.loads(file.read_text())["objects"]
        if each["kind"] == "Node"
    }
    assert nodes == {"n1": {"cpu": "3", "pods": "1"}, "n2": {"pods": "0"}}
    against = ("--against", f"snapshot:{file}")
    if not flags:
        assert run("why", "a/gang", *against).stdout == live.stdout
    pending = run("pending", *against)
    assert "allows to fit only 4 out of 5 pod(s)" in pending.stdout, pending.output
    assert "rack r-n2: 2" in run("diff", change, *against).stdout


def test_why_knows_no_nodes_from_a_snapshot_without_their_usage(tmp_path: Path) -> None:
    """A snapshot of an earlier version has no usage of nodes."""
    server, file = racks(), tmp_path / "prod.json"
    try:
        login = ("--kubeconfig", kubeconfig(tmp_path, server.url))
        assert run("snapshot", "--against", "cluster:lab", *login, "--file", file).exit_code == 0
    finally:
        server.close()
    whole = json.loads(file.read_text())
    for each in whole["objects"]:
        each.get("status", {}).pop("requested", None)
    file.write_text(json.dumps(whole))

    assert "the Nodes are not known here" in run("why", "a/gang", "--against", f"snapshot:{file}").stdout


def test_diff_against_a_cluster_uses_its_nodes(tmp_path: Path) -> None:
    server = racks()
    login = ("--against", "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, server.url))
    small = waiting("small", 1)
    small["spec"]["podSets"][0] |= {"count": 2, "topologyRequest": {"required": RACK}}
    try:
        found = run("diff", write(tmp_path / "small.yaml", small), *login)
    finally:
        server.close()

    assert "rack r-n2: 2" in found.stdout, found.output


def test_why_reports_a_topology_that_has_to_be_created(tmp_path: Path) -> None:
    server = racks()
    server.objects = tuple(each for each in server.objects if each["kind"] != "Topology")
    try:
        shown = run("why", "a/gang", "--kubeconfig", kubeconfig(tmp_path, server.url)).stdout
    finally:
        server.close()

    assert 'there is no Topology "racks" for TAS flavor "spot"; have the Topology created' in shown
