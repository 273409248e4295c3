"""Jobs that wait and are in no list of pending Workloads, since they have no Workload: in a cluster, and in files."""

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

    `queued` are the kinds, namespaces and names of the jobs that have a Workload; they are looked up if it is None.
    Reads with the rights of the caller, and passes over what these do not cover. Raises OutOfReach.
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
    """The jobs in files that name a queue and cannot be made a Workload of."""
    return [
        JobWithoutWorkload(each.name.kind, each.name.namespace, each.name.name, each.queue, each.reason)
        for each in sorted(left_out, key=lambda each: (each.name.key, each.name.kind))
        if each.queue and namespace in (None, each.name.namespace)
    ]
