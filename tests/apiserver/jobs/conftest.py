"""Webhook and reconciler as shipped, with the real Job controller and garbage collector.

There is no scheduler: a Pod that is there might run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane, User
from tests.apiserver.jobs.ray_world import install_rays
from tests.apiserver.jobs.tenant_world import TENANT, organisation
from tests.apiserver.reconciler.shipped_reconciler import CONFIGURATION as SETTINGS
from tests.apiserver.reconciler.shipped_reconciler import Replica
from tests.apiserver.webhook.guard import ROOT, Guard
from tests.waiting import eventually

CONFIGURATION = """
apiVersion: config.quotree.dev/v1alpha1
kind: Configuration
kueue: {manageJobs: true}
"""
KINDS = ["batch/job", "ray.io/raycluster"]


@pytest.fixture(scope="package")
def guard(programs: build.Programs) -> Iterator[Guard]:
    with (
        ControlPlane(users=(User(TENANT),), controller_manager=True) as started,
        Guard(started, CONFIGURATION) as running,
    ):
        yield running


@pytest.fixture(scope="package")
def shipped(guard: Guard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder: Path = tmp_path_factory.mktemp("reconciler") / "replica"
    started = guard.control_plane
    everything = started.kubectl("kustomize", str(ROOT / "manifests" / "with-reconciler")).stdout
    things = [each for each in yaml.safe_load_all(everything) if "webhooks" not in each]
    started.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(things))
    organisation(started)
    install_rays(started)
    replica = Replica(started, folder, configuration={**SETTINGS, "integrations": {"frameworks": KINDS}})
    try:
        eventually(lambda: replica.writes, replica.log)
        yield started
    finally:
        replica.close()
