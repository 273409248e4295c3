"""What the loop writes of MultiKueueClusters and of the AdmissionChecks that need them."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.expiry import Expiry
from reconciler.controllers.clusters import ClustersController
from reconciler.multikueue.kubeconfigs import RefusedKubeconfig, WorkerLogin
from reconciler.multikueue.objects import CLUSTERS
from reconciler.multikueue.worker_session import SessionBroken, SessionReady
from reconciler.objects.observed import Key, Observed
from reconciler.objects.outcomes import Written
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import CHECK_VIEW
from reconciler.objects.workers import DropWorker, FollowWorker, PathSource, SecretSource, Source, WorkerCondition
from scheduling.objects import times
from scheduling.objects.times import SECOND
from tests.copies import copied
from tests.reconciler.driver import Driver
from tests.reconciler.multikueue.workers_in_hand import World
from tests.reconciler.stored_objects import StoredObjects

NOW = times.parse("2026-01-01T00:00:00Z")


class FakeSources:
    def __init__(self) -> None:
        self.watched: dict[str, Source | None] = {}

    def follow(self, name: str, source: Source | None) -> None:
        self.watched[name] = source

    def drop(self, name: str) -> None:
        self.watched.pop(name, None)


class Cluster(StoredObjects):
    """The manager's objects, and what the controller writes into them."""

    def __init__(self, *, counted: bool = False) -> None:
        super().__init__()
        self.workers = World()
        self.sources = FakeSources()
        self.controller = ClustersController(self.workers.connections.workers, counted=counted)
        self.driver = Driver(self.controller)

    def declare(self, kind: str, name: str, spec: dict[str, Any], **meta: Any) -> None:
        before = self.objects.get((kind, name), {})
        metadata = {"name": name, "uid": f"uid-{name}", "generation": 1, **meta}
        self.put((kind, name), {"metadata": metadata, "spec": spec, "status": before.get("status", {})})

    def changed(self, key: Key) -> None:
        watched = next(each for each in self.controller.watched if each.kind == key[0])
        there = key in self.objects
        found = watched.observed(copied(self.objects[key])) if there else Observed(key, str(self.version), None)
        self.controller.observe(found)
        self._carry_out()

    def _carry_out(self) -> None:
        connections = self.workers.connections
        for command in self.controller.commands():
            match command:
                case FollowWorker():
                    self.sources.follow(command.cluster, command.source)
                case WorkerCondition():
                    connections.stored(command.cluster, command.active)
                case DropWorker():
                    self.sources.drop(command.cluster)
                    connections.drop(command.cluster)

    def report(self) -> None:
        """The events of the connections."""
        self.workers.run()
        for event in self.workers.reported:
            self.controller.from_worker(event, NOW)
        self.workers.reported.clear()

    def write(self, now: int = NOW) -> list[WantedWrite]:
        """Everything that is due, until nothing is due."""
        done: list[WantedWrite] = []
        self.report()
        while writes := self.driver.due(now):
            for write in writes:
                assert write.action is not None
                assert isinstance(self.perform(write.key, write.action), Written)
            done += writes
        return done

    def active(self, kind: str, name: str) -> tuple[str, str, str] | None:
        for each in self.objects[kind, name]["status"].get("conditions", []):
            if each["type"] == "Active":
                return each["status"], each["reason"], each["message"]
        return None

    def since(self, kind: str, name: str) -> str:
        return str(self.objects[kind, name]["status"]["conditions"][0]["lastTransitionTime"])


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    for name in ("one", "two"):
        made.declare("MultiKueueCluster", name, secret(name))
    made.declare("MultiKueueConfig", "both", {"clusters": ["one", "two"]})
    made.declare("AdmissionCheck", "away", check("both"))
    return made


def secret(name: str) -> dict[str, Any]:
    return {"clusterSource": {"kubeConfig": {"location": name, "locationType": "Secret"}}}


def check(config: str) -> dict[str, Any]:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": config}
    return {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}


def connect(cluster: Cluster, name: str, login: WorkerLogin | None = None) -> int:
    cluster.workers.connections.offer(name, login or WorkerLogin(name, {}))
    cluster.workers.tell(SessionReady())
    return len(cluster.workers.lines) - 1


def test_kubeconfig_sources_are_followed_as_the_clusters_specify(cluster: Cluster) -> None:
    assert cluster.sources.watched == {"one": SecretSource("one"), "two": SecretSource("two")}
    path = {"clusterSource": {"kubeConfig": {"location": "/a", "locationType": "Path"}}}
    cluster.declare("MultiKueueCluster", "one", path)
    assert cluster.sources.watched["one"] == PathSource("/a")
    cluster.drop(("MultiKueueCluster", "one"))
    assert "one" not in cluster.sources.watched
    cluster.declare("MultiKueueCluster", "two", secret("two"), deletionTimestamp="2026-01-01T00:00:00Z")
    assert cluster.sources.watched == {}


def test_a_cluster_without_a_known_connection_keeps_its_stored_status(cluster: Cluster) -> None:
    cluster.write()
    assert cluster.active("MultiKueueCluster", "one") is None
    assert cluster.active("AdmissionCheck", "away") == ("False", "NoUsableClusters", "Inactive clusters: [one two]")


def test_the_check_reports_inactive_and_missing_clusters(cluster: Cluster) -> None:
    connect(cluster, "one")
    cluster.write()
    assert cluster.active("MultiKueueCluster", "one") == ("True", "Active", "Connected")
    assert cluster.active("AdmissionCheck", "away") == ("True", "SomeActiveClusters", "Inactive clusters: [two]")
    connect(cluster, "two")
    cluster.write()
    assert cluster.active("AdmissionCheck", "away") == ("True", "Active", "The admission check is active")
    cluster.drop(("MultiKueueCluster", "two"))
    cluster.write()
    assert cluster.active("AdmissionCheck", "away") == ("True", "SomeActiveClusters", "Missing clusters: [two]")


