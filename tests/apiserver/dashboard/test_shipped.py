"""The dashboard as shipped: under its ServiceAccount, which may nothing, with a certificate of its own."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.apiserver.dashboard.world import ADMIN, USERS, Dashboard, organisation, reconciling
from tests.apiserver.harness import ControlPlane
from tests.apiserver.reconciler.shipped_reconciler import SYSTEM, shipped
from tests.apiserver.server_process import fetched
from tests.apiserver.webhook.guard import ROOT


def test_it_serves_over_tls_with_no_right_but_to_its_secret(
    new_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    server = shipped(new_control_plane(users=USERS))
    component = ROOT / "manifests" / "components" / "dashboard"
    objects = [
        each for file in ("rbac.yaml", "service.yaml") for each in yaml.safe_load_all((component / file).read_text())
    ]
    server.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(objects))
    organisation(server, 20)
    login = server.service_account_kubeconfig(SYSTEM, "quotree-dashboard")
    with reconciling(server, tmp_path / "reconciler") as replica:
        folder = tmp_path / "dashboard"
        dashboard = Dashboard(
            server,
            folder,
            replica.address["api"],
            f"--certs={folder}/certs",
            f"--secret={SYSTEM}/quotree-dashboard-certificate",
            "--service=quotree-dashboard",
            "--name=127.0.0.1",
            f"--session-key={folder}/certs/tls.key",
            "--health-port=0",
            KUBECONFIG=str(login),
        )
        try:
            trust = ssl.create_default_context(cafile=folder / "certs" / "ca.crt")
            page = _get(f"{dashboard.url}/trees/kueue", trust, ADMIN.token)
            nobody = _get(f"{dashboard.url}/trees/kueue", trust, "made-up")
        finally:
            dashboard.close()

    assert (page[0], "ClusterQueue queue-0" in page[1]) == (200, True)
    assert "ClusterQueue queue-0" not in nobody[1]
    assert server.request("GET", f"/api/v1/namespaces/{SYSTEM}/secrets/quotree-dashboard-certificate")["data"][
        "tls.key"
    ]
    assert not (folder / "certs" / "ca.key").exists()


def _get(url: str, trust: ssl.SSLContext, token: str) -> tuple[int, str]:
    return fetched(url, {"Authorization": f"Bearer {token}"}, trust, seconds=20)
