"""`quotree uninstall` after each kind of installation: nothing of ours is left, and work goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.chart import post_renderer, rendering
from tests.apiserver.harness import ApiError
from tests.apiserver.quickstart.laptop import ROOT, Laptop, laptop
from tests.apiserver.volcano.queue_world import QUEUES
from tests.apiserver.yunikorn.gated_world import GATE, Manifest
from tests.builders import queued_pod
from tests.scheduling.volcano import manifests as volcano
from tests.scheduling.yunikorn import manifests as yunikorn
from tests.waiting import eventually

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups"
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
GATES = """\
apiVersion: config.quotree.dev/v1alpha1
kind: Configuration
{0}: {{enforce: gates}}
reconciler: {{dialects: [kueue, {0}]}}
"""
FRAMEWORKS = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod]}
"""


@pytest.fixture
def machine(programs: build.Programs, tmp_path: Path) -> Iterator[Laptop]:
    with laptop(tmp_path) as started:
        done(started, "kubectl apply -k manifests/crds")
        yield started


def done(machine: Laptop, command: str) -> str:
    found = machine.run(command)
    assert found.returncode == 0, f"{command}: {found.stdout}\n{machine.kubelet.log()}"
    return found.stdout


def from_manifests(machine: Laptop, folder: str) -> None:
    done(machine, f"kubectl apply -k manifests/{folder}")


def from_own_kustomization(machine: Laptop, components: list[str], settings: str = SETTINGS, *others: Manifest) -> None:
    """As docs/operations.md has it, so without our labels on what components add."""
    where = machine.folder / "own"
    where.mkdir()
    texts = {"quotree-configuration": settings, "quotree-reconciler": FRAMEWORKS}
    patches = [
        {"patch": yaml.safe_dump(_config_map(name, text)), "target": {"kind": "ConfigMap", "name": name}}
        for name, text in texts.items()
    ]
    patches += others
    manifests = Path("/") / ROOT.relative_to("/") / "manifests"
    relative = Path(*[".."] * len(where.resolve().relative_to("/").parts)) / manifests.relative_to("/")
    kustomization = {
        "resources": [f"{relative}/base"],
        "components": [f"{relative}/components/{name}" for name in components],
        "patches": patches,
    }
    (where / "kustomization.yaml").write_text(json.dumps(kustomization))
    done(machine, f"kubectl apply -k {where}")


