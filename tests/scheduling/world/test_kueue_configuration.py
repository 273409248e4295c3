"""The engine's options from Kueue's Configuration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from policies.configuration.kueue.gates import FeatureGates, KueueVersion
from policies.configuration.kueue.reading import read
from policies.configuration.kueue.values import KueueConfiguration
from scheduling.objects.order import Ordering
from scheduling.objects.requests import per_pod
from scheduling.objects.template import template
from scheduling.objects.times import SECOND
from scheduling.queues.consumption import UsageDecay
from scheduling.quota.state import Options
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.node_failure import FailureGates
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.requeue import RequeueBackoff
from scheduling.world.kueue_configuration import (
    counting_of,
    decay_of,
    failure_gates_of,
    observability_of,
    options_of,
    ordering_of,
    waiting_of,
)
from tests.scheduling.cluster import GRANULAR


def configuration(**sections: Any) -> KueueConfiguration:
    return read(sections)


def test_an_empty_configuration_means_the_defaults_of_the_engine() -> None:
    found = configuration()
    counting = counting_of(found)

    assert (options_of(found), ordering_of(found)) == (Options(), Ordering())
    assert (counting.excluded_prefixes, counting.transformations, counting.reclaimable_pods) == ((), {}, True)
    assert (waiting_of(found), decay_of(found)) == (WaitForPodsReady(), None)


def test_transformations_and_excluded_prefixes_count() -> None:
    entry = {"input": "gpu", "strategy": "Replace", "outputs": {"credit": "2"}}
    counting = counting_of(configuration(resources={"transformations": [entry], "excludeResourcePrefixes": ["net/"]}))

    requests = {"gpu": "3", "net/vpc": "1", "cpu": "1"}
    pod = template({"containers": [{"resources": {"requests": requests}}]})
    assert per_pod(pod, counting) == {"cpu": 1000, "credit": 6}


@pytest.mark.parametrize(("version", "both"), [(KueueVersion.V0_19, False), (KueueVersion.V0_20, True)])
def test_excluded_inputs_are_transformed_from_v0_20_on(version: KueueVersion, both: bool) -> None:
    assert counting_of(read({}, FeatureGates(version=version))).transforms_excluded is both


def test_feature_gates_of_failed_nodes_are_read() -> None:
    gates = {
        "TASReplaceNodeOnPodTermination": False,
        "TASReplaceNodeOnNodeTaints": False,
        "TASReplaceNodeDueToNotReadyOverFixedTime": True,
    }
    off = {"TASFailedNodeReplacement": False, "TASFailedNodeReplacementFailFast": False, **dict.fromkeys(gates, False)}

    assert failure_gates_of(configuration()) == FailureGates()
    assert failure_gates_of(configuration(featureGates=gates)) == FailureGates(False, True, False)
    assert failure_gates_of(configuration(featureGates=off)) is None


def test_failed_nodes_are_replaced_together_with_their_gate() -> None:
    gates = ({}, {"TASReplaceMultipleFailedNodes": True})
    found = [read({}, FeatureGates(each, KueueVersion.V0_20)) for each in gates]

    assert [options_of(each).replace_together for each in found] == [False, True]
    assert [failure_gates_of(each) for each in found] == [FailureGates(), FailureGates(together=True)]


def test_effective_quotas_apply_only_with_their_gate() -> None:
    gates = ({}, {"DynamicQuotaOrchestration": True})
    found = [options_of(read({}, FeatureGates(each, KueueVersion.V0_20))) for each in gates]

    assert [each.orchestrated for each in found] == [False, True]


def test_wait_for_pods_ready_is_read() -> None:
    requeuing = {"timestamp": "Creation", "backoffBaseSeconds": 10, "backoffMaxSeconds": 20, "backoffLimitCount": 3}
    section = {"timeout": "5m0s", "recoveryTimeout": "500ms", "requeuingStrategy": requeuing}
    found = configuration(waitForPodsReady=section)

    assert waiting_of(found) == WaitForPodsReady(300 * SECOND, SECOND // 2, RequeueBackoff(10, 20), 3)
    assert ordering_of(found) == Ordering(by_eviction=False)
    assert waiting_of(configuration(waitForPodsReady={})) == WaitForPodsReady(
        1800 * SECOND, 1800 * SECOND, RequeueBackoff(60, 3600), None
    )
    assert waiting_of(configuration(waitForPodsReady={"enable": False})) is None
    ever = waiting_of(configuration(waitForPodsReady={"timeout": "1m", "recoveryTimeout": "0s"}))
    assert ever is not None
    assert (ever.timeout, ever.recovery) == (60 * SECOND, None)


def test_feature_gates_set_the_options() -> None:
    off = ("PartialAdmission", "PrioritizePreemptorWorkloads", "PrioritySortingWithinCohort", "ReclaimablePods")
    found = configuration(featureGates=dict.fromkeys(off, False))

    assert not options_of(found).partial_admission
    assert not options_of(found).preemptors_first
    assert not ordering_of(found).by_priority
    assert not counting_of(found).reclaimable_pods
    assert counting_of(found).hashes_names
    assert not counting_of(read({}, FeatureGates(version=KueueVersion.V0_20))).hashes_names


@pytest.mark.parametrize("compat", [False, True])
def test_preemption_options_behind_gates_are_off_by_default(compat: bool) -> None:
    gates = ("PrioritizePreemptorWorkloads", "RecomputeAssignmentUponPreemptionTargetsOverlap")
    usual = options_of(configuration(), compat=compat)
    said = options_of(configuration(featureGates=dict.fromkeys(gates, True)), compat=compat)

    assert (usual.preemptors_first, usual.recompute_on_overlap) == (False, False)
    assert (said.preemptors_first, said.recompute_on_overlap) == (True, True)


def test_the_gates_of_reasons_are_read() -> None:
    granular, explicit = "UnadmittedWorkloadsObservability", "UnadmittedWorkloadsExplicitStatus"

    def reported(*gates: str) -> Observability:
        return observability_of(configuration(featureGates=dict.fromkeys(gates, True)))

    assert (reported(), reported(granular)) == (LEGACY, GRANULAR)
    assert reported(granular, explicit) == Observability(granular=True, explicit=True)


def test_usage_decay_is_read_from_admission_fair_sharing() -> None:
    section = {"usageHalfLifeTime": "1h", "resourceWeights": {"cpu": 0.1}}

    assert decay_of(configuration(admissionFairSharing=section)) == UsageDecay(
        3600 * SECOND, 300 * SECOND, {"cpu": Fraction(1, 10)}
    )


def test_preemption_gates_count_where_preemption_is_orchestrated() -> None:
    assert not options_of(configuration()).gated_preemption
    assert options_of(configuration(featureGates={"MultiKueueOrchestratedPreemption": True})).gated_preemption
