"""Malformed Kueue manifests are read and judged without an internal error."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.configuration.kueue.gates import OF_WEBHOOKS, KueueVersion
from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects.kueue_checks import READERS as CHECKS
from policies.dialects.kueue_jobs import KINDS
from policies.dialects.kueue_kinds import CLUSTER_QUEUE, RESOURCE_FLAVOR, WORKLOAD
from policies.judge import evaluate
from policies.judging.changes import changed
from policies.judging.rule import propose
from policies.model.forest import Forest
from policies.mutation.defaults import patch

ALL_GATES = Configuration(
    kueue=KueueSettings(feature_gates=dict.fromkeys(OF_WEBHOOKS[KueueVersion.V0_19], True), manage_jobs=True)
)
NAMES = (
    *(
        "name",
        "namespace",
        "labels",
        "annotations",
        "podSets",
        "template",
        "metadata",
        "spec",
        "containers",
        "resources",
    ),
    *("requests", "limits", "cpu", "pods", "count", "minCount", "topologyRequest", "podSetSliceSize", "status"),
    *("conditions", "type", "admission", "podSetAssignments", "resourceUsage", "admissionChecks", "podSetUpdates"),
    *(
        "reclaimablePods",
        "nominatedClusterNames",
        "clusterName",
        "namespaceSelector",
        "matchLabels",
        "matchExpressions",
    ),
    *("key", "operator", "values", "nodeLabels", "nodeTaints", "tolerations", "effect", "admissionChecksStrategy"),
    *("onFlavors", "concurrentAdmissionPolicy", "migration", "constraints", "runPolicy", "suspend", "parallelism"),
    *("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/admission-gated-by", "kueue.x-k8s.io/priority-boost"),
    *("kueue.x-k8s.io/job-min-parallelism", "kueue.x-k8s.io/podset-slice-size", "kueue.x-k8s.io/elastic-job"),
    *(
        "podsetSliceRequiredTopologyConstraints",
        "ownerReferences",
        "finalizers",
        "resourceGroups",
        "levels",
        "clusters",
    ),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "-1", "main", "true", "QuotaReserved", "½"])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=20,
)
kinds = st.sampled_from([WORKLOAD, CLUSTER_QUEUE, RESOURCE_FLAVOR, *CHECKS, *KINDS])
parts = st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), values, max_size=3)


@given(kinds, parts, parts, st.sampled_from(["", "status"]))
def test_malformed_kueue_manifest_is_judged_without_an_error(
    kind: tuple[str, str], before: dict[str, Any], after: dict[str, Any], subresource: str
) -> None:
    head = {"apiVersion": f"{kind[0]}/v1beta2", "kind": kind[1]}

    change = changed({**head, **before}, {**head, **after}, subresource)

    assert change is not None
    assert evaluate(propose(Forest(), [change], ALL_GATES)).findings is not None
    assert isinstance(patch({**head, **after}, Forest(), ALL_GATES), list)
