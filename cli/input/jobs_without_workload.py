"""Finds jobs in a cluster or in files that wait without a Workload, and so are in no list of pending Workloads."""

from __future__ import annotations

from collections.abc import Container, Iterable

from cli.input.login import ClusterLogin
from cluster.errors import Forbidden, NotFound
from cluster.jobs_without_workload import CLASSES, JobWithoutWorkload, jobs_without_workload, owners_of
from cluster.served import WORKLOADS
from policies.dialects.reading import metadata
from scheduling.simulation.submissions import LeftOut


def of_cluster(
    login: ClusterLogin, namespace: str | None, queued: Container[tuple[str, str, str]] | None = None
) -> list[JobWithoutWorkload]:
    """The jobs of a namespace, or of all namespaces, that wait without a Workload.

    `queued`: the kinds, namespaces and names of the jobs that have a Workload; if None, they are read from the cluster.
    Kinds that the caller may not list are left out. Raises OutOfReach.
    """
    with login.connected() as cluster:
        try:
            classes = {str(metadata(each)["name"]) for each in cluster.list(cluster.newest(CLASSES))}
        except Forbidden:
            classes = None
        except NotFound:
            return []  # Kueue's kinds are not installed
        if queued is None:
            queued = owners_of(cluster.list(cluster.newest(WORKLOADS), namespace=namespace))
        return jobs_without_workload(
            lambda kind, labels: cluster.list(kind, namespace=namespace, label_selector=labels), classes, queued
        )


def of_files(left_out: Iterable[LeftOut], namespace: str | None) -> list[JobWithoutWorkload]:
    """The jobs in files that name a queue, but for which no Workload can be created."""
    return [
        JobWithoutWorkload(each.name.kind, each.name.namespace, each.name.name, each.queue, each.reason)
        for each in sorted(left_out, key=lambda each: (each.name.key, each.name.kind))
        if each.queue and namespace in (None, each.name.namespace)
    ]
