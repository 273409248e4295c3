"""What the reconciler takes from a file in the form of Kueue's Configuration."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.lease import LeaseTimes
from policies.errors import BadConfiguration
from reconciler.configured import Configured, read_configured
from reconciler.process import Settings


def read(**sections: Any) -> Configured:
    return read_configured({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **sections})


def test_an_empty_configuration_means_the_defaults() -> None:
    configured = read()

    assert configured.times == LeaseTimes(15, 10, 2)
    assert configured.settings.options == Settings().options
    assert configured.settings.waiting is None
    assert configured.idle == ()


def test_what_decides_is_taken_under_kueues_names() -> None:
    configured = read(
        resources={"quotaCheckStrategy": "IgnoreUndeclared"},
        waitForPodsReady={"timeout": "5m", "requeuingStrategy": {"timestamp": "Creation", "backoffLimitCount": 3}},
        fairSharing={"preemptionStrategies": ["LessThanInitialShare"]},
        leaderElection={"leaseDuration": "60s", "renewDeadline": "40s", "retryPeriod": "5s"},
        featureGates={"PartialAdmission": False},
    )
    settings = configured.settings

    assert settings.options.ignore_undeclared
    assert settings.options.fair_sharing
    assert settings.options.strategies == ("LessThanInitialShare",)
    assert not settings.options.partial_admission
    excluding = read(resources={"excludeResourcePrefixes": ["example.com/"]}).settings
    assert excluding.counting.excluded_prefixes == ("example.com/",)
    assert settings.waiting is not None
    assert (settings.waiting.timeout, settings.waiting.limit) == (300, 3)
    assert not settings.ordering.by_eviction
    assert configured.times == LeaseTimes(60, 40, 5)


def test_kueues_own_file_can_be_used_and_what_means_nothing_here_is_named() -> None:
    configured = read(
        namespace="kueue-system",
        health={"healthProbeBindAddress": ":8081"},
        leaderElection={"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        integrations={"frameworks": ["batch/job"], "labelKeysToCopy": ["team"]},
        manageJobsWithoutQueueName=False,
    )

    assert configured.idle == (
        "namespace",
        "health",
        "leaderElection.leaderElect",
        "leaderElection.resourceName",
        "integrations.labelKeysToCopy",
    )


@pytest.mark.parametrize(
    ("sections", "at", "said"),
    [
        ({"resource": {}}, "resource", "did you mean 'resources'?"),
        ({"admissionFairsharing": {}}, "admissionFairsharing", "did you mean 'admissionFairSharing'?"),
        ({"waitForPodsReady": {"timeOut": "5m"}}, "waitForPodsReady.timeOut", "did you mean 'timeout'?"),
        (
            {"waitForPodsReady": {"requeuingStrategy": {"limit": 3}}},
            "waitForPodsReady.requeuingStrategy.limit",
            "known here: timestamp, ",
        ),
        ({"leaderElection": {"leaseDuraton": "15s"}}, "leaderElection.leaseDuraton", "did you mean 'leaseDuration'?"),
        ({"resources": ["a"]}, "resources", "expected a mapping"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known(sections: dict[str, Any], at: str, said: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        read(**sections)

    assert refused.value.at == at
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("sections", "at"),
    [
        ({"manageJobsWithoutQueueName": True}, "manageJobsWithoutQueueName"),
        ({"waitForPodsReady": {"blockAdmission": True}}, "waitForPodsReady.blockAdmission"),
        ({"admissionFairSharing": {"usageHalfLifeTime": "1h"}}, "admissionFairSharing"),
        ({"multiKueue": {"origin": "here"}}, "multiKueue"),
        ({"resources": {"deviceClassMappings": [{"name": "gpu"}]}}, "resources.deviceClassMappings"),
    ],
)
def test_what_would_decide_otherwise_and_is_not_there_yet_is_refused(sections: dict[str, Any], at: str) -> None:
    with pytest.raises(BadConfiguration, match="not do this yet") as refused:
        read(**sections)

    assert refused.value.at == at


@pytest.mark.parametrize(
    ("sections", "at"),
    [
        ({"apiVersion": "config.quotree.dev/v1alpha1"}, "apiVersion"),
        ({"kind": "ClusterQueue"}, "kind"),
        ({"leaderElection": {"renewDeadline": "15s"}}, "leaderElection"),
        ({"leaderElection": {"renewDeadline": 15}}, "leaderElection.renewDeadline"),
        ({"featureGates": {"PartialAdmission": "no"}}, "featureGates.PartialAdmission"),
    ],
)
def test_a_wrong_value_is_refused_at_its_key(sections: dict[str, Any], at: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        read(**sections)

    assert refused.value.at == at
