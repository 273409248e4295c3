"""Installing on a laptop as the documentation says, and a team whose Pods wait for quota of Volcano or YuniKorn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.chart import post_renderer, rendering
from tests.apiserver.harness import ApiError
from tests.apiserver.manifests import crds, define
from tests.apiserver.quickstart.laptop import ROOT, Laptop
from tests.apiserver.volcano.queue_world import QUEUES
from tests.apiserver.webhook.guard import reachable
from tests.apiserver.yunikorn.gated_world import GATE, Manifest
from tests.scheduling.volcano import manifests as volcano
from tests.scheduling.yunikorn import manifests as yunikorn
from tests.waiting import eventually

GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups"
GATED = {
    "volcano": ["reconciler", "reconciler-volcano", "volcano-gates"],
    "yunikorn": ["reconciler", "yunikorn-gates"],
}
"""The components that gate Pods for the quota of Volcano or YuniKorn."""


def done(machine: Laptop, command: str) -> str:
    found = machine.run(command)
    assert found.returncode == 0, f"{command}: {found.stdout}\n{machine.kubelet.log()}"
    return found.stdout


def define_kinds(machine: Laptop) -> None:
    """As `kubectl apply -k manifests/crds` would. The quick start is tested with the real command."""
    define(machine.server, [reachable(each, machine.kubelet.port) for each in crds()])


def from_own_kustomization(machine: Laptop, components: list[str], **texts: str) -> None:
    """Install as in docs/operations.md, so without our labels on objects of components. `texts`: the content of
    ConfigMaps in place of ours, by name without `quotree-`.
    """
    where = machine.folder / "own"
    where.mkdir()
    patches = [{"patch": yaml.safe_dump(_config_map(f"quotree-{name}", text))} for name, text in texts.items()]
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


def from_chart(machine: Laptop, components: list[str]) -> None:
    done(machine, "kubectl create namespace quotree-system")
    renderer = post_renderer.program(machine.folder, machine.kubelet.port)
    rendering.run(
        *("install", "quotree", str(rendering.CHART), f"--post-renderer={renderer}", "-nquotree-system"),
        values=rendering.chosen(components),
        kubeconfig=machine.server.kubeconfig,
    )


def team_of_volcano(machine: Laptop) -> Manifest:
    """Create a Queue with quota for one Pod; a template of its Pods."""
    machine.server.request("POST", QUEUES, volcano.queue("team", "root", capability={"cpu": "1"}))
    is_opened(machine)
    machine.server.request("POST", "/api/v1/namespaces", volcano.namespace("team", {GATE: "volcano"}))
    group = volcano.pod_group("g", "team", space="team")
    eventually(lambda: _is_taken(machine, group), machine.kubelet.log)
    return volcano.pod("p", "g", space="team")


def is_opened(machine: Laptop) -> None:
    """Wait until the reconciler has opened the Queue of the team."""

    def state() -> object:
        return machine.server.request("GET", f"{QUEUES}/team").get("status", {}).get("state")

    eventually(lambda: state() == "Open", machine.kubelet.log)


def _is_taken(machine: Laptop, group: Manifest) -> bool:
    """Create the PodGroup; False while the new queue is not in the cache of the webhook."""
    try:
        machine.server.request("POST", GROUPS, group)
    except ApiError as error:
        if "queue team does not exist" not in error.body:
            raise
        return False
    return True


def team_of_yunikorn(machine: Laptop) -> Manifest:
    """Create a Namespace with quota for one Pod; a template of its Pods."""
    machine.server.request("POST", "/api/v1/namespaces", yunikorn.namespace("team", namespace_quota='{"cpu":"1"}'))
    return yunikorn.pod("p", "a", space="team")


TEAMS = {"volcano": team_of_volcano, "yunikorn": team_of_yunikorn}


def gated(machine: Laptop, template: Manifest, name: str) -> str:
    """Create a gated Pod, once the API server calls the webhooks; its uid."""
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


def named(template: Manifest, name: str) -> Manifest:
    return {**template["metadata"], "name": name}


def pods_of(machine: Laptop) -> list[Manifest]:
    return list(machine.server.request("GET", "/api/v1/namespaces/team/pods")["items"])


def waiting(machine: Laptop) -> dict[str, dict[str, str]]:
    """The annotations of each gated Pod of the team, by its name."""
    held = [each for each in pods_of(machine) if each["spec"].get("schedulingGates")]
    return {each["metadata"]["name"]: each["metadata"].get("annotations", {}) for each in held}
