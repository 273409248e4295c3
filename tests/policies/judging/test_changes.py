"""Immutable fields, compared in the manifests before and after a change."""

from __future__ import annotations

from typing import Any

from policies.judge import evaluate
from policies.judging.changes import changed
from policies.judging.rule import propose
from policies.model.change import Change, ChangeOperation
from policies.model.findings import Severity
from policies.model.forest import Forest
from tests.builders import local_queue
from tests.policies.schema.structure_cases import TEMPLATE, manifest, workload

V1BETA2 = "kueue.x-k8s.io/v1beta2"


def refused(change: Change | None) -> list[tuple[str, str]]:
    """(field, message) of each error, in an empty cluster."""
    assert change is not None
    errors = evaluate(propose(Forest(), [change])).of(Severity.ERROR)
    return [(judged.finding.field, judged.finding.message) for judged in errors]


def topology(*labels: str) -> dict[str, Any]:
    return manifest(V1BETA2, "Topology", {"levels": [{"nodeLabel": label} for label in labels]})


def test_a_local_queue_keeps_its_cluster_queue() -> None:
    before = local_queue("door", "ml")

    assert refused(changed(before, before)) == []
    ((field, message),) = refused(changed(before, local_queue("door", "web")))
    assert field == "spec.clusterQueue"
    assert "clusterQueue cannot change" in message


def test_an_admission_check_keeps_its_controller() -> None:
    before, after = (manifest(V1BETA2, "AdmissionCheck", {"controllerName": name}) for name in ("a", "b"))

    ((field, message),) = refused(changed(before, after))

    assert field == "spec.controllerName"
    assert "controllerName cannot change" in message


def test_topology_levels_are_immutable_without_a_hostname_level() -> None:
    assert refused(changed(topology("rack", "kubernetes.io/hostname"), topology("kubernetes.io/hostname"))) == []
    assert [field for field, _ in refused(changed(topology("rack"), topology("zone")))] == ["spec.levels"]


def test_status_structure_is_checked_only_for_status_updates() -> None:
    before = workload({"template": TEMPLATE})
    after = before | {"status": {"clusterName": 1}}

    assert refused(changed(before, after)) == []
    assert [field for field, _ in refused(changed(before, after, "status"))] == ["status.clusterName"]


def test_change_without_before_is_create_and_without_after_is_delete() -> None:
    obj = local_queue("door", "ml")
    created, deleted = changed(None, obj), changed(obj, None)

    assert created is not None
    assert created.operation is ChangeOperation.CREATE
    assert deleted is not None
    assert deleted.operation is ChangeOperation.DELETE


def test_change_of_a_kind_without_quota_is_ignored() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}

    assert changed(secret, secret) is None
    assert changed(None, secret) is None
