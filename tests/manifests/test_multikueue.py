"""What the manager of other clusters may do, at home and on its workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from cluster.resource import PODS
from reconciler.controllers.clusters import CHECKS
from reconciler.jobs.kinds import SHIPPED
from reconciler.multikueue.objects import CLUSTERS, CONFIGS
from reconciler.multikueue.remote import remote_kinds
from tests.manifests.component import OBJECTS, allowed, only

NAME = "quotree-reconciler-multikueue"
JOBS = tuple(kind.resource for kind in SHIPPED.values())
WORKER: list[dict[str, Any]] = list(
    yaml.safe_load_all((Path(__file__).parents[2] / "manifests" / "multikueue-worker" / "rbac.yaml").read_text())
)


def test_at_home_it_may_follow_what_it_follows_and_write_statuses_alone() -> None:
    role = only("ClusterRole", NAME)

    assert allowed(role, "list") == {(each.resource.group, each.resource.plural) for each in (CLUSTERS, CONFIGS)}
    written = (*(each.resource for each in (CLUSTERS, CHECKS)), *JOBS)
    assert allowed(role, "patch") == {(each.group, f"{each.plural}/status") for each in written}


def test_it_reads_secrets_of_its_own_namespace_alone_and_writes_none() -> None:
    role = only("Role", NAME)

    assert role["metadata"]["namespace"] == "quotree-system"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}]
    cluster_wide = [rule for thing in OBJECTS if thing["kind"] == "ClusterRole" for rule in thing["rules"]]
    assert not [rule for rule in cluster_wide if "secrets" in rule["resources"]]


def test_on_a_worker_it_may_follow_what_it_follows_there_and_nothing_else() -> None:
    (role,) = [thing for thing in WORKER if thing["kind"] == "ClusterRole"]
    kinds = {(each.resource.group, each.resource.plural) for each in remote_kinds("o", ()).kinds}

    jobs = {(each.group, each.plural) for each in (*JOBS, PODS)}
    made = {("kueue.x-k8s.io", "workloads"), *jobs}

    assert allowed(role, "list") == kinds | jobs
    assert (allowed(role, "create"), allowed(role, "delete")) == (made, made)
    assert "secrets" not in str(role)
    assert "*" not in str(role)
