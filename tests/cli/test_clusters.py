"""`quotree clusters`: what the managing cluster says of its workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.patches import WORKLOADS
from tests.cli.runs import kubeconfig, run
from tests.cluster.quota_api import QuotaApi


@pytest.fixture
def api() -> Iterator[QuotaApi]:
    server = QuotaApi()
    server.served.add(WORKLOADS)
    yield server
    server.close()


def worker(name: str, *active: str) -> dict[str, Any]:
    told = dict(zip(("status", "reason", "message"), active, strict=False))
    conditions = [{"type": "Active", "lastTransitionTime": "2026-01-01T00:00:00Z", **told}] if active else []
    return {"metadata": {"name": name}, "spec": {}, "status": {"conditions": conditions}}


def placed(name: str, cluster: str, *held: str) -> dict[str, Any]:
    conditions = [{"type": each, "status": "True"} for each in held]
    meta = {"namespace": "ns", "name": name}
    return {"metadata": meta, "spec": {}, "status": {"clusterName": cluster, "conditions": conditions}}


def test_each_worker_is_listed_with_what_keeps_it_and_what_runs_there(tmp_path: Path, api: QuotaApi) -> None:
    api.objects["multikueueclusters"] = [
        worker("west"),
        worker("east", "True", "Active", "Connected"),
        worker("south", "False", "ClientConnectionFailed", "no answer"),
    ]
    api.objects["multikueueconfigs"] = [{"metadata": {"name": "all"}, "spec": {"clusters": ["east", "south"]}}]
    api.objects["workloads"] = [placed("a", "east"), placed("b", "east", "Finished"), placed("c", "")]
    login = ("--kubeconfig", str(kubeconfig(tmp_path, api.url)))

    shown = run("clusters", *login)
    assert shown.stdout == (
        "east (all): connected since 2026-01-01T00:00:00Z, 1 workloads\n"
        "south (all): not connected since 2026-01-01T00:00:00Z, 0 workloads\n"
        "  ClientConnectionFailed: no answer\n"
        "west (no MultiKueueConfig): not known yet, 0 workloads\n"
    )
    (east, *_) = json.loads(run("clusters", "-o", "json", *login).stdout)["items"]
    assert (east["name"], east["configs"], east["placed"], east["error"]) == ("east", ["all"], 1, "")


def test_without_kueues_kinds_there_are_none(tmp_path: Path, api: QuotaApi) -> None:
    api.served.clear()
    assert (
        run("clusters", "--kubeconfig", str(kubeconfig(tmp_path, api.url))).stdout
        == "there are no MultiKueueClusters\n"
    )


def test_files_do_not_say_who_is_connected(tmp_path: Path) -> None:
    refused = run("clusters", "--against", f"files:{tmp_path}")
    assert refused.exit_code == 2
    assert "name the cluster that manages the others" in refused.stderr