def _config_map(name: str, text: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "quotree-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"configuration.yaml": text}}


def reads_settings() -> Manifest:
    """The patch by which the reconciler reads Quotree's own configuration, as docs/volcano.md has it."""
    pod, target = "/spec/template/spec", {"kind": "Deployment", "name": "quotree-reconciler"}
    container, volume = f"{pod}/containers/0", {"name": "settings", "configMap": {"name": "quotree-configuration"}}
    added = {
        f"{container}/args/-": "--settings=/etc/settings/configuration.yaml",
        f"{container}/volumeMounts/-": {"name": "settings", "mountPath": "/etc/settings", "readOnly": True},
        f"{pod}/volumes/-": volume,
    }
    changes = [{"op": "add", "path": path, "value": value} for path, value in added.items()]
    return {"patch": yaml.safe_dump(changes), "target": target}


def from_chart(machine: Laptop) -> None:
    done(machine, "kubectl create namespace quotree-system")
    renderer = post_renderer.program(machine.folder, machine.kubelet.port)
    rendering.run(
        *("install", "quotree", str(rendering.CHART), f"--post-renderer={renderer}", "-nquotree-system"),
        values=rendering.chosen(["reconciler"]),
        kubeconfig=machine.server.kubeconfig,
    )


def work(machine: Laptop) -> None:
    """Once the programs serve: a Job that runs and one that waits, where somebody admits them."""
    done(machine, "kubectl -n quotree-system wait deployment --all --for=condition=Available --timeout=3m")
    done(machine, "kubectl apply -f examples/quickstart.yaml")


def of_ours(machine: Laptop) -> list[str]:
    """The names of what is left of us."""
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


def is_removed(machine: Laptop) -> None:
    assert of_ours(machine) == []
    assert machine.kubelet.programs == {}
    assert finalizers(machine) == []
    assert "nothing of Quotree is here" in done(machine, "quotree uninstall --yes")
    done(machine, "kubectl delete -f examples/quickstart.yaml --timeout=60s")


@pytest.mark.parametrize("folder", ["with-reconciler", "with-multikueue"])
def test_work_that_runs_goes_on_and_what_waits_stays_suspended(machine: Laptop, folder: str) -> None:
    from_manifests(machine, folder)
    done(machine, "quotree install render --vap | kubectl apply -f -")
    work(machine)
    eventually(lambda: not suspended(machine, "first") and machine.server.request("GET", PODS)["items"])
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


def test_the_webhook_alone_and_its_definitions(machine: Laptop) -> None:
    from_manifests(machine, "base")
    work(machine)

    assert "15 definitions stay" in done(machine, "quotree uninstall --yes")
    is_removed(machine)
    done(machine, "quotree uninstall --yes --crds")
    with pytest.raises(ApiError, match="404"):
        machine.server.request("GET", f"{KUEUE}/cohorts")


def test_a_release_of_helm_and_jobs_that_are_to_start(machine: Laptop) -> None:
    from_chart(machine)
    work(machine)
    eventually(lambda: not suspended(machine, "first"))

    done(machine, "quotree uninstall --yes --resume-jobs")

    assert not suspended(machine, "second")
    is_removed(machine)
    assert rendering.run("list", "-A", "-q", kubeconfig=machine.server.kubeconfig).strip() == ""


def test_pods_at_a_gate_are_let_go_also_by_one_that_is_killed_at_each_step(machine: Laptop) -> None:
    from_own_kustomization(machine, ["reconciler", "pods"])
    work(machine)
    eventually(lambda: not suspended(machine, "first"))
    machine.server.request("POST", PODS, queued_pod("waits", "research", "1", namespace="default"))
    held = machine.server.request("GET", f"{PODS}/waits")
    assert held["spec"]["schedulingGates"]
    eventually(lambda: len(machine.server.request("GET", f"{KUEUE}/workloads")["items"]) == 3)

    for number in range(1, 6):
        _killed_at(machine, number)
    done(machine, "quotree uninstall --yes")

    free = machine.server.request("GET", f"{PODS}/waits")
    assert "schedulingGates" not in free["spec"]
    assert "finalizers" not in free["metadata"]
    assert "kueue.x-k8s.io/managed" not in free["metadata"]["labels"]
    assert free["metadata"]["uid"] == held["metadata"]["uid"]
    is_removed(machine)


def team_of_volcano(machine: Laptop) -> Manifest:
    """A Queue with room for one of its Pods, which are returned."""
    machine.server.request("POST", QUEUES, volcano.queue("team", "root", capability={"cpu": "1"}))
    machine.server.request("POST", "/api/v1/namespaces", volcano.namespace("team", {GATE: "volcano"}))
    group = volcano.pod_group("g", "team", space="team")
    machine.server.request("POST", GROUPS, group)
    return volcano.pod("p", "g", space="team")


def team_of_yunikorn(machine: Laptop) -> Manifest:
    """A Namespace with a quota for one of its Pods, which are returned."""
    machine.server.request("POST", "/api/v1/namespaces", yunikorn.namespace("team", namespace_quota='{"cpu":"1"}'))
    return yunikorn.pod("p", "a", space="team")


def namespaced_marks(machine: Laptop) -> list[str]:
    """What names us in the Namespace `team`, its Pods and PodGroups, and the Queues."""
    lists = ("/api/v1/namespaces/team/pods", GROUPS, QUEUES)
    objects = [each for path in lists for each in machine.server.request("GET", path)["items"]]
    objects.append(machine.server.request("GET", "/api/v1/namespaces/team"))
    for each in objects:
        each["metadata"].pop("managedFields", None)
    return [json.dumps(each) for each in objects if "quotree" in json.dumps(each)]


@pytest.mark.parametrize(
    ("dialect", "components", "team"),
    [
        ("volcano", ["reconciler", "reconciler-volcano", "volcano-gates"], team_of_volcano),
        ("yunikorn", ["reconciler", "yunikorn-gates"], team_of_yunikorn),
    ],
)
def test_pods_that_wait_for_quota_of_volcano_and_yunikorn_start_and_nothing_of_ours_is_left(
    machine: Laptop, dialect: str, components: list[str], team: Callable[[Laptop], Manifest]
) -> None:
    from_own_kustomization(machine, components, GATES.format(dialect), reads_settings())
    work(machine)
    template = team(machine)
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


def gated(machine: Laptop, template: Manifest, name: str) -> str:
    """The uid of a Pod that was created with a gate; the webhooks may not be called at first."""
    pod = {**template, "metadata": named(template, name)}
    pod["spec"] = {**pod["spec"], "schedulerName": "default-scheduler"}
    path = "/api/v1/namespaces/team/pods"

    def is_gated() -> bool:
        try:
            return bool(machine.server.request("POST", f"{path}?dryRun=All", pod)["spec"].get("schedulingGates"))
        except ApiError:
            return False

    eventually(is_gated, machine.kubelet.log)
    return str(machine.server.request("POST", path, pod)["metadata"]["uid"])


def lost_its_mark(machine: Laptop, name: str) -> bool:
    """Once nobody holds the label of a Pod at a gate any more."""
    path, bare = f"/api/v1/namespaces/team/pods/{name}", {"metadata": {"labels": {GATE: None}}}
    try:
        found = machine.server.request("PATCH", path, bare, content_type="application/merge-patch+json")
    except ApiError:
        return False
    return GATE not in found["metadata"].get("labels", {}) and bool(found["spec"].get("schedulingGates"))


def named(template: Manifest, name: str) -> Manifest:
    return {**template["metadata"], "name": name}


def pods_of(machine: Laptop) -> list[Manifest]:
    return list(machine.server.request("GET", "/api/v1/namespaces/team/pods")["items"])


def waiting(machine: Laptop) -> dict[str, dict[str, str]]:
    """By Pod of the team that has a gate, its annotations."""
    held = [each for each in pods_of(machine) if each["spec"].get("schedulingGates")]
    return {each["metadata"]["name"]: each["metadata"].get("annotations", {}) for each in held}


def _killed_at(machine: Laptop, number: int) -> None:
    """Killed when it says that it begins its so-and-so-manieth step, if it comes that far."""
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


def test_by_hand_in_the_order_of_the_documentation(machine: Laptop) -> None:
    from_manifests(machine, "with-reconciler")
    work(machine)
    eventually(lambda: not suspended(machine, "first"))

    section = (ROOT / "docs" / "operations.md").read_text().partition("\n### By hand\n")[2].partition("\n## ")[0]
    commands = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    assert len(commands) == 5
    for command in commands:
        done(machine, command.replace("-k .", "-k manifests/with-reconciler"))

    assert of_ours(machine) == []
    done(machine, "quotree uninstall --yes")
    is_removed(machine)
