"""Fill a control plane with very many objects: they are put straight into etcd; the API server would take minutes."""

from __future__ import annotations

import base64
import http.client
import json
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from tests.apiserver.harness import ControlPlane
from tests.bench.admission import gauges

Manifest = dict[str, Any]
_LONG = 600.0
"""Seconds after which the wait is given up."""
_AT_ONCE = 128
"""The number of operations that etcd takes in one transaction."""
_API_VERSION = "kueue.x-k8s.io/v1beta2"


def fill(etcd_url: str, manifests: Iterable[Manifest]) -> int:
    """Store objects of Kueue's kinds as the API server would. Returns the number; raises RuntimeError on a refusal."""
    connection = http.client.HTTPConnection(urlsplit(etcd_url).netloc)
    rest, count = iter(manifests), 0
    while some := [_put(manifest, count + place) for place, manifest in enumerate(islice(rest, _AT_ONCE))]:
        connection.request("POST", "/v3/kv/txn", json.dumps({"success": some}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"etcd: {answer.status}: {content[:300]!r}")
        count += len(some)
    connection.close()
    return count


def until_calm(server: ControlPlane) -> None:
    """Wait until the API server has little left to do: it reads the objects in etcd gradually."""
    pid, ends = server.pids()["kube-apiserver"], time.monotonic() + _LONG
    while time.monotonic() < ends:
        before = gauges.cpu_seconds(pid)
        time.sleep(1)
        if gauges.cpu_seconds(pid) - before < 0.2:
            return


def _put(manifest: Manifest, number: int) -> Manifest:
    meta = manifest["metadata"]
    where = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
    key = f"/registry/kueue.x-k8s.io/{manifest['kind'].lower()}s/{where}"
    return {"requestPut": {"key": _encoded(key), "value": _encoded(json.dumps(_stored(manifest, number)))}}


def _stored(manifest: Manifest, number: int) -> Manifest:
    given = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
    made = {
        "uid": f"00000000-0000-4000-9000-{number:012}",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"apiVersion": _API_VERSION, **manifest, "metadata": {**made, **given}}


def _encoded(content: str) -> str:
    return base64.b64encode(content.encode()).decode()
