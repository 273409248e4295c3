"""Queues and work of Kueue in few words, for tests of `simulate` and `why`."""

from __future__ import annotations

from typing import Any

from tests.builders import Manifest, cluster_queue, flavor, group, local_queue, quota

KUEUE = "kueue.x-k8s.io/v1beta2"


def org_queue(
    name: str, nominal: int, cohort: str | None = None, *, borrowing: int | None = None, **spec: Any
) -> Manifest:
    """A ClusterQueue with quota of cpu in flavor spot."""
    return cluster_queue(name, cohort, group("cpu", flavor("spot", cpu=quota(nominal, borrowing))), **spec)


def local(name: str, namespace: str = "ns", queue: str | None = None) -> Manifest:
    """A LocalQueue, by default for the ClusterQueue of its name."""
    return local_queue(name, queue or name, namespace)
