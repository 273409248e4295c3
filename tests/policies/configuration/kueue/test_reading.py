"""Kueue's Configuration as values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from policies.amounts.requests import Transformation
from policies.configuration.kueue.defaults import default_selector
from policies.configuration.kueue.durations import duration
from policies.configuration.kueue.gates import FeatureGates
from policies.configuration.kueue.reading import read
from policies.configuration.kueue.values import (
    CLUSTER_QUEUE_RESOURCES,
    LOCAL_QUEUE_METRICS,
    METRICS_FOR_COHORTS,
    UNADMITTED_WORKLOADS,
    AdmissionFairSharing,
    FairSharing,
    Integrations,
    JobSelection,
    LeaderElection,
    MultiKueueValues,
    PodsReady,
    Resources,
    RetentionPolicies,
)
from policies.model.errors import BadConfiguration
from policies.model.quantity import Quantity
from policies.text.yaml_values import single

SECOND = 10**9
WAITING = PodsReady(True, 1800 * SECOND, 1800 * SECOND)
OLD = {"apiVersion": "config.kueue.x-k8s.io/v1beta1"}
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


def test_an_empty_configuration_means_kueues_defaults() -> None:
    found = read({}, namespace="ours")

    assert (found.pods_ready, found.resources, found.retention) == (WAITING, Resources(), RetentionPolicies())
    assert (found.fair_sharing, found.admission_fair_sharing, found.metrics_off) == (
        FairSharing(),
        None,
        {UNADMITTED_WORKLOADS},
    )
    assert (found.leader_election, found.multikueue) == (LeaderElection(), MultiKueueValues())
    assert (found.integrations, found.jobs) == (Integrations(), JobSelection(default_selector("ours")))
    assert (found.gates.enabled("PartialAdmission"), found.gates.enabled("PriorityBoost")) == (True, False)


@pytest.mark.parametrize(
    "section", ["waitForPodsReady", "fairSharing", "admissionFairSharing", "resources", "multiKueue", "leaderElection"]
)
def test_a_section_that_is_null_is_absent(section: str) -> None:
    found, empty = read({section: None}), read({})

    assert (found.pods_ready, found.fair_sharing, found.admission_fair_sharing) == (WAITING, FairSharing(), None)
    assert (found.resources, found.multikueue) == (empty.resources, empty.multikueue)


def test_gates_of_the_file_override_other_gates() -> None:
    found = read(
        {"featureGates": {"PartialAdmission": False}}, FeatureGates({"PartialAdmission": True, "PriorityBoost": True})
    )

    assert (found.gates.enabled("PartialAdmission"), found.gates.enabled("PriorityBoost")) == (False, True)
    assert found.gates.enabled("ReclaimablePods")


def test_transformations_and_excluded_prefixes_are_read() -> None:
    entry = {"input": "gpu", "strategy": "Replace", "multiplyBy": "n", "outputs": {"credit": "2"}}
    section = {"transformations": [entry], "excludeResourcePrefixes": ["net/"]}

    assert read({"resources": section}).resources == Resources(
        ("net/",), {"gpu": Transformation({"credit": Quantity.parse("2")}, "n", replace=True)}
    )
    assert read({"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}}).resources.ignore_undeclared
    without_strategy = {"transformations": [{"input": "gpu", "strategy": ""}]}
    assert not read({"resources": without_strategy}).resources.transformations["gpu"].replace


def test_wait_for_pods_ready_is_read_completely() -> None:
    requeuing = {"timestamp": "Creation", "backoffBaseSeconds": 10, "backoffMaxSeconds": 20, "backoffLimitCount": 3}
    section = {"timeout": "5m0s", "recoveryTimeout": "90s", "requeuingStrategy": requeuing, "blockAdmission": True}

    assert read({"waitForPodsReady": section}).pods_ready == PodsReady(
        *(True, 300 * SECOND, 90 * SECOND), 10, 20, 3, by_eviction=False, block_admission=True
    )


def test_empty_wait_for_pods_ready_has_the_defaults_of_kueue() -> None:
    assert read({"waitForPodsReady": {}}).pods_ready == PodsReady(True, 1800 * SECOND, 1800 * SECOND)
    assert read({"waitForPodsReady": {"timeout": "0s"}}).pods_ready.timeout == 1800 * SECOND


def test_wait_for_pods_ready_is_disabled_by_its_gate() -> None:
    off = {"featureGates": {"DisableWaitForPodsReady": True}}

    assert read(off).pods_ready == PodsReady()
    assert read({**off, "waitForPodsReady": {"timeout": "5m"}}).pods_ready == PodsReady()
    assert read({}, FeatureGates({"DisableWaitForPodsReady": True})).pods_ready == PodsReady()


@pytest.mark.parametrize("section", [None, {}, {"timeout": "10m"}, {"enable": False}, {"blockAdmission": True}])
def test_wait_for_pods_ready_of_v1beta1_is_off_unless_enabled(section: dict[str, Any] | None) -> None:
    assert not read({**OLD, "waitForPodsReady": section}).pods_ready.enabled


def test_wait_for_pods_ready_of_v1beta1_has_its_own_defaults() -> None:
    def waiting(**section: Any) -> PodsReady:
        return read({**OLD, "waitForPodsReady": {"enable": True, **section}}).pods_ready

    assert waiting() == PodsReady(True, 300 * SECOND, 0, block_admission=True)
    assert waiting(timeout="1m", recoveryTimeout="2m", blockAdmission=False) == PodsReady(
        True, 60 * SECOND, 120 * SECOND
    )


def test_recovery_timeout_defaults_to_the_timeout() -> None:
    assert read({"waitForPodsReady": {"timeout": "5m"}}).pods_ready.recovery_timeout == 300 * SECOND


def test_disabled_wait_for_pods_ready_ignores_other_invalid_values() -> None:
    section = {"enable": False, "timeout": "soon", "requeuingStrategy": {"timestamp": "Creation"}}

    assert read({"waitForPodsReady": section}).pods_ready == PodsReady(by_eviction=False)


def test_fair_sharing_reads_strategies_and_can_be_disabled() -> None:
    one = ["LessThanInitialShare"]

    assert read({"fairSharing": {}}).fair_sharing == FairSharing(enabled=True)
    assert read({"fairSharing": {"preemptionStrategies": one}}).fair_sharing == FairSharing(True, tuple(one))
    assert not read({"fairSharing": {"enable": False}}).fair_sharing.enabled


def test_admission_fair_sharing_has_exact_weights() -> None:
    section = {"usageHalfLifeTime": "1h", "resourceWeights": {"cpu": 0.1}}

    assert read({"admissionFairSharing": section}).admission_fair_sharing == AdmissionFairSharing(
        3600 * SECOND, 300 * SECOND, {"cpu": Fraction(1, 10)}
    )


def test_numbers_of_a_file_may_have_fractions() -> None:
    found = read(
        single(
            "admissionFairSharing: {resourceWeights: {cpu: 0.5}}\n"
            "clientConnection: {qps: 0.5}\n"
            "resources: {transformations: [{input: gpu, outputs: {credit: 0.5}}]}\n"
        )
    )

    assert found.admission_fair_sharing is not None
    assert found.admission_fair_sharing.weights == {"cpu": Fraction(1, 2)}
    assert found.client.rate == 0.5
    assert found.resources.transformations["gpu"].outputs == {"credit": Quantity.parse("500m")}


@pytest.mark.parametrize("value", ["1.5", "true"])
@pytest.mark.parametrize("path", ["waitForPodsReady: {timeout: %s}", "visibilityServer: {bindPort: %s}"])
def test_a_wrong_value_is_shown_as_it_is_written(path: str, value: str) -> None:
    with pytest.raises(BadConfiguration, match=f": {value} is not a valid"):
        read(single(path % value))


def test_integrations_and_job_selection_are_read() -> None:
    integrations = {"frameworks": ["pod", "batch/job"], "externalFrameworks": ["A.v1.b.c"], "labelKeysToCopy": ["team"]}
    found = read({"integrations": integrations, "manageJobsWithoutQueueName": True})

    assert found.integrations == Integrations(("pod", "batch/job"), ("A.v1.b.c",))
    assert (found.jobs.without_queue_name, found.jobs.copied_labels) == (True, ("team",))


def test_multikueue_section_is_read_with_its_credentials_providers() -> None:
    command = {"command": "get-token", "apiVersion": "v1", "interactiveMode": "Never"}
    section = {
        "gcInterval": "0s",
        "origin": "here",
        "workerLostTimeout": "2m",
        "dispatcherName": INCREMENTAL,
        "incrementalDispatcherConfig": {"stepSize": 2},
        "clusterProfile": {"credentialsProviders": [{"name": "p", "execConfig": command}]},
    }

    assert read({"multiKueue": section}).multikueue == MultiKueueValues(
        "here", 120 * SECOND, 0, INCREMENTAL, 2, {"p": command}
    )


def test_retention_leader_election_and_metrics_are_read() -> None:
    found = read(
        {
            "objectRetentionPolicies": {"workloads": {"afterFinished": "1h"}},
            "leaderElection": {"leaseDuration": "60s"},
            "metrics": {"enableClusterQueueResources": False, "localQueueMetrics": {"enable": True}},
        }
    )

    assert found.retention == RetentionPolicies(3600 * SECOND)
    assert found.leader_election == LeaderElection(60 * SECOND)
    assert found.metrics_off == {CLUSTER_QUEUE_RESOURCES, UNADMITTED_WORKLOADS}
    assert found.sections == {"objectRetentionPolicies", "leaderElection", "metrics"}


@pytest.mark.parametrize(
    ("gates", "off"),
    [
        ({}, {UNADMITTED_WORKLOADS}),
        ({"UnadmittedWorkloadsObservability": True}, set()),
        ({"LocalQueueMetrics": False}, {UNADMITTED_WORKLOADS, LOCAL_QUEUE_METRICS}),
        ({"MetricsForCohorts": False}, {UNADMITTED_WORKLOADS, METRICS_FOR_COHORTS}),
    ],
)
def test_disabled_gates_turn_metrics_off(gates: dict[str, bool], off: set[str]) -> None:
    assert read({"featureGates": gates}).metrics_off == off


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1h30m", 5400), ("5m0s", 300), ("1.5s", 1.5), ("250ms", 0.25), ("0", 0), ("0s", 0), ("2562047h", 2562047 * 3600)],
)
def test_durations_are_those_of_go(written: str, seconds: float) -> None:
    assert duration(written, "x") == int(seconds * SECOND)


@pytest.mark.parametrize("written", ["", "5", "-5s", "5 m", "m", "1d", None, 5, "1h" * 1000, "٣s", "2562048h"])
def test_invalid_duration_is_rejected(written: object) -> None:
    with pytest.raises(BadConfiguration, match="is not a valid duration"):
        duration(written, "waitForPodsReady.timeout")


@pytest.mark.parametrize(
    ("configuration", "place"),
    [
        ({"resources": {"transformations": [{}]}}, r"resources\.transformations\[0\]\.input"),
        (
            {"resources": {"transformations": [{"input": "a", "outputs": {"b": "x"}}]}},
            r"resources\.transformations\[0\]\.outputs\.b",
        ),
        ({"leaderElection": {"retryPeriod": 2}}, r"leaderElection\.retryPeriod"),
        ({"featureGates": {"PartialAdmission": "no"}}, r"featureGates\.PartialAdmission"),
    ],
)
def test_invalid_value_is_rejected_with_its_path(configuration: dict[str, Any], place: str) -> None:
    with pytest.raises(BadConfiguration, match=place):
        read(configuration)
