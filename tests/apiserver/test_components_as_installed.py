"""Components of manifests/ and of the chart, as installed: gated Pods are ungated, without a manual patch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver import build
from tests.apiserver.chart import rendering
from tests.apiserver.quickstart.installing import (
    GATED,
    TEAMS,
    define_kinds,
    done,
    from_chart,
    from_own_kustomization,
    gated,
    is_opened,
    pods_of,
    waiting,
)
from tests.apiserver.quickstart.laptop import Laptop, laptop
from tests.apiserver.volcano.queue_world import QUEUES
from tests.scheduling.volcano import manifests as volcano
from tests.waiting import eventually

INSTALLED_BY = {"kustomize": from_own_kustomization, "helm": from_chart}


@pytest.fixture
def machine(programs: build.Programs, tmp_path: Path) -> Iterator[Laptop]:
    with laptop(tmp_path) as started:
        define_kinds(started)
        yield started


def serving(machine: Laptop) -> None:
    done(machine, "kubectl -n quotree-system wait deployment --all --for=condition=Available --timeout=3m")


def diagnosis(machine: Laptop, check: str) -> list[tuple[str, str]]:
    """The state and the message of each result of a check of `quotree doctor`."""
    checks = json.loads(machine.run("quotree doctor -o json 2>/dev/null").stdout)["checks"]
    return [(each["state"], each["message"]) for each in checks if each["id"] == check]


@pytest.mark.parametrize(
    ("dialect", "way"),
    [
        ("volcano", "kustomize"),
        ("yunikorn", "helm"),
        pytest.param("volcano", "helm", marks=pytest.mark.nightly),
        pytest.param("yunikorn", "kustomize", marks=pytest.mark.nightly),
    ],
)
def test_a_pod_is_ungated_if_it_fits_and_otherwise_has_the_reason(machine: Laptop, dialect: str, way: str) -> None:
    INSTALLED_BY[way](machine, GATED[dialect])
    serving(machine)
    template = TEAMS[dialect](machine)

    for name in ("first", "second"):
        gated(machine, template, name)

    eventually(lambda: len(waiting(machine)) == 1, machine.kubelet.log)
    (late,) = waiting(machine)
    (runs,) = {each["metadata"]["name"] for each in pods_of(machine)} - {late}
    eventually(lambda: "lacks cpu=1" in waiting(machine)[late].get("quotree.dev/quota-waits", ""), machine.kubelet.log)
    machine.server.request("DELETE", f"/api/v1/namespaces/team/pods/{runs}?gracePeriodSeconds=0")
    eventually(lambda: waiting(machine) == {}, machine.kubelet.log)

    assert [state for state, _ in diagnosis(machine, "quota-gates")] == ["ok"]
    done(machine, "kubectl -n quotree-system delete deployment quotree-reconciler")
    ((state, message),) = diagnosis(machine, "quota-gates")
    assert (state, "a gate that nothing removes: Deployment quotree-system/quotree-reconciler is not" in message) == (
        "failure",
        True,
    )


@pytest.mark.nightly  # CI opens a queue in the test above
def test_the_reconciler_opens_queues_of_volcano(machine: Laptop) -> None:
    from_own_kustomization(machine, ["reconciler", "reconciler-volcano"])
    serving(machine)

    machine.server.request("POST", QUEUES, volcano.queue("team", "root"))

    is_opened(machine)


def test_the_reconciler_observes_yunikorn_without_a_lease(machine: Laptop) -> None:
    from_own_kustomization(machine, ["reconciler", "yunikorn-observe"])
    serving(machine)
    done(machine, "kubectl apply -f examples/quickstart.yaml")

    ((state, message),) = diagnosis(machine, "reconciler-lease")
    assert (state, "--mode observe" in message) == ("skipped", True)
    log = machine.kubelet.programs["reconciler"].log()
    assert "has no effect here" not in log
    leases = machine.server.request("GET", "/apis/coordination.k8s.io/v1/namespaces/quotree-system/leases")
    assert leases["items"] == []


@pytest.mark.parametrize("component", ["volcano-gates", "yunikorn-gates", "reconciler-volcano", "yunikorn-observe"])
def test_kustomize_rejects_a_component_before_or_without_the_reconciler(component: str, tmp_path: Path) -> None:
    """Otherwise its arguments would be ignored silently, and Pods would wait indefinitely."""
    for number, components in enumerate(([component], [component, "reconciler"])):
        (folder := tmp_path / str(number)).mkdir()
        built = _built(components, folder)

        assert built.returncode != 0
        assert "Deployment" in built.stderr
        assert "quotree-reconciler" in built.stderr


def _built(components: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The output of kustomize for the base with the components in this order."""
    rendering.written(components, folder)
    return subprocess.run(
        [*build.programs().kubectl, "kustomize", str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
