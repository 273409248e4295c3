"""The modules that run the tables of the three projects, in the order of the report."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from tests.conformance import (
    kueue,
    kueue_amounts,
    kueue_cache,
    kueue_config,
    kueue_controllers,
    kueue_flavors,
    kueue_multikueue,
    kueue_multikueue_rest,
    kueue_multikueue_workers,
    kueue_preemption,
    kueue_queue,
    kueue_scheduler,
    kueue_status,
    kueue_topology,
    kueue_topology_cycles,
    kueue_topology_parts,
    kueue_workload,
    volcano,
    volcano_mutations,
    volcano_queues,
    volcano_scheduler,
    yunikorn,
    yunikorn_admission,
    yunikorn_config,
    yunikorn_queues,
)
from tests.conformance.suite import Suite

PROJECTS = (
    kueue,
    kueue_amounts,
    kueue_cache,
    kueue_config,
    kueue_controllers,
    kueue_flavors,
    kueue_multikueue,
    kueue_multikueue_rest,
    kueue_multikueue_workers,
    kueue_preemption,
    kueue_queue,
    kueue_scheduler,
    kueue_workload,
    kueue_status,
    kueue_topology,
    kueue_topology_cycles,
    kueue_topology_parts,
    volcano,
    volcano_mutations,
    volcano_queues,
    volcano_scheduler,
    yunikorn,
    yunikorn_admission,
    yunikorn_config,
    yunikorn_queues,
)


_NO_RUNNER = {
    "kueue/scheduler/TestRequeueAndUpdate.json": "the writes of one entry after a cycle; whole cycles are compared",
}


def why_no_runner(file: str) -> str:
    """Why no module runs the tables of this file, by its path in the folder; empty where nothing is known of it."""
    return next((why for pattern, why in _NO_RUNNER.items() if fnmatch(file, pattern)), "")


def suites_in(folder: Path) -> list[Suite]:
    return [suite for project in PROJECTS for suite in project.suites(folder)]
