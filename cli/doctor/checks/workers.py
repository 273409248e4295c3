"""Checks the worker clusters of MultiKueue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped, warning
from cli.output import some
from reconciler.multikueue.stored_clusters import stored_clusters


@check("workers", "Every worker cluster of MultiKueue is connected.")
def workers(target: CheckedCluster) -> Iterator[CheckResult]:
    yield from check_workers(stored_clusters(target.cluster)["items"])


def check_workers(found: Sequence[Mapping[str, Any]]) -> Iterator[CheckResult]:
    """Check the worker clusters; `found` has the items of `quotree clusters -o json`."""
    if not found:
        yield skipped("", "there are no MultiKueueClusters")
    for each in found:
        subject = f"MultiKueueCluster {each['name']}"
        if each["connection"] == "connected":
            yield ok(subject, f"is connected since {each['since']}, {some(each['placed'], 'workload')}")
        elif each["connection"] == "not connected":
            placed = some(each["placed"], "workload")
            fix = f"act on the message; the cluster has {placed}, and `quotree clusters` shows more"
            yield failure(subject, f"is not connected: {each['reason']}: {each['error']}", fix)
        else:
            fix = "start the reconciler with MultiKueue (manifests/with-multikueue), or delete the MultiKueueCluster"
            yield warning(subject, "its status does not say whether it is connected", fix)
