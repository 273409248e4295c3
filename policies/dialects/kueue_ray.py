"""Reads the Ray cluster that a RayJob, RayCluster or RayService describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects.frameworks.ray import CLUSTERS
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.model import fields

_BY_JOB = "K8sJobMode"


@dataclass(frozen=True, slots=True)
class Ray:
    """The description of a Ray cluster.

    `at`: the path of the cluster's spec.
    `described`: whether the object has such a spec.
    `groups`: the names of its worker groups.
    `autoscaled`: whether Ray's autoscaler is on.
    `selects`: whether a RayJob runs in an existing cluster.
    `shuts_down`: whether the cluster is deleted after the job has finished.
    `submitted`: whether a pod outside the cluster submits the job, as it does by default.
    """

    at: str
    described: bool
    groups: tuple[str, ...]
    autoscaled: bool
    selects: bool
    shuts_down: bool
    submitted: bool


def read_ray(kind: str, manifest: Manifest) -> Ray | None:
    """Read a Ray job or cluster; None for other kinds."""
    if kind not in CLUSTERS:
        return None
    path, cluster = ray_cluster(kind, manifest)
    spec = mapping(manifest.get("spec"))
    return Ray(
        at=fields.join("", *path),
        described=kind != "RayJob" or spec.get(path[-1]) is not None,
        groups=tuple(text(mapping(it).get("groupName")) or "" for it in listing(cluster.get("workerGroupSpecs"))),
        autoscaled=cluster.get("enableInTreeAutoscaling") is True,
        selects=kind == "RayJob" and bool(mapping(spec.get("clusterSelector"))),
        shuts_down=kind != "RayJob" or spec.get("shutdownAfterJobFinishes") is True,
        submitted=kind == "RayJob" and spec.get("submissionMode", _BY_JOB) == _BY_JOB,
    )


def ray_cluster(kind: str, manifest: Manifest) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """The path and the content of the cluster's spec in an object of ray.io."""
    found: Mapping[str, Any] = manifest
    for step in CLUSTERS[kind]:
        found = mapping(found.get(step))
    return CLUSTERS[kind], found
