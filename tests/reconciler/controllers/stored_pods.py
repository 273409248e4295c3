"""Pods as an API server stores them."""

from __future__ import annotations

from typing import Any

from tests.reconciler.jobs.pod_world import pod


def stored(name: str, version: str = "1", **parts: Any) -> dict[str, Any]:
    made = pod(name)
    return {**made, "metadata": {**made["metadata"], "uid": f"uid-{name}", "resourceVersion": version}, **parts}


def done(name: str, version: str = "1") -> dict[str, Any]:
    return stored(name, version, status={"phase": "Succeeded"})
