"""What a webhook adds to a create through a real API server: ours, and one that allows at once without a look.

Nobody, the floor and ours are asked in turn over one connection, so a machine that grows slower favours none of them.
The ledger is left out: `--only ledger` has what it adds.
"""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from cluster.client import ClusterClient
from tests.apiserver.harness import ControlPlane
from tests.apiserver.race.shapes import QUEUES
from tests.bench import reviews
from tests.builders import queue

CREATES = 600
"""Of each; as many again are made before, and not measured."""
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_LABEL = "asked"
_CRD = Path(__file__).parents[2] / "manifests" / "crds" / "queues.scheduling.volcano.sh.yaml"


def rows(folder: Path) -> None:
    with ControlPlane() as control_plane, reviews.served(1_000, 9, folder) as serving, _echo(folder) as floor:
        control_plane.kubectl("apply", "-f", str(_CRD))
        control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
        authority = (folder / "ca.crt").read_bytes()
        with ClusterClient.connect(kubeconfig=str(control_plane.kubeconfig)) as cluster:
            for name, address in (("floor", floor), ("ours", serving.address)):
                cluster.create(_WEBHOOKS, _configuration(name, address, authority))
            _times(cluster, "warm")
            times = _times(cluster, "measured")
    print(f"\n{'a create of a Queue, ms':28} {'p50':>8} {'p99':>8} {'added':>8} {'of the floor':>13}")
    nobody, floor_, _ = (median(each) for each in times.values())
    for title, each in zip(("nobody is asked", "one that allows at once", "ours"), times.values(), strict=True):
        added = median(each) - nobody
        share = f"{added / (floor_ - nobody):13.2f}" if added else ""
        p99 = sorted(each)[int(0.99 * len(each))]
        print(f"{title:28} {median(each) * 1e3:8.2f} {p99 * 1e3:8.2f} {added * 1e3:8.2f} {share}", flush=True)


def _times(cluster: ClusterClient, name: str) -> dict[str, list[float]]:
    """By who is asked: the seconds of each create."""
    times: dict[str, list[float]] = {"nobody": [], "floor": [], "ours": []}
    for number in range(CREATES):
        for asked, found in times.items():
            manifest = queue(f"{name}-{asked}-{number}", deserved="cpu:1")
            manifest["metadata"]["labels"] = {_LABEL: asked}
            started = time.perf_counter()
            cluster.create(QUEUES, manifest)
            found.append(time.perf_counter() - started)
    return times


def _configuration(name: str, address: str, authority: bytes) -> dict[str, Any]:
    """Has the API server ask this address about each create of a Queue with this label."""
    rule = {
        "apiGroups": ["scheduling.volcano.sh"],
        "apiVersions": ["v1beta1"],
        "operations": ["CREATE"],
        "resources": ["queues"],
    }
    webhook = {
        "name": f"{name}.quotree.dev",
        "clientConfig": {"url": address + reviews.PATH, "caBundle": base64.b64encode(authority).decode()},
        "rules": [rule],
        "objectSelector": {"matchLabels": {_LABEL: name}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


@contextlib.contextmanager
def _echo(folder: Path) -> Iterator[str]:
    """The address of the floor, which serves with the certificate in the folder."""
    reported = folder / "echo.json"
    reported.unlink(missing_ok=True)
    with subprocess.Popen([sys.executable, "-m", "tests.bench.echo", str(folder)]) as process:
        try:
            while not reported.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"the floor ended with {process.returncode}")
                time.sleep(0.05)
            yield str(json.loads(reported.read_text())["webhook"])
        finally:
            process.kill()
