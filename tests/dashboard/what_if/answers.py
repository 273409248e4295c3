"""Outcomes of what-ifs, as `analysis.what_if.outcome` makes them."""

from __future__ import annotations

from typing import Any

from analysis.what_if.outcome import FindingRow, WhatIfOutcome
from policies.model.findings import Severity
from policies.model.objects import Ref
from tests.builders import cluster_queue, flavor, group
from tests.dashboard.people import Cluster, Telling

CQ = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/a"
QUOTA = {
    "quota-kind": "ClusterQueue",
    "quota-name": "a",
    "quota-flavor": "spot",
    "quota-resource": "cpu",
    "quota-field": "nominalQuota",
    "quota-amount": "8",
}


def answer(**found: Any) -> WhatIfOutcome:
    """Of a change of which nothing comes but what is given."""
    return WhatIfOutcome("2026-11-23T10:00:00Z", **found)


def finding(severity: Severity, message: str) -> FindingRow:
    return FindingRow(severity, Ref("", "ClusterQueue", "", "a"), message, "", "a-rule")


def cluster(said: WhatIfOutcome | Exception | None = None) -> Cluster:
    """A cluster with one ClusterQueue, that answers a what-if with this."""
    made = Cluster()
    made.answers[CQ] = cluster_queue("a", "org", group("cpu", flavor("spot", cpu=4)))
    made.what_if = Telling(said or answer())
    return made
