"""A cluster read once: as the reconciler knows it, and nothing is asked for but lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.api.snapshot import snapshot
from reconciler.core.watched import WATCHED_KINDS
from tests.cli.runs import kubeconfig, run
from tests.cluster.fake import FakeApi, Handler, Reply, Seen
from tests.reconciler.api.organisation import admitted, kueue, organisation, queue, waiting

BORROWER = admitted("big", 6, "b/main", "b")


class Lists(FakeApi):
    """Lists these objects; `forbidden` are plurals that may not be read."""

    def __init__(self, *manifests: dict[str, Any]) -> None:
        self.objects = manifests
        self.forbidden: set[str] = set()
        self.methods: set[str] = set()
        super().__init__()

    def reply_to(self, observed: Seen) -> Reply:
        def reply(handler: Handler) -> None:
            self.methods.add(observed.method)
            plural = observed.path.rpartition("/")[2]
            kinds = [each.kind for each in WATCHED_KINDS if each.resource.plural == plural]
            items = [each for each in self.objects if each["kind"] in kinds]
            if plural in self.forbidden:
                handler.send_json(403, {"kind": "Status", "reason": "Forbidden", "message": "not for you", "code": 403})
            elif plural == "cohorts" or not kinds:
                handler.send_json(404, {"kind": "Status", "reason": "NotFound", "message": "no such kind", "code": 404})
            else:
                kind = f"{kinds[0]}List"
                handler.send_json(200, {"kind": kind, "metadata": {"resourceVersion": "1"}, "items": items})

        return reply


@pytest.fixture
def api() -> Iterator[Lists]:
    server = Lists(*organisation(BORROWER, waiting("late", 4)))
    yield server
    server.close()


def test_a_world_is_made_of_lists_and_a_kind_that_is_not_installed_counts_as_empty(api: Lists) -> None:
    with api.cluster() as cluster:
        world = snapshot(cluster)

    assert set(world.workloads) == {"a/late", "b/big"}
    assert world.state.reservations.keys() == {"b/big"}
    assert [each.key for each in world.queues.pending["a"].entries()] == ["a/late"]
    assert api.methods == {"GET"}


def test_why_pending_and_tree_tell_of_it(api: Lists, tmp_path: Path) -> None:
    login = ("--kubeconfig", kubeconfig(tmp_path, api.url))

    why = run("why", "a/late", *login)
    assert (why.exit_code, why.stderr) == (0, "")
    assert why.stdout == (
        "Workload a/late in a, number 1: WaitingForQuota: couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor spot, 2 more needed\n"
        "    spot/cpu: pod set main needs 4, 2 free\n"
        "      2 short at Cohort org: the tree of Cohort org needs 2 more usable nominalQuota, "
        "or other work must release 2\n"
        "      in use by b 6 (2 borrowed)\n"
    )
    assert json.loads(run("why", "b/big", *login, "-o", "json").stdout)["state"] == "running"
    assert run("pending", *login).stdout.startswith(
        "ClusterQueue a: 1 pending\n    1  Workload a/late, priority 0: Wait"
    )


def test_strict_queues_name_who_is_in_front(tmp_path: Path) -> None:
    rest = [each for each in organisation() if (each["kind"], each["metadata"]["name"]) != ("ClusterQueue", "a")]
    works = (waiting("big", 9, priority=1), waiting("small", 1))
    api = Lists(*rest, queue("a", 4, queueingStrategy="StrictFIFO"), *works)
    try:
        shown = run("why", "a/small", "--kubeconfig", kubeconfig(tmp_path, api.url)).stdout
    finally:
        api.close()

    assert shown == (
        "Workload a/small in a, number 2: PendingEvaluation: It waits for its turn\n"
        "    behind Workload a/big, which no workload may overtake: the ClusterQueue is StrictFIFO\n"
    )


def test_what_may_not_be_read_is_said(api: Lists, tmp_path: Path) -> None:
    api.forbidden = {"workloads"}

    shown = run("pending", "--kubeconfig", kubeconfig(tmp_path, api.url))

    assert shown.exit_code == 4
    assert "cannot read cluster (current context)" in shown.stderr
    assert "/workloads" in shown.stderr


def test_a_finished_workload_and_one_that_nobody_knows(tmp_path: Path) -> None:
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
