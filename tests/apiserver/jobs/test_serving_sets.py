"""StatefulSets and LeaderWorkerSets are admitted as groups: webhook and reconciler as installed, with the real
StatefulSet controller.

There is no kubelet and no LeaderWorkerSet controller: the tests write what these write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import KUEUE, queue, served
from tests.apiserver.manifests import define
from tests.apiserver.needs import skip_without
from tests.apiserver.reconciler.shipped_reconciler import Replica, shipped
from tests.apiserver.webhook.guard import Guard
from tests.builders import kueue
from tests.waiting import eventually

K = "kueue.x-k8s.io/"
LWS = "leaderworkerset.sigs.k8s.io/"
TEAM = "/api/v1/namespaces/team"
SETS = "/apis/apps/v1/namespaces/team/statefulsets"
LEADER_SETS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/team/leaderworkersets"
WORKLOADS = f"{KUEUE}/namespaces/team/workloads"
MERGE = "application/merge-patch+json"
CONFIGURATION = """
apiVersion: config.quotree.dev/v1alpha1
kind: Configuration
kueueVersion: "0.19"
kueue: {managePods: true}
"""
Manifest = dict[str, Any]


class Team:
    """A team with 4 cpu."""

    def __init__(self, server: ControlPlane, replica: Replica) -> None:
        self.server, self.replica = server, replica

    def pods(self) -> dict[str, Manifest]:
        return {each["metadata"]["name"]: each for each in self.server.request("GET", f"{TEAM}/pods")["items"]}

    def started(self, image: str = "") -> set[str]:
        """The Pods without a gate that are not being deleted, those with this image if one is named."""
        return {
            name
            for name, each in self.pods().items()
            if not each["spec"].get("schedulingGates") and not each["metadata"].get("deletionTimestamp")
            if image in each["spec"]["containers"][0]["image"]
        }

    def waiting(self) -> set[str]:
        return {name for name, each in self.pods().items() if each["spec"].get("schedulingGates")}

    def workloads(self) -> dict[str, dict[str, int]]:
        """The pod sets of each Workload, by the name of its object without the hash."""
        found = self.server.request("GET", WORKLOADS)["items"]
        return {
            each["metadata"]["name"].rpartition("-")[0]: {
                pod_set["name"]: pod_set["count"] for pod_set in each["spec"]["podSets"]
            }
            for each in found
        }

    def uids(self) -> set[str]:
        return {each["metadata"]["uid"] for each in self.server.request("GET", WORKLOADS)["items"]}

    def reach(self, condition: Any) -> None:
        eventually(
            condition, lambda: f"{self.started()} {self.waiting()} {self.workloads()} {self.replica.log()[-2000:]}"
        )

    def ready(self, *names: str) -> None:
        """Their nodes report the Pods as ready."""
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for name in names:
            self.server.request("PATCH", f"{TEAM}/pods/{name}/status", {"status": status}, content_type=MERGE)

    def submit(self, name: str, replicas: int, cpu: str) -> None:
        labels = {"app": name}
        spec = {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(cpu)},
        }
        self.server.request(
            "POST", SETS, {"metadata": {"name": name, "labels": {f"{K}queue-name": "main"}}, "spec": spec}
        )

    def change(self, name: str, spec: Manifest) -> None:
        self.server.request("PATCH", f"{SETS}/{name}", {"spec": spec}, content_type=MERGE)


def pod_spec(cpu: str, image: str = "one") -> Manifest:
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": cpu}}}
    return {"containers": [container], "terminationGracePeriodSeconds": 0}


@pytest.fixture(scope="module")
def shared(programs: build.Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with ExitStack() as running:
        try:
            server = running.enter_context(ControlPlane(controller_manager=True))
        except build.MissingControlPlaneError as error:
            skip_without(error)
        running.enter_context(Guard(shipped(server), CONFIGURATION, "pods"))
        replica = Replica(server, tmp_path_factory.mktemp("serving") / "reconciler")
        running.callback(replica.close)
        eventually(lambda: replica.ready and replica.writes, lambda: replica.log()[-3000:])
        define(server, [_leader_worker_sets()])
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
        eventually(lambda: served(server, f"{TEAM}/serviceaccounts/default"))
        server.request("POST", f"{KUEUE}/resourceflavors", kueue("ResourceFlavor", "plain", {}))
        server.request("POST", f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "team", queue("org", "4")))
        local = kueue("LocalQueue", "main", {"clusterQueue": "team"})
        server.request("POST", f"{KUEUE}/namespaces/team/localqueues", local)
        yield Team(server, replica)


def _leader_worker_sets() -> Manifest:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"kind": "LeaderWorkerSet", "plural": "leaderworkersets", "singular": "leaderworkerset"}
    spec = {"group": "leaderworkerset.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "leaderworkersets.leaderworkerset.x-k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": spec,
    }


@pytest.fixture
def team(shared: Team) -> Iterator[Team]:
    yield shared
    for path in (SETS, LEADER_SETS, f"{TEAM}/pods", WORKLOADS):
        shared.server.request("DELETE", path)
    shared.reach(lambda: not shared.pods() and not shared.workloads())


def test_a_stateful_set_starts_only_if_all_its_pods_fit(team: Team) -> None:
    team.submit("large", 3, "2")
    team.reach(lambda: team.workloads() == {"statefulset-large": {"main": 3}})
    team.submit("web", 3, "1")
    team.reach(lambda: team.started() == {"web-0"})
    for number in (0, 1):
        team.ready(f"web-{number}")
        team.reach(lambda number=number: team.started() == {f"web-{each}" for each in range(number + 2)})

    assert team.waiting() == {"large-0"}
    assert team.workloads() == {"statefulset-large": {"main": 3}, "statefulset-web": {"main": 3}}


def test_a_rollout_and_deleted_pods_keep_the_quota(team: Team) -> None:
    team.submit("web", 2, "1")
    team.reach(lambda: team.started() == {"web-0"})
    team.ready("web-0")
    team.reach(lambda: len(team.started()) == 2)
    team.ready("web-1")
    workload, before = team.uids(), {each["metadata"]["uid"] for each in team.pods().values()}

    team.change("web", {"template": {"spec": pod_spec("1", "two")}})
    for name in ("web-1", "web-0"):
        team.reach(lambda name=name: name in team.started("two"))
        team.ready(name)
    for path in (f"{TEAM}/pods/web-1", f"{TEAM}/pods"):
        team.server.request("DELETE", path)
        team.reach(lambda: "web-0" in team.started())
        team.ready("web-0")
        team.reach(lambda: len(team.started()) == 2)

    assert team.uids() == workload
    assert not before & {each["metadata"]["uid"] for each in team.pods().values()}


def test_a_stateful_set_is_preempted_and_starts_again_as_a_whole(team: Team) -> None:
    team.submit("web", 2, "1")
    team.reach(lambda: team.started() == {"web-0"})
    team.ready("web-0")
    team.reach(lambda: len(team.started()) == 2)
    (name,) = (each["metadata"]["name"] for each in team.server.request("GET", WORKLOADS)["items"])
    for active in (False, True):
        body = {"spec": {"active": active}}
        team.server.request("PATCH", f"{WORKLOADS}/{name}", body, content_type=MERGE)
        team.reach(lambda active=active: ("web-0" in team.started()) is active)

    team.ready("web-0")
    team.reach(lambda: team.started() == {"web-0", "web-1"})
    assert team.workloads() == {"statefulset-web": {"main": 2}}


def test_a_stateful_set_that_has_pods_cannot_be_scaled(team: Team) -> None:
    team.submit("web", 1, "1")
    team.reach(lambda: team.started() == {"web-0"})
    scaled = team.server.kubectl("scale", "statefulset", "web", "--replicas=2", "-n", "team", check=False)

    assert "[stateful-set-resized]" in scaled.stderr


def test_a_stateful_set_that_is_scaled_to_zero_frees_its_quota_and_queues_again(team: Team) -> None:
    team.submit("web", 2, "2")
    team.reach(lambda: team.started() == {"web-0"})
    team.submit("other", 1, "1")
    team.reach(lambda: team.waiting() == {"other-0"})

    team.change("web", {"replicas": 0})
    team.reach(lambda: team.started() == {"other-0"})
    team.change("web", {"replicas": 3})
    team.reach(lambda: team.workloads() == {"statefulset-other": {"main": 1}, "statefulset-web": {"main": 3}})

    assert team.waiting() == {"web-0"}


def test_a_group_of_a_leader_worker_set_is_admitted_as_a_whole(team: Team) -> None:
    """The first group uses 3 of 4 cpu, so the second one waits for 3 cpu, although one of its Pods would fit."""
    spec = {
        "replicas": 2,
        "leaderWorkerTemplate": {
            "size": 3,
            "leaderTemplate": {"spec": pod_spec("1")},
            "workerTemplate": {"spec": pod_spec("1")},
        },
    }
    body = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm", "labels": {f"{K}queue-name": "main"}},
        "spec": spec,
    }
    stored = team.server.request("POST", LEADER_SETS, body)
    controls(team, stored, "0")
    team.reach(lambda: team.started() == {"llm-a-0", "llm-a-0-1", "llm-a-0-2"})
    controls(team, stored, "1")
    team.reach(lambda: team.waiting() == {"llm-b-0", "llm-b-0-1", "llm-b-0-2"})
    team.reach(lambda: len(team.workloads()) == 2)

    sets = {"leader": 1, "worker": 2}
    assert team.workloads() == {"leaderworkerset-llm-0": sets, "leaderworkerset-llm-1": sets}
    assert team.started() == {"llm-a-0", "llm-a-0-1", "llm-a-0-2"}


def controls(team: Team, stored: Manifest, group: str) -> None:
    """Create the objects of a group, as the LeaderWorkerSet controller does: a StatefulSet for the leader, and one for
    the workers, which the leader owns. In reality the leaders of all groups have one StatefulSet.
    """
    names = {f"{LWS}name": "llm", f"{LWS}group-index": group}
    templates = stored["spec"]["leaderWorkerTemplate"]
    leader = f"llm-{'ab'[int(group)]}"
    _set(team, leader, 1, stored, templates["leaderTemplate"], {**names, f"{LWS}worker-index": "0"}, {})
    eventually(lambda: f"{leader}-0" in team.pods())
    owner = {"apiVersion": "v1", "kind": "Pod", **team.pods()[f"{leader}-0"]}
    led = {f"{LWS}leader-name": f"{leader}-0"}
    _set(team, f"{leader}-0", 2, owner, templates["workerTemplate"], {**names, "role": "worker"}, led, start=1)


def _set(
    team: Team,
    name: str,
    replicas: int,
    owner: Manifest,
    template: Manifest,
    labels: dict[str, str],
    annotations: dict[str, str],
    start: int = 0,
) -> None:
    meta = template.get("metadata", {})
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    spec = {
        "replicas": replicas,
        "serviceName": "llm",
        "podManagementPolicy": "Parallel",
        "ordinals": {"start": start},
        "selector": {"matchLabels": {"set": name}},
        "template": {
            "metadata": {
                "labels": {**meta["labels"], **labels, "set": name},
                "annotations": {**meta["annotations"], **annotations},
            },
            "spec": template["spec"],
        },
    }
    team.server.request("POST", SETS, {"metadata": {"name": name, "ownerReferences": [reference]}, "spec": spec})
