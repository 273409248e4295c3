"""The short form of `make race`: a few pairs of each shape, also with kill -9 and a failing API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.race.replicas import Replicas
from tests.apiserver.race.running import Race
from tests.apiserver.race.shapes import SHAPES
from tests.apiserver.webhook.guard import ROOT
from tests.builders import pod_group, queue
from tests.waiting import eventually

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def replicas(programs: build.Programs) -> Iterator[Replicas]:
    with ControlPlane() as control_plane, Replicas(control_plane, 2, faulty=True) as running:
        yield running


def test_two_concurrent_writers_pass_only_if_both_changes_fit_the_tree(replicas: Replicas) -> None:
    race = Race()

    race.run("2", replicas, each=1)

    wrong = [tally for shape, tally in race.rows.values() if shape.wrong]
    assert sum(tally.both_passed for tally in wrong) == 0
    assert sum(tally.both_refused for tally in wrong) == 0
    assert race.right_pairs_pass(), race.rows
    assert sum(tally.too_long for _, tally in race.rows.values()) == 0, race.rows


def test_two_concurrent_writers_cannot_break_a_tree_despite_kills_and_faults(replicas: Replicas) -> None:
    race = Race(number=10_000)

    race.faulty("faults", replicas, each=1)

    assert len(race.rows) == len(SHAPES) * 4
    assert sum(tally.both_passed for shape, tally in race.rows.values() if shape.wrong) == 0


def test_queue_changes_fail_closed_without_the_ledger_and_other_requests_pass(replicas: Replicas) -> None:
    kubectl = replicas.control_plane.kubectl
    kubectl("-n", "quotree-system", "delete", "configmap", "quotree-ledger")

    missing = "ConfigMap quotree-system/quotree-ledger does not exist; apply manifests/base, or set `ledger: off`"
    refused = eventually(lambda: said if missing in (said := _refusal(replicas, queue("closed"))) else "")
    work = kubectl("apply", "-f", "-", input=yaml.safe_dump(pod_group("free", "default", "default"))).stdout
    kubectl("apply", "-f", str(ROOT / "manifests" / "base" / "ledger.yaml"))

    assert "ServiceUnavailable" in refused
    assert "created" in work
    eventually(lambda: not _refusal(replicas, queue("closed")))


def test_applying_the_manifests_again_keeps_the_ledger_entries(replicas: Replicas) -> None:
    kubectl = replicas.control_plane.kubectl
    assert not _refusal(replicas, queue("kept"))

    def kept() -> bool:  # a replica may remove an old entry in between, once
        before = _ledger(replicas)
        kubectl("apply", "-f", str(ROOT / "manifests" / "base" / "ledger.yaml"))
        return bool(before) and _ledger(replicas) == before

    assert eventually(kept)


def test_the_webhook_may_only_read_and_patch_the_ledger_config_map(replicas: Replicas) -> None:
    account = "system:serviceaccount:quotree-system:quotree-webhook"
    allowed = {
        (verb, name): replicas.control_plane.kubectl(
            "auth", "can-i", verb, f"configmap/{name}", "-n", "quotree-system", f"--as={account}", check=False
        ).stdout.strip()
        for verb in ("get", "patch", "update", "delete")
        for name in ("quotree-ledger", "quotree-configuration")
    }

    assert {what for what, answer in allowed.items() if answer == "yes"} == {
        ("get", "quotree-ledger"),
        ("patch", "quotree-ledger"),
    }


def _refusal(replicas: Replicas, manifest: Manifest) -> str:
    done = replicas.control_plane.kubectl("apply", "-f", "-", input=yaml.safe_dump(manifest), check=False)
    return done.stderr if done.returncode else ""


def _ledger(replicas: Replicas) -> Manifest:
    path = "/api/v1/namespaces/quotree-system/configmaps/quotree-ledger"
    return dict(replicas.control_plane.request("GET", path).get("data") or {})
