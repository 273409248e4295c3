"""Batch Jobs for a reconciler on a real API server."""

from __future__ import annotations

from typing import Any

from tests.builders import batch_job, queued, template

NAMESPACE = "team"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


def job(name: str, cpu: str, priority_class: str = "") -> dict[str, Any]:
    labels = queued("main", **({"priority_class": priority_class} if priority_class else {}))
    return batch_job(name, {"suspend": True, "template": template(cpu), "backoffLimit": 0}, None, labels=labels)