def test_a_disconnected_worker_gets_an_event_and_a_new_transition_time(cluster: Cluster) -> None:
    session = connect(cluster, "one")
    cluster.write(NOW)
    cluster.workers.tell(SessionBroken("no answer"), session=session)
    (event, *_) = cluster.write(NOW + 60 * SECOND)
    assert (event.key[1], event.reason, event.message, event.warning) == (
        "one",
        "ClientConnectionFailed",
        "no answer",
        True,
    )
    assert event.about is not None
    assert (event.about.uid, event.about.api_version) == ("uid-one", "kueue.x-k8s.io/v1beta2")
    assert cluster.since("MultiKueueCluster", "one") == "2026-01-01T00:01:00Z"

    cluster.workers.pass_time(0)
    cluster.workers.tell(SessionBroken("still no answer"))
    (again, *_) = cluster.write(NOW + 90 * SECOND)
    assert again.reason == ""
    assert cluster.active("MultiKueueCluster", "one") == ("False", "ClientConnectionFailed", "still no answer")
    assert cluster.since("MultiKueueCluster", "one") == "2026-01-01T00:01:00Z"


@pytest.mark.parametrize("counted", [True, False])
def test_the_condition_counts_the_attempts_that_failed_in_0_20(counted: bool) -> None:
    cluster = Cluster(counted=counted)
    cluster.declare("MultiKueueCluster", "one", secret("one"))
    cluster.workers.connections.offer("one", WorkerLogin("one", {}))
    told, events = [], []
    for _ in range(2):
        cluster.workers.tell(SessionBroken("no route"))
        events += [write.reason for write in cluster.write() if write.reason]
        told.append(cluster.active("MultiKueueCluster", "one"))
        due = times.rfc3339(cluster.workers.connections.workers["one"].link.retry_at)
        count = f"; connection attempts: {len(told)}, next connection attempt: {due}" if counted else ""
        assert told[-1] == ("False", "ClientConnectionFailed", f"no route{count}")
        cluster.workers.pass_time(60)
    assert events == ["ClientConnectionFailed"]


def test_a_refused_kubeconfig_is_reported_with_its_reason(cluster: Cluster) -> None:
    cluster.workers.connections.offer("one", RefusedKubeconfig("InsecureKubeConfig", "tokenFile is not allowed"))
    cluster.write()
    message = "load client config failed: tokenFile is not allowed"
    assert cluster.active("MultiKueueCluster", "one") == ("False", "InsecureKubeConfig", message)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (None, "missing parameters reference"),
        ({"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig"}, "empty name: bad parameters reference"),
        ({"apiGroup": "a.b", "kind": "MultiKueueConfig", "name": "both"}, 'wrong group "a.b"'),
        ({"apiGroup": "kueue.x-k8s.io", "kind": "Cohort", "name": "both"}, 'wrong kind "Cohort"'),
        (
            {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "none"},
            'MultiKueueConfig.kueue.x-k8s.io "none" not found',
        ),
    ],
)
def test_a_check_without_a_valid_config_reports_bad_config(
    cluster: Cluster, parameters: dict[str, str] | None, said: str
) -> None:
    spec: dict[str, Any] = {"controllerName": "kueue.x-k8s.io/multikueue"}
    cluster.declare("AdmissionCheck", "away", {**spec, **({"parameters": parameters} if parameters else {})})
    cluster.write()
    found = cluster.active("AdmissionCheck", "away")
    assert found is not None
    assert found[:2] == ("False", "BadConfig")
    assert said in found[2]


def test_checks_of_other_controllers_are_ignored(cluster: Cluster) -> None:
    cluster.declare("AdmissionCheck", "budget", {"controllerName": "example.com/budget"})
    cluster.declare("AdmissionCheck", "away", {"controllerName": "example.com/other"})
    assert [write for write in cluster.write() if write.key[0] == CHECK_VIEW.kind] == []


def test_a_long_worker_message_is_cut_to_the_limit_of_a_condition(cluster: Cluster) -> None:
    line = connect(cluster, "one")
    cluster.workers.tell(SessionBroken("x" * 100_000), session=line)
    cluster.write()

    active = cluster.active("MultiKueueCluster", "one")
    assert active is not None
    assert len(active[2]) == 32 * 1024


def test_an_object_that_is_being_written_is_not_written_again(cluster: Cluster) -> None:
    connect(cluster, "one")
    cluster.report()
    (check_first,) = cluster.driver.due(NOW, lambda kind, _: kind == CLUSTERS.kind)
    assert check_first.key == ("AdmissionCheck", "away")
    (then,) = cluster.driver.due(NOW, lambda kind, _: kind == CHECK_VIEW.kind)
    assert then.key == (CLUSTERS.kind, "one")


def test_expiring_credentials_are_reported_once(cluster: Cluster) -> None:
    ends = NOW // SECOND + 24 * 3600
    connect(cluster, "one", WorkerLogin("one", {}, Expiry(ends, "token", ends - 365 * 24 * 3600)))
    cluster.write(NOW - SECOND)
    assert cluster.active("MultiKueueCluster", "one") == ("True", "Active", "Connected")
    cluster.write(NOW)
    found = cluster.active("MultiKueueCluster", "one")
    assert found is not None
    assert found[2] == "Connected; the token ends at 2026-01-02T00:00:00Z: put a new one into the kubeconfig"
    assert cluster.write(NOW + SECOND) == []
