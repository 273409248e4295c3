"""Commands about a cluster follow the version of Kueue that is installed there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runs import kubeconfig, run, write
from tests.cluster.fake import FakeApi, Handler, status
from tests.kueue_installation import deployment

FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "cpu"}}
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "1",
        "kind": {"group": "kueue.x-k8s.io", "version": "v1beta2", "kind": "ResourceFlavor"},
        "resource": {"group": "kueue.x-k8s.io", "version": "v1beta2", "resource": "resourceflavors"},
        "name": "cpu",
        "operation": "CREATE",
        "userInfo": {"username": "ann"},
        "object": FLAVOR,
    },
}


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """A cluster with Kueue v0.19.2 and nothing else."""
    server = FakeApi()

    def reply(handler: Handler) -> None:
        if "/deployments/" in handler.path:
            image = "registry.k8s.io/kueue/kueue:v0.19.2"
            handler.send_json(200, deployment("kueue-controller-manager", "kueue-system", image))
        else:
            status(404, "NotFound")(handler)

    server.others.extend([reply] * 100)
    yield server
    server.close()


@pytest.mark.parametrize("command", ["validate", "diff", "order", "fix", "review"])
def test_a_gate_of_another_version_is_refused(tmp_path: Path, api: FakeApi, command: str) -> None:
    gates = {"featureGates": {"DynamicQuotaOrchestration": True}}
    ours: dict[str, Any] = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration", "kueue": gates}
    config = write(tmp_path / "config.yaml", ours)
    given = write(tmp_path / "given.yaml", REVIEW if command == "review" else FLAVOR)
    cluster = ["--against", "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, api.url)]

    result = run(command, given, *cluster, "--config", config)

    assert result.exit_code == 2
    assert "unrecognized feature gate: DynamicQuotaOrchestration" in result.stderr
    assert "0.19" in result.stderr
