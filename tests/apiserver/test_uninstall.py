"""`quotree uninstall` after each kind of installation: no object of Quotree is left, and running jobs continue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver import build
from tests.apiserver.chart import rendering
from tests.apiserver.harness import ApiError
from tests.apiserver.manifests import kustomized
from tests.apiserver.quickstart.installing import (
    GATED,
    GROUPS,
    TEAMS,
    define_kinds,
    done,
    from_chart,
    from_own_kustomization,
    gated,
    named,
    pods_of,
    waiting,
)
from tests.apiserver.quickstart.laptop import ROOT, Laptop, laptop
from tests.apiserver.volcano.queue_world import QUEUES
from tests.apiserver.yunikorn.gated_world import GATE
from tests.builders import queued_pod
from tests.profiles import spread
from tests.waiting import eventually

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
LEFT = (
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
)
SETTINGS = """\
apiVersion: config.quotree.dev/v1alpha1
kind: Configuration
profile: strict
kueue: {manageJobs: true, managePods: true}
"""
FRAMEWORKS = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod]}
"""


@pytest.fixture
def machine(programs: build.Programs, tmp_path: Path) -> Iterator[Laptop]:
    with laptop(tmp_path) as started:
        define_kinds(started)
        yield started


def from_manifests(machine: Laptop, folder: str) -> None:
    done(machine, f"kubectl apply -k manifests/{folder}")


def work(machine: Laptop) -> None:
    """Once the programs serve, create two Jobs; with the reconciler one runs and one waits."""
    done(machine, "kubectl -n quotree-system wait deployment --all --for=condition=Available --timeout=3m")
    done(machine, "kubectl apply -f examples/quickstart.yaml")


def of_ours(machine: Laptop) -> list[str]:
    """The names of the objects of Quotree that still exist."""
    found = [each["metadata"]["name"] for path in LEFT for each in machine.server.request("GET", path)["items"]]
    namespaces = machine.server.request("GET", "/api/v1/namespaces")["items"]
    return [*(name for name in found if "quotree" in name), *(
        each["metadata"]["name"] for each in namespaces if each["metadata"]["name"] == "quotree-system"
    )]  # fmt: skip


def finalizers(machine: Laptop) -> list[str]:
    kinds = ("clusterqueues", "resourceflavors", "workloads")
    objects = [each for kind in kinds for each in machine.server.request("GET", f"{KUEUE}/{kind}")["items"]]
    return [name for each in objects for name in each["metadata"].get("finalizers", [])]


def suspended(machine: Laptop, name: str) -> bool:
    return bool(machine.server.request("GET", f"{JOBS}/{name}")["spec"].get("suspend"))


def state(machine: Laptop) -> str:
    """The jobs, their Events, and the end of our logs, for a failure message."""
    shown = machine.run("kubectl get jobs,pods,workloads,events -n default").stdout
    return f"{shown}\n{machine.kubelet.log()}"


def is_removed(machine: Laptop) -> None:
    assert of_ours(machine) == []
    assert machine.kubelet.programs == {}
    assert finalizers(machine) == []
    assert "nothing of Quotree is here" in done(machine, "quotree uninstall --yes")
    done(machine, "kubectl delete -f examples/quickstart.yaml --timeout=60s")


