"""Pods that name a LocalQueue and were created while the webhook was not called."""

from __future__ import annotations

from typing import Any

import yaml

from cli.doctor.checks.pods import ungated_pods
from cli.doctor.target import CheckResult
from tests.cli.doctor.objects import SYSTEM, target
from tests.manifests.component import base

SELECTED = {"manageJobs": True, "managePods": True, "managedJobsNamespaceSelector": {"matchLabels": {"team": "yes"}}}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "counted", "uid": "u", "controller": True}


def result(kueue: dict[str, Any], *pods: tuple[str, str], owner: dict[str, Any] | None = None) -> CheckResult:
    """With these Pods by namespace and name, and the namespaces `a`, which is selected, and `b`."""
    document = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration", "kueue": kueue}
    held: dict[str, Any] = {
        f"/api/v1/namespaces/{SYSTEM}/configmaps/quotree-configuration": {
            "data": {"configuration.yaml": yaml.safe_dump(document)}
        }
    }
    for name, labels in (("a", {"team": "yes"}), ("b", {})):
        held[f"/api/v1/namespaces/{name}"] = {"metadata": {"name": name, "labels": labels}}
    for namespace, name in pods:
        meta = {"namespace": namespace, "name": name, "ownerReferences": [owner] if owner else []}
        held[f"/api/v1/pods/{namespace}-{name}"] = {"metadata": meta}
    (found,) = ungated_pods.run(target(held, webhook=base("deployment.yaml", "Deployment")))
    return found


def test_pods_without_the_gate_are_named_and_the_others_counted() -> None:
    pods = [("a", f"p{number}") for number in range(7)]

    found = result(SELECTED, *pods, ("b", "free"))

    assert found.state == "warning"
    assert found.message.endswith("so no quota counts them: a/p0, a/p1, a/p2, a/p3, a/p4 and 2 more")


def test_the_pods_of_a_queued_job_are_counted_by_their_job() -> None:
    assert result(SELECTED, ("a", "p"), owner=JOB).state == "ok"


def test_without_managed_pods_the_check_is_skipped() -> None:
    assert result({"manageJobs": True}, ("a", "p")).state == "skipped"
