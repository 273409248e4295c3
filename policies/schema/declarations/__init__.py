"""The structure of the custom resources that Quotree reads, as JSON Schemas.

Each kind has a file `<plural>.<group>.json`: a header with the fields of the CRD outside of the schema, then each
version that is read. `core.json` and `kueue.json` have schemas that several kinds share. The CRDs and the offline check
are both generated from these files. The keywords are those of a structural schema (OpenAPI v3 with `x-kubernetes-*`),
and:

- `$ref`: a reference into the same or another file; further keys next to it are added to the schema that it refers to;
- `inCRD` of a version: whether the CRD has it;
- `status` of a version: whether it has the status subresource, so that the API server drops a status in a manifest;
- `id` of a rule in `x-kubernetes-validations`: the id of its Python check in `policies.schema.structure_rules`;
- `judged-by` of such a rule: the rule of Quotree that reports the same fault in more detail, so there is no Python
check;
- `offline`: keywords for the offline check only;
- `x-quantity`, `x-expected`: the words of a message for the expected value.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

FILES = {
    ("kueue.x-k8s.io", "Cohort"): "cohorts.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "ClusterQueue"): "clusterqueues.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "LocalQueue"): "localqueues.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "ResourceFlavor"): "resourceflavors.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "Workload"): "workloads.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "AdmissionCheck"): "admissionchecks.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "MultiKueueConfig"): "multikueueconfigs.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "MultiKueueCluster"): "multikueueclusters.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "WorkloadPriorityClass"): "workloadpriorityclasses.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "Topology"): "topologies.kueue.x-k8s.io.json",
    ("kueue.x-k8s.io", "ProvisioningRequestConfig"): "provisioningrequestconfigs.kueue.x-k8s.io.json",
    ("scheduling.volcano.sh", "Queue"): "queues.scheduling.volcano.sh.json",
    ("scheduling.volcano.sh", "PodGroup"): "podgroups.scheduling.volcano.sh.json",
    ("batch.volcano.sh", "Job"): "jobs.batch.volcano.sh.json",
    ("bus.volcano.sh", "Command"): "commands.bus.volcano.sh.json",
}
"""The file that declares each kind. The structure of other kinds is not checked."""


def load(file: str) -> Schema:
    """The declaration in this file, with each `$ref` replaced by its schema."""
    declaration: Schema = _resolved(_text(file), file)
    declaration.pop("$defs", None)
    return declaration


@cache
def _text(file: str) -> Schema:
    content: Schema = json.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))
    return content


def _resolved(node: Any, file: str) -> Any:
    if isinstance(node, list):
        return [_resolved(item, file) for item in node]
    if not isinstance(node, dict):
        return node
    own = {key: _resolved(value, file) for key, value in node.items() if key not in ("$ref", "$defs")}
    if "$ref" not in node:
        return own
    other, _, pointer = node["$ref"].partition("#/$defs/")
    source = other or file
    return {**_resolved(_text(source)["$defs"][pointer], source), **own}
