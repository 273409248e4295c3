"""One change, four ways: against a snapshot, against the cluster, by server-side dry run, and by real apply."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.organisation import CONFIGURATION, accept
from tests.apiserver.webhook.guard import Guard, as_input
from tests.builders import cluster_queue, cohort, flavor, group, queue, quota
from tests.cli.runs import report, run, write
from tests.waiting import eventually

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def guard(programs: build.Programs) -> Iterator[Guard]:
    """A guarded control plane that holds the accepted organisation; tests leave it as it is."""
    with ControlPlane() as control_plane, Guard(control_plane, CONFIGURATION) as running:
        accept(control_plane)
        yield running


def change(random: random.Random, parents: list[str], cohorts: list[str]) -> Manifest:
    """A new node somewhere in one of the trees, which may ask for more than is left."""
    if random.random() < 0.5:
        amounts = f"cpu:{random.choice([0, 1, 2, 40])}"
        return queue("drawn", random.choice([*parents, "nowhere", "drawn"]), deserved=amounts, guarantee=amounts)
    parent = random.choice([*cohorts, "drawn", None])
    if random.random() < 0.3:
        return cohort("drawn", parent)
    own = quota(random.choice([0, 4]), random.choice([None, 0, 2]), random.choice([None, 1, 9]))
    return cluster_queue("drawn", parent, group("cpu", flavor("drawn", cpu=own)))


def test_the_same_change_gets_the_same_verdict_in_four_ways(guard: Guard, tmp_path: Path) -> None:
    control_plane, drawn = guard.control_plane, random.Random(15)
    (tmp_path / "quotree.yaml").write_text(CONFIGURATION)
    login = ["--kubeconfig", control_plane.kubeconfig]
    configured = ["--config", tmp_path / "quotree.yaml", "-o", "json"]
    snapshot = tmp_path / "snapshot.json"
    assert run("snapshot", *login, "--config", tmp_path / "quotree.yaml", "--file", snapshot).exit_code == 0
    names = {kind: _names(control_plane, kind) for kind in ("queues", "cohorts")}
    verdicts = []

    for _ in range(8):
        manifest = change(drawn, names["queues"], names["cohorts"])
        file, text = write(tmp_path / "change.yaml", manifest), as_input([manifest])
        of_file = report(run("validate", file, "--against", f"snapshot:{snapshot}", *configured))
        of_cluster = report(run("validate", file, "--against", "cluster", *login, *configured))
        rules = {each["rule"] for each in of_file["findings"] if each["severity"] == "error"}

        assert of_file["findings"] == of_cluster["findings"]
        assert of_file["notEvaluated"] == of_cluster["notEvaluated"]
        _agrees(guard, rules, text, "--dry-run=server")
        _agrees(guard, rules, text)
        if not rules:
            _remove(control_plane, manifest["kind"])
        verdicts.append(bool(rules))

    assert {True, False} == set(verdicts)


def _remove(control_plane: ControlPlane, kind: str) -> None:
    """Take away what was applied, with the finalizer of a ClusterQueue: no controller runs here that would."""
    control_plane.kubectl("delete", kind, "drawn", "--wait=false")
    control_plane.kubectl(
        "patch", kind, "drawn", "--type=merge", "-p", '{"metadata": {"finalizers": null}}', check=False
    )


def _names(control_plane: ControlPlane, kind: str) -> list[str]:
    return sorted(control_plane.kubectl("get", kind, "-o", "name").stdout.replace("/", " ").split()[1::2])


def _agrees(guard: Guard, rules: set[str], text: str, *flags: str) -> None:
    """The API server refuses for these rules, once the webhook has caught up, and passes without any.

    What the schema refuses never comes to the webhook, so that no rule is named.
    """
    said = ""

    def agrees() -> bool:
        nonlocal said
        done = guard.control_plane.kubectl("apply", "-f", "-", *flags, input=text, check=False)
        said = done.stderr if done.returncode else ""
        named = all(f"[{rule}]" in said for rule in rules) or " is invalid: " in said
        return named if rules else not said

    eventually(agrees, lambda: f"{text}\nis refused for {rules or 'nothing'} offline; kubectl says: {said}", seconds=10)
