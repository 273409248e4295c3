"""What Kueue refuses of its Configuration; the cases of Kueue's own table run in tests/conformance."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.kueue.defaults import default_selector, defaulted
from policies.configuration.kueue.gates import CAPACITIES, FeatureGates
from policies.configuration.kueue.validation import faults, refuse_faults
from policies.model.errors import BadConfiguration
from tests.profiles import each_case

JOBS: dict[str, Any] = {"frameworks": ["batch/job"]}
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
SELECTOR = {"cel": {"expression": "device.driver == 'gpu.example.com'"}}


def found(gates: dict[str, bool] | None = None, **sections: Any) -> list[tuple[str, str]]:
    all_faults = faults({"integrations": JOBS, **sections}, FeatureGates(gates or {}))
    return [(fault.type.removeprefix("FieldValue"), fault.field) for fault in all_faults]


def test_empty_configuration_with_defaults_is_valid() -> None:
    refuse_faults({})

    assert defaulted({"namespace": "ours"})["managedJobsNamespaceSelector"] == default_selector("ours")
    assert defaulted({"fairSharing": {}, "waitForPodsReady": {"timeout": "0s"}})["waitForPodsReady"]["timeout"] == "30m"


def test_first_error_is_raised_with_its_path() -> None:
    with pytest.raises(BadConfiguration, match="timeout") as refused:
        refuse_faults({"waitForPodsReady": {"timeout": "-1s"}})

    assert refused.value.at == "waitForPodsReady.timeout"


@each_case(
    ("sections", "wanted"),
    [
        ({"integrations": {"frameworks": ["batch/jib"]}}, [("NotSupported", "integrations.frameworks[0]")]),
        (
            {"integrations": {**JOBS, "externalFrameworks": ["Foo.v1", "A.v1.b.c", "A.v1.b.c"]}},
            [("Invalid", "integrations.externalFrameworks[0]"), ("Duplicate", "integrations.externalFrameworks[2]")],
        ),
        (
            {
                "namespace": "ours",
                "managedJobsNamespaceSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
            },
            [("Invalid", "managedJobsNamespaceSelector")] * 2,
        ),
        (
            {"managedJobsNamespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            [("Required", "managedJobsNamespaceSelector.matchExpressions[0].values")],
        ),
        (
            {
                "managedJobsNamespaceSelector": {
                    "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]
                }
            },
            [("Forbidden", "managedJobsNamespaceSelector.matchExpressions[0].values")],
        ),
        (
            {"waitForPodsReady": {"timeout": "5m", "requeuingStrategy": {"backoffLimitCount": -1}}},
            [("Invalid", "waitForPodsReady.requeuingStrategy.backoffLimitCount")],
        ),
        ({"waitForPodsReady": {"timeout": "soon"}}, [("Invalid", "waitForPodsReady.timeout")]),
        ({"waitForPodsReady": {"enable": False, "timeout": "-1s"}}, []),
        (
            {"admissionFairSharing": {"usageHalfLifeTime": "1h"}},
            [("Invalid", "admissionFairSharing.usageSamplingInterval")],
        ),
        (
            {"admissionFairSharing": {"usageSamplingInterval": "1s", "resourceWeights": {"cpu": float("nan")}}},
            [("Invalid", "admissionFairSharing.resourceWeights[cpu]")],
        ),
        (
            {"objectRetentionPolicies": {"workloads": {"afterFinished": "-1s"}}},
            [("Invalid", "objectRetentionPolicies.workloads.afterFinished")],
        ),
        (
            {"resources": {"transformations": [{"input": "a", "strategy": "Retain"}] * 2}},
            [("Duplicate", "resources.transformations[1].input")],
        ),
        (
            {"visibilityServer": {"bindAddress": "::1%eth0", "bindPort": 65536}},
            [("Invalid", "visibilityServer.bindAddress"), ("Invalid", "visibilityServer.bindPort")],
        ),
        ({"tls": {"minVersion": "VersionTLS11"}}, [("Invalid", "tls")]),
        ({"tls": {"minVersion": "VersionTLS13", "curvePreferences": [4588, 29, 23]}}, []),
        ({"tls": {"curvePreferences": [29, 23, 29]}}, [("Invalid", "tls.curvePreferences")]),
        ({"tls": {"curvePreferences": [0]}}, [("Invalid", "tls.curvePreferences")]),
        ({"tls": {"curvePreferences": [65536]}}, [("Invalid", "tls.curvePreferences")]),
        ({"tls": {"curvePreferences": [26]}}, [("Invalid", "tls.curvePreferences")]),
        ({"tls": {"curvePreferences": ["X25519"]}}, [("Invalid", "tls.curvePreferences")]),
        ({"internalCertManagement": {"enable": False, "webhookSecretName": ":)"}}, []),
        (
            {"internalCertManagement": {"webhookSecretName": ":)"}},
            [("Invalid", "internalCertManagement.webhookSecretName")],
        ),
    ],
)
def test_section_has_the_errors_that_kueue_reports(sections: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert found(**sections) == wanted


@pytest.mark.parametrize(
    ("configuration", "at", "said"),
    [
        ({"manageJobsWithoutQueueName": "yes"}, "manageJobsWithoutQueueName", "true or false"),
        ({"integrations": {"frameworks": [{"a": "b"}]}}, "integrations.frameworks[0]", "{'a': 'b'}"),
        ({"integrations": {"frameworks": "batch/job"}}, "integrations.frameworks", "a list"),
        ({"fairSharing": True}, "fairSharing", "a mapping"),
        ({"namespace": 5}, "namespace", "a text"),
        (
            {"waitForPodsReady": {"timeout": "5m", "requeuingStrategy": {"backoffLimitCount": 2**31}}},
            "waitForPodsReady.requeuingStrategy.backoffLimitCount",
            "2147483648 is not a whole number from 0 to 2147483647",
        ),
        ({"integrations": {"frameworks": ["batch/jop"]}}, "integrations.frameworks[0]", "did you mean 'batch/job'?"),
    ],
)
def test_value_of_the_wrong_type_is_rejected(configuration: dict[str, Any], at: str, said: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        refuse_faults(configuration)

    assert (refused.value.at, said in str(refused.value)) == (at, True)


def test_disabled_gate_turns_its_check_off() -> None:
    assert found({"QuotaCheckStrategy": False}, resources={"quotaCheckStrategy": "Maybe"}) == []


@pytest.mark.parametrize(
    ("section", "wanted"),
    [
        ({"gcInterval": "-1s"}, [("Invalid", "gcInterval")]),
        ({"externalFrameworks": [{"name": "Job.v1.batch"}]}, [("Invalid", "externalFrameworks[0].name")]),
        (
            {"externalFrameworks": [{"name": "A.v1.b"}, {"name": "A.v1.b"}, {"name": "A"}]},
            [("Duplicate", "externalFrameworks[1].name"), ("Invalid", "externalFrameworks[2].name")],
        ),
        ({"dispatcherName": INCREMENTAL, "incrementalDispatcherConfig": {"stepSize": 1}}, []),
        (
            {"clusterProfile": {"credentialsProviders": [{"execConfig": {"interactiveMode": "Sometimes"}}]}},
            [
                ("Required", "clusterProfile.credentialsProviders.name"),
                ("Required", "clusterProfile.credentialsProviders.execConfig.command"),
                ("Required", "clusterProfile.credentialsProviders.execConfig.apiVersion"),
                ("NotSupported", "clusterProfile.credentialsProviders.execConfig.interactiveMode"),
            ],
        ),
    ],
)
def test_multikueue_has_the_errors_that_kueue_reports(section: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert found(multiKueue=section) == [(type_, f"multiKueue.{field}") for type_, field in wanted]


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([{"name": "team"}], []),
        ([{"name": "_team"}], [("Invalid", "[0].name"), ("Invalid", "[0].name")]),
        ([{"name": "a"}, {"name": "a"}], [("Duplicate", "[1].name")]),
        (
            [{"name": "a", "sourceLabelKey": "x y", "sourceAnnotationKey": "b"}],
            [("Invalid", "[0]"), ("Invalid", "[0].sourceLabelKey")],
        ),
        ([{"name": "a", "sourceKind": "Workload"}], [("Invalid", "[0].trackedValues")]),
        ([{"name": "a", "trackedValues": ["b", "b"]}], [("Invalid", "[0].trackedValues")]),
        ([{"name": "a", "trackedValues": [str(n) for n in range(17)]}], [("TooMany", "[0].trackedValues")]),
        ([{"name": "a", "sourceKind": "Pod"}], [("Invalid", "")]),
        ([{"name": "a", "sourceKind": ""}], [("Invalid", "")]),
        ([{"name": f"a{n}"} for n in range(7)], [("Invalid", "")]),
        (
            [
                {
                    "name": f"a{n}",
                    "sourceKind": ("Cohort", "LocalQueue", "ClusterQueue", "Workload")[n % 4],
                    "trackedValues": ["v"],
                }
                for n in range(21)
            ],
            [("TooMany", ""), ("Invalid", "")],
        ),
    ],
)
def test_metrics_labels_have_the_errors_that_kueue_reports(
    labels: list[dict[str, Any]], wanted: list[tuple[str, str]]
) -> None:
    assert found(metrics={"customLabels": labels}) == [(type_, f"metrics.customLabels{at}") for type_, at in wanted]


@pytest.mark.parametrize(
    ("mapping", "wanted"),
    [
        ({"name": "gpu"}, [("Required", "deviceClassNames")]),
        (
            {"name": "g p u", "deviceClassNames": ["a", "a"]},
            [("Invalid", "name"), ("Duplicate", "deviceClassNames[1]")],
        ),
        ({"name": "gpu", "deviceClassNames": [f"c{n}" for n in range(9)]}, [("TooMany", "deviceClassNames")]),
        ({"name": "gpu", "deviceClassNames": ["a"], "sources": [{}]}, [("Required", "sources[0]")]),
        (
            {"name": "gpu", "deviceClassNames": ["a"], "sources": [{"counter": {}, "capacity": {}}]},
            [("Invalid", "sources[0]")],
        ),
        (
            {"name": "gpu", "deviceClassNames": ["a"], "sources": [{"capacity": {"name": "m"}}]},
            [("Invalid", "sources[0].capacity")],
        ),
        (
            {"name": "gpu", "deviceClassNames": ["a"], "sources": [{"counter": {}}]},
            [
                ("Required", "sources[0].counter.name"),
                ("Required", "sources[0].counter.driver"),
                ("Required", "sources[0].counter.deviceSelector.cel.expression"),
            ],
        ),
    ],
)
def test_device_class_mappings_have_the_errors_that_kueue_reports(
    mapping: dict[str, Any], wanted: list[tuple[str, str]]
) -> None:
    assert found(resources={"deviceClassMappings": [mapping]}) == [
        (type_, f"resources.deviceClassMappings[0].{field}") for type_, field in wanted
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("memory", []),
        ("a-b", ["Invalid"]),
        ("x" * 33, ["TooLong"]),
        ("gpu.example.com/memory", []),
        ("/memory", ["Invalid"]),
        ("gpu.example.com/", ["Invalid"]),
        ("a." * 40 + "b/memory", ["TooLong"]),
        ("a/b/c", []),
    ],
)
def test_capacity_name_is_an_identifier_with_an_optional_domain(name: str, wanted: list[str]) -> None:
    capacity = {"name": name, "driver": "gpu.example.com", "deviceSelector": SELECTOR}
    mapping = {"name": "gpu", "deviceClassNames": ["a"], "sources": [{"capacity": capacity}]}

    faults_found = found({CAPACITIES: True}, resources={"deviceClassMappings": [mapping]})

    assert faults_found == [(each, "resources.deviceClassMappings[0].sources[0].capacity.name") for each in wanted]


@each_case("nonsense", [None, 5, "x", [], [1], {"a": []}, True])
@each_case(
    "section",
    [
        *("namespace", "integrations", "multiKueue", "fairSharing", "admissionFairSharing", "waitForPodsReady", "tls"),
        *("resources", "managedJobsNamespaceSelector", "objectRetentionPolicies", "visibilityServer", "metrics"),
        "internalCertManagement",
    ],
)
def test_malformed_sections_do_not_raise_internal_errors(section: str, nonsense: object) -> None:
    keys = ("frameworks", "customLabels", "transformations", "deviceClassMappings", "timeout", "execConfig")
    within = dict.fromkeys(keys, nonsense)

    for value in (nonsense, within):
        assert isinstance(list(faults(defaulted({section: value}))), list)
