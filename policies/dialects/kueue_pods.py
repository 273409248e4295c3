"""The label, gates and finalizer of a Pod that Kueue manages, its requests, and the job that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.dialects.kueue_jobs import MANAGED, POD_SET
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_owners import controller_of
from policies.dialects.pod_reading import gates_in
from policies.dialects.quota_gates import project_of
from policies.dialects.reading import Manifest, listing, mapping, metadata, texts

LABEL = f"label {MANAGED}"
FINALIZER = f"finalizer {MANAGED}"
ROLE_HASH = f"{PREFIX}role-hash"
SERVING = f"{PREFIX}pod-group-serving"
FAST_ADMISSION = f"{PREFIX}pod-group-fast-admission"
POD_INDEX = f"{PREFIX}pod-group-pod-index"
"""The label with the number of a Pod in its group."""
JOB_NAME = "batch.kubernetes.io/job-name"
JOB_LABELS = ("job-name", "controller-uid", JOB_NAME, "batch.kubernetes.io/controller-uid")
"""The labels of Kubernetes' Job controller. It releases a Pod that loses them, and creates another one."""
OWNERS = "metadata.ownerReferences"
_SIZED = ("containers", "initContainers", "resources", "overhead")


def pod_marks(manifest: Manifest) -> dict[str, str]:
    """The label, scheduling gates and finalizer of a managed Pod, each with its field."""
    meta, spec = metadata(manifest), mapping(manifest.get("spec"))
    found = {}
    if texts(meta.get("labels")).get(MANAGED) == "true":
        found[LABEL] = f"metadata.labels[{MANAGED}]"
    for gate in gates_in(spec):
        if gate.startswith(PREFIX):
            found[f"scheduling gate {gate}"] = "spec.schedulingGates"
    if MANAGED in listing(meta.get("finalizers")):
        found[FINALIZER] = "metadata.finalizers"
    return found


def sized(manifest: Manifest) -> Mapping[str, Any]:
    """The parts of the spec that decide the requests; empty for a Pod whose quota is not counted."""
    spec, labels = mapping(manifest.get("spec")), texts(metadata(manifest).get("labels"))
    counts = labels.get(MANAGED) == "true" or POD_SET in labels or project_of(manifest) != ""
    return {key: spec[key] for key in _SIZED if key in spec} if counts else {}


def ownership(manifest: Manifest) -> Mapping[str, str]:
    """The fields that name the job of a Pod that was started with quota, with their values; empty for other Pods."""
    meta = metadata(manifest)
    labels, controller = texts(meta.get("labels")), controller_of(meta)
    if POD_SET not in labels:
        return {}
    found = {f"metadata.labels[{key}]": labels[key] for key in JOB_LABELS if key in labels}
    return {**found, OWNERS: controller.uid} if controller is not None else found
