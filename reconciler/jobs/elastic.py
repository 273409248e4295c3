"""Elastic jobs: which jobs change their size while they run, and what their Workloads, the slices, are called.

Source: Kueue v0.19, pkg/workloadslicing and pkg/controller/jobframework; KEP-77.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from policies.dialects.job_shape import at, pods_at
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_jobs import MIN_PARALLELISM, POD_SET
from policies.dialects.kueue_workload import ELASTIC, SLICE_CHAIN
from policies.dialects.reading import Manifest, mapping, metadata, texts
from policies.mutation.kueue_pod_defaults import waits_for_slices
from reconciler.jobs.kind import JobKind, notes, prebuilt
from scheduling.objects.workload import Workload


def sliced(kind: JobKind, job: Manifest) -> bool:
    """Whether it grows and shrinks by slices. Only where all its pods wait at the gate until a slice admits them.

    A job that runs on another cluster is placed anew with another size.
    """
    wanted = kind.shape.elastic and notes(job).get(ELASTIC) == "true"
    fixed = prebuilt(kind, job) or elsewhere(kind, job) or MIN_PARALLELISM in notes(job)
    return wanted and not fixed and waits_for_slices(kind.shape.kind, job)


def elsewhere(kind: JobKind, job: Manifest) -> bool:
    """Whether it is left to MultiKueue, so that none of its pods run here."""
    return bool(kind.shape.managed_by) and at(job, kind.shape.managed_by) == MULTIKUEUE


def marked(kind: JobKind, job: Manifest) -> bool:
    """Whether its pods carry the marks of a start, by which they are counted."""
    pods = list(pods_at(job, kind.shape.pod_sets))
    return bool(pods) and all(POD_SET in texts(metadata(each.template).get("labels")) for each in pods)


def slice_name(name: str, job: Manifest) -> str:
    """Kueue's name of a slice: that of the job's Workload, but hashed with the job's generation as well."""
    prefix, _, hashed = name.rpartition("-")
    meta, kind = metadata(job), job.get("kind")
    group = str(job.get("apiVersion", "")).rpartition("/")[0]
    parts = (kind, group, meta.get("name"), meta.get("uid"), meta.get("generation", 0))
    digest = hashlib.sha1("\n".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()
    return f"{prefix}-{digest[: len(hashed)]}"


def chain_of(workload: Workload) -> str:
    """The name of the first slice, its own where it is the first."""
    return workload.annotations.get(SLICE_CHAIN) or workload.name


def sizes(workload: Mapping[str, Any]) -> dict[str, int]:
    """How many pods each set has, as a Workload's manifest says."""
    return {mapping(each).get("name", "main"): mapping(each).get("count", 1) for each in _pod_sets(workload)}


def sized(workload: Mapping[str, Any], counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The pod sets of this manifest with other counts."""
    return [{**mapping(each), "count": counts[mapping(each).get("name", "main")]} for each in _pod_sets(workload)]


def as_stored(made: Mapping[str, Any], workload: Manifest) -> Mapping[str, Any]:
    """The Workload that a job asks for, but of the size of the one that it has: another slice makes up for the rest."""
    held = sizes(workload)
    if held.keys() != sizes(made).keys():
        return made
    return {**made, "spec": {**made["spec"], "podSets": sized(made, held)}}


def resized(made: Mapping[str, Any], workload: Manifest) -> bool:
    return sizes(made) != sizes(workload)


def _pod_sets(workload: Mapping[str, Any]) -> Sequence[Any]:
    found = at(workload, "spec.podSets")
    return found if isinstance(found, Sequence) else ()