@pytest.mark.parametrize("folder", [pytest.param("with-reconciler", marks=pytest.mark.nightly), "with-multikueue"])
def test_uninstall_keeps_running_jobs_and_suspended_jobs(machine: Laptop, folder: str) -> None:
    from_manifests(machine, folder)
    done(machine, "quotree install render --vap | kubectl apply -f -")
    work(machine)
    eventually(
        lambda: not suspended(machine, "first") and machine.server.request("GET", PODS)["items"], lambda: state(machine)
    )
    (before,) = machine.server.request("GET", PODS)["items"]

    plan = done(machine, "quotree uninstall --dry-run")
    assert "work that runs is left running: 1 job\n" in plan
    assert "stay suspended; --resume-jobs starts them: Job default/second" in plan
    assert "quotree-system" in of_ours(machine)
    done(machine, "quotree uninstall --yes")

    (after,) = machine.server.request("GET", PODS)["items"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert suspended(machine, "second")
    is_removed(machine)


@pytest.mark.nightly
def test_uninstall_removes_the_webhook_and_with_crds_its_crds(machine: Laptop) -> None:
    from_manifests(machine, "base")
    work(machine)

    assert "15 definitions stay" in done(machine, "quotree uninstall --yes")
    is_removed(machine)
    crds_are_removed(machine)


def crds_are_removed(machine: Laptop) -> None:
    done(machine, "quotree uninstall --yes --crds")
    with pytest.raises(ApiError, match="404"):
        machine.server.request("GET", f"{KUEUE}/cohorts")


def test_uninstall_removes_a_helm_release_and_resumes_jobs_on_request(machine: Laptop) -> None:
    from_chart(machine, ["reconciler"])
    work(machine)
    eventually(lambda: not suspended(machine, "first"), lambda: state(machine))

    assert "15 definitions stay" in done(machine, "quotree uninstall --yes --resume-jobs")

    assert not suspended(machine, "second")
    is_removed(machine)
    crds_are_removed(machine)
    assert rendering.run("list", "-A", "-q", kubeconfig=machine.server.kubeconfig).strip() == ""


def test_uninstall_ungates_pods_also_after_a_kill_at_each_step(machine: Laptop) -> None:
    from_own_kustomization(machine, ["reconciler", "pods"], configuration=SETTINGS, reconciler=FRAMEWORKS)
    work(machine)
    eventually(lambda: not suspended(machine, "first"), lambda: state(machine))
    machine.server.request("POST", PODS, queued_pod("waits", "research", "1", namespace="default"))
    held = machine.server.request("GET", f"{PODS}/waits")
    assert held["spec"]["schedulingGates"]
    eventually(lambda: len(machine.server.request("GET", f"{KUEUE}/workloads")["items"]) == 3)

    for number in spread(range(1, 6), 0.3):
        _killed_at(machine, number)
    done(machine, "quotree uninstall --yes")

    free = machine.server.request("GET", f"{PODS}/waits")
    assert "schedulingGates" not in free["spec"]
    assert "finalizers" not in free["metadata"]
    assert "kueue.x-k8s.io/managed" not in free["metadata"]["labels"]
    assert free["metadata"]["uid"] == held["metadata"]["uid"]
    is_removed(machine)


def namespaced_marks(machine: Laptop) -> list[str]:
    """The Namespace `team`, its Pods and PodGroups and the Queues, if they mention Quotree."""
    lists = ("/api/v1/namespaces/team/pods", GROUPS, QUEUES)
    objects = [each for path in lists for each in machine.server.request("GET", path)["items"]]
    objects.append(machine.server.request("GET", "/api/v1/namespaces/team"))
    for each in objects:
        each["metadata"].pop("managedFields", None)
    return [json.dumps(each) for each in objects if "quotree" in json.dumps(each)]


@pytest.mark.parametrize("dialect", GATED)
def test_uninstall_ungates_pods_of_volcano_and_yunikorn_and_their_labels(machine: Laptop, dialect: str) -> None:
    from_own_kustomization(machine, GATED[dialect])
    work(machine)
    template = TEAMS[dialect](machine)
    made = [gated(machine, template, f"p{number}") for number in range(3)]
    eventually(lambda: len(waiting(machine)) == 2, machine.kubelet.log)
    eventually(lambda: all("quotree.dev/quota-waits" in notes for notes in waiting(machine).values()))
    late = sorted(waiting(machine))
    machine.server.request("DELETE", f"{LEFT[1]}/quotree-validate")
    eventually(lambda: lost_its_mark(machine, late[0]))

    plan = done(machine, "quotree uninstall --dry-run")
    assert f"these Pods lose their scheduling gate and start without quota: team/{late[0]}, team/{late[1]}\n" in plan
    done(machine, "quotree uninstall --yes")

    assert sorted(each["metadata"]["uid"] for each in pods_of(machine)) == sorted(made)
    assert waiting(machine) == {}
    eventually(lambda: all(each["spec"].get("nodeName") for each in pods_of(machine)))
    assert namespaced_marks(machine) == []
    is_removed(machine)
    machine.server.request("POST", "/api/v1/namespaces/team/pods", {**template, "metadata": named(template, "new")})
    assert waiting(machine) == {}
    done(machine, "kubectl delete namespace team --timeout=60s")


def lost_its_mark(machine: Laptop, name: str) -> bool:
    """Remove the label of a gated Pod; False as long as the webhook denies it."""
    path, bare = f"/api/v1/namespaces/team/pods/{name}", {"metadata": {"labels": {GATE: None}}}
    try:
        found = machine.server.request("PATCH", path, bare, content_type="application/merge-patch+json")
    except ApiError:
        return False
    return GATE not in found["metadata"].get("labels", {}) and bool(found["spec"].get("schedulingGates"))


def _killed_at(machine: Laptop, number: int) -> None:
    """Run `quotree uninstall`, and kill it when it begins the step of this number."""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "cli.main", "uninstall", "--yes"],
        cwd=ROOT,
        env=machine.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        begun = 0
        for line in process.stdout:
            begun += line.endswith(" ...\n")
            if begun == number:
                process.kill()
                break


def by_hand() -> list[str]:
    """The commands of the documentation."""
    section = (ROOT / "docs" / "uninstall.md").read_text().partition("\n## By hand\n")[2].partition("\n## ")[0]
    return [line.strip() for line in section.splitlines() if line.startswith("    ")]


def test_the_first_documented_commands_delete_each_object_that_can_refuse_requests(programs: build.Programs) -> None:
    kinds = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService")
    installed = kustomized(ROOT / "manifests" / "with-reconciler")
    named = {f"{each['kind'].lower()} {each['metadata']['name']}" for each in installed if each["kind"] in kinds}

    assert {" ".join(command.split()[2:4]) for command in by_hand()[:3]} == named


@pytest.mark.nightly
def test_the_documented_commands_uninstall_quotree_by_hand(machine: Laptop) -> None:
    from_manifests(machine, "with-reconciler")
    work(machine)
    eventually(lambda: not suspended(machine, "first"), lambda: state(machine))

    assert len(by_hand()) == 5
    for command in by_hand():
        done(machine, command.replace("-k .", "-k manifests/with-reconciler"))

    assert of_ours(machine) == []
    done(machine, "quotree uninstall --yes")
    is_removed(machine)
