"""The structure of the custom resources that Quotree reads, as JSON Schemas of our own.

One file a kind, named `<plural>.<group>.json`: a header with what the CRD says beside the schema, then every version
that is read; `core.json` and `kueue.json` hold what several share. The keywords are those of a structural schema
(OpenAPI v3 with `x-kubernetes-*`), so that the CRDs are generated from the same text as the offline check, plus:

- `$ref` into the same or another file; keys beside it are added to what it refers to;
- `inCRD` on a version: the CRD holds it; `status`: it has the status subresource, so a status in a manifest is lost;
- `id` on a rule of `x-kubernetes-validations` names its Python check in `policies.schema.structure_rules`; `judged-by`
  names the rule of Quotree that says the same with more facts, so that the structural check keeps quiet;
- `offline`: keywords for the offline check alone; `x-quantity`, `x-expected`: what a message says of the value.
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
"""(group, kind) -> the file that declares it; kinds that are not here have no structure to check."""


def load(file: str) -> Schema:
    """The declaration in this file, every `$ref` replaced by what it refers to."""
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
