"""The stories and the risk of KEP-79 end to end: the reconciler on a real API server, without the webhook."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from cluster.client import APPLY_PATCH, MERGE_PATCH, ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.errors import NotFound
from reconciler.controllers.status import StatusController
from reconciler.core.core import Core
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.status.deadlines import release
from scheduling.status.writing import written_status
from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.kueue_world import KUEUE, following, install, workload
from tests.apiserver.manifests import unconverted
from tests.builders import kueue
from tests.waiting import eventually

RECLAIM = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
CYCLE = ("False", "CohortCycleDetected")


class Company:
    """A tree of Cohorts, which `remove` deletes; a LocalQueue has the name of its ClusterQueue."""

    def __init__(self, cluster: ClusterClient, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._made: list[str] = []
        self._make("resourceflavors", kueue("ResourceFlavor", "plain", {}))

    def cohort(self, name: str, parent: str = "", **limits: str) -> None:
        groups = _groups("0", **limits) if limits else []
        spec = {**({"parentName": parent} if parent else {}), **({"resourceGroups": groups} if groups else {})}
        self._make("cohorts", kueue("Cohort", name, spec))

    def queue(self, name: str, cohort: str, cpu: str) -> None:
        spec = {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": _groups(cpu), "preemption": RECLAIM}
        self._make("clusterqueues", kueue("ClusterQueue", name, spec))
        local = kueue("LocalQueue", name, {"clusterQueue": name})
        self.cluster.create(f"{KUEUE}/namespaces/{self.namespace}/localqueues", local)

    def put_under(self, cohort: str, parent: str | None) -> None:
        self.cluster.patch(f"{KUEUE}/cohorts/{cohort}", {"spec": {"parentName": parent}}, MERGE_PATCH)

    def submit(self, name: str, cpu: str, queue: str, priority: int = 0) -> None:
        made = workload(name, cpu, priority, queue)
        self.cluster.create(f"{KUEUE}/namespaces/{self.namespace}/workloads", made)

    def is_(self, name: str, kind: str, *expected: str) -> bool:
        return self.condition(f"namespaces/{self.namespace}/workloads/{name}", kind) == expected

    def admitted(self, name: str) -> bool:
        return self.is_(name, "Admitted", "True", "Admitted")

    def condition(self, path: str, kind: str) -> tuple[str, ...]:
        status = self.cluster.get(f"{KUEUE}/{path}").get("status", {})
        found = [each for each in status.get("conditions", []) if each["type"] == kind]
        return (found[0]["status"], found[0]["reason"]) if found else ()

    def reported(self, kind: str, name: str) -> set[str]:
        """The reasons of the Events about a cluster-scoped object."""
        events = self.cluster.get("/api/v1/namespaces/default/events")["items"]
        return {
            each["reason"]
            for each in events
            if (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == (kind, name)
        }

    def shows(self, kind: str, name: str, expected: tuple[str, str]) -> None:
        """Wait until the object has the condition and an Event reports it."""
        path = f"cohorts/{name}" if kind == "Cohort" else f"clusterqueues/{name}"
        condition = "CohortActive" if kind == "Cohort" else "Active"
        eventually(lambda: self.condition(path, condition) == expected, lambda: f"{path} does not show {expected}")
        eventually(lambda: expected[1] in self.reported(kind, name), lambda: f"no Event tells {expected} of {path}")

    def stop_job(self, name: str) -> None:
        """As its job does after the eviction."""
        path = f"{KUEUE}/namespaces/{self.namespace}/workloads/{name}"
        manifest = self.cluster.get(path)
        status = written_status(release(read_workload(manifest), time.time_ns() // SECOND * SECOND))
        gone = {key: None for key in manifest["status"] if key not in status}
        self.cluster.patch(f"{path}/status", {"status": status | gone}, MERGE_PATCH)

    def remove(self) -> None:
        for path in reversed(self._made):
            try:
                self.cluster.patch(path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
                self.cluster.delete(path)
            except NotFound:
                continue

    def _make(self, plural: str, manifest: dict[str, Any]) -> None:
        self.cluster.create(f"{KUEUE}/{plural}", manifest)
        self._made.append(f"{KUEUE}/{plural}/{manifest['metadata']['name']}")


def _groups(cpu: str, **limits: str) -> list[dict[str, Any]]:
    quota = {"name": "cpu", "nominalQuota": cpu, **limits}
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "plain", "resources": [quota]}]}]


@pytest.fixture
def company(control_plane: ControlPlane, namespace: str) -> Iterator[Company]:
    install(control_plane)
    with ClusterClient(from_kubeconfig(None, str(control_plane.kubeconfig))) as cluster:
        made = Company(cluster, namespace)
        try:
            with following(control_plane):
                yield made
        finally:
            made.remove()


def test_production_borrows_from_research_and_research_cannot_borrow(company: Company) -> None:
    company.cohort("company")
    company.cohort("research", "company", borrowingLimit="0")
    company.cohort("production", "company")
    company.queue("research-a", "research", "4")
    company.queue("production-a", "production", "2")

    company.submit("greedy", "5", "research-a")
    eventually(lambda: company.is_("greedy", "QuotaReserved", "False", "Pending"), lambda: _why(company, "greedy"))
    company.submit("busy", "5", "production-a")
    eventually(lambda: company.admitted("busy"))
    company.submit("paper", "1", "research-a")
    eventually(lambda: company.admitted("paper"))

    company.submit("thesis", "3", "research-a")
    eventually(lambda: company.is_("busy", "Evicted", "True", "Preempted"))
    assert company.is_("busy", "Preempted", "True", "InCohortReclamation")
    company.stop_job("busy")
    eventually(lambda: company.admitted("thesis"))
    assert not company.admitted("greedy")


def test_a_special_queue_borrows_quota_that_organisations_do_not_use(company: Company) -> None:
    company.cohort("company")
    for name in ("north", "south"):
        company.cohort(name, "company", borrowingLimit="0")
        company.queue(f"{name}-a", name, "4")
    company.queue("special", "company", "0")

    company.submit("scan", "7", "special")
    eventually(lambda: company.admitted("scan"), lambda: _why(company, "scan"))
    company.submit("large", "5", "north-a", priority=100)
    eventually(lambda: company.is_("large", "QuotaReserved", "False", "Pending"), lambda: _why(company, "large"))

    company.submit("own", "4", "south-a", priority=100)
    eventually(lambda: company.is_("scan", "Evicted", "True", "Preempted"))
    company.stop_job("scan")
    eventually(lambda: company.admitted("own"))
    eventually(lambda: company.is_("scan", "QuotaReserved", "False", "Pending"), lambda: _why(company, "scan"))
    company.submit("small", "1", "special")
    assert eventually(lambda: company.admitted("small"))


def test_a_cycle_of_cohorts_is_reported_at_every_node_until_it_is_resolved(company: Company) -> None:
    cohorts, queues = ("ring-a", "ring-b", "ring-c", "below"), ("ring-q", "below-q")
    for name, parent in (("ring-a", ""), ("ring-b", "ring-a"), ("ring-c", "ring-b"), ("below", "ring-c")):
        company.cohort(name, parent)
    company.cohort("apart")
    for name, cohort in (("ring-q", "ring-b"), ("below-q", "below"), ("apart-q", "apart")):
        company.queue(name, cohort, "2")
    company.submit("runs", "1", "below-q")
    eventually(lambda: company.admitted("runs"))

    company.put_under("ring-a", "ring-c")
    for name in queues:
        company.shows("ClusterQueue", name, CYCLE)
    for name in cohorts:
        company.shows("Cohort", name, CYCLE)
    company.submit("new", "1", "ring-q")
    company.submit("elsewhere", "1", "apart-q")
    eventually(lambda: company.admitted("elsewhere"))
    eventually(lambda: company.is_("new", "QuotaReserved", "False", "Inadmissible"))
    assert company.admitted("runs"), "what runs goes on"
    assert company.condition("cohorts/apart", "CohortActive") == ("True", "Ready")

    company.put_under("ring-a", None)
    eventually(lambda: company.admitted("new"))
    for name in queues:
        company.shows("ClusterQueue", name, ("True", "Ready"))
    for name in cohorts:
        company.shows("Cohort", name, ("True", "Ready"))


def test_events_report_a_cycle_with_the_cohort_crd_of_kueue(
    new_control_plane: Callable[..., ControlPlane],
) -> None:
    server = new_control_plane()
    install(server)
    definition = next(each for each in unconverted() if each["spec"]["names"]["kind"] == "Cohort")
    for version in definition["spec"]["versions"]:
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        for ours in ("conditions", "flavorsReservation"):
            status.pop(ours, None)
    server.kubectl("apply", "-f", "-", input=yaml.safe_dump(definition))
    eventually(lambda: _prunes(server))  # the API server takes up a new schema soon after
    with ClusterClient(from_kubeconfig(None, str(server.kubeconfig))) as cluster, following(server) as reconciler:
        company = Company(cluster, "default")
        company.cohort("a")
        company.cohort("b", "a")
        company.queue("q", "b", "2")
        eventually(lambda: reconciler.ask(_prunes_cohorts))
        company.put_under("a", "b")
        eventually(lambda: company.condition("clusterqueues/q", "Active") == CYCLE)
        eventually(lambda: CYCLE[1] in company.reported("Cohort", "a") & company.reported("Cohort", "b"))
        assert company.condition("cohorts/a", "CohortActive") == ()

        def rests() -> bool:
            written = reconciler.core.stats.written
            time.sleep(3)
            return reconciler.core.stats.written == written

        assert eventually(rests, lambda: "what is pruned is written again and again")


def _prunes(server: ControlPlane) -> bool:
    """Whether the API server prunes the conditions of a Cohort."""
    said = {
        "type": "Probe",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    path, status = f"{KUEUE}/cohorts/probe", {"status": {"conditions": [said]}}
    try:
        server.request("PATCH", f"{path}?fieldManager=probe", kueue("Cohort", "probe", {}), content_type=APPLY_PATCH)
        found = server.request("PATCH", f"{path}/status", status, content_type=MERGE_PATCH)
        server.request("DELETE", path)
    except ApiError as error:
        if error.status != 503:
            raise
        return False  # the API server has just replaced the store of the changed kind
    return "conditions" not in found.get("status", {})


def _prunes_cohorts(core: Core) -> bool:
    return any(isinstance(each, StatusController) and each.prunes_cohorts for each in core.controllers)


def _why(company: Company, name: str) -> str:
    return str(company.cluster.get(f"{KUEUE}/namespaces/{company.namespace}/workloads/{name}").get("status"))
