"""The audit as shipped: its manifests applied, and replicas of its process under their ServiceAccount."""

from __future__ import annotations

import base64
import json
import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.chart.rendering import kustomize
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import install
from tests.apiserver.processes import passed_on
from tests.apiserver.webhook.guard import QUOTREE

SYSTEM = "quotree-system"
CERTIFICATE = "quotree-audit-certificate"
SERVED = ("--api-port=0", f"--secret={SYSTEM}/{CERTIFICATE}", "--service=quotree-audit", "--name=127.0.0.1")


def shipped(started: ControlPlane, folder: Path) -> ControlPlane:
    """With Kueue's and Volcano's kinds and the manifests of the audit, and nobody who refuses a broken tree."""
    install(started)
    apply(started, folder)
    return started


def apply(started: ControlPlane, folder: Path) -> None:
    """The manifests of the audit, where Kueue's kinds are there."""
    objects = [obj for obj in kustomize(["audit"], folder).values() if "webhooks" not in obj]
    objects.sort(key=lambda obj: obj["kind"] != "Namespace")
    started.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(objects))


class Replica:
    """A process under the ServiceAccount of the manifests."""

    def __init__(self, server: ControlPlane, folder: Path, *arguments: str) -> None:
        folder.mkdir()
        self._server, self._folder = server, folder
        login = server.service_account_kubeconfig(SYSTEM, "quotree-audit")
        command = [str(QUOTREE), "serve", "audit", "--port=0", f"--kubeconfig={login}", *SERVED]
        command += [f"--api-certs={folder}/certs", f"--address-file={folder}/address.json", *arguments]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env={"HOME": str(folder), **passed_on()})

    @property
    def address(self) -> dict[str, Any]:
        file = self._folder / "address.json"
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def get(self, path: str) -> tuple[int, str]:
        return self._get(f"{self.address['url']}{path}") if self.address else (0, "")

    def findings(self, token: str, query: str = "") -> tuple[int, Any]:
        trust = ssl.create_default_context(cadata=self.authority().decode())
        url = f"{self.address['api']}/v1/findings{query}"
        code, body = self._get(url, {"Authorization": f"Bearer {token}"}, trust)
        return code, json.loads(body)

    def authority(self) -> bytes:
        """Of the certificate of /v1."""
        secret = self._server.request("GET", f"/api/v1/namespaces/{SYSTEM}/secrets/{CERTIFICATE}")
        return base64.b64decode(secret["data"]["ca.crt"])

    def _get(
        self, url: str, headers: dict[str, str] | None = None, trust: ssl.SSLContext | None = None
    ) -> tuple[int, str]:
        request = urllib.request.Request(url, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=5, context=trust) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    @property
    def ready(self) -> bool:
        return self.get("/readyz")[0] == 200

    def metric(self, name: str, **labels: str) -> float | None:
        """The value of the series with these labels; None where there is none."""
        text = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        series = f"{name}{{{text}}}" if text else name
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else None

    @property
    def writes(self) -> bool:
        return self.metric("quotree_audit_leader") == 1

    def log(self) -> str:
        return (self._folder / "log").read_text()

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
