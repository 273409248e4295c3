"""What the reconciler reads from a file with Kueue's Configuration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from cluster.client import ClusterClient
from cluster.endpoint import Endpoint
from cluster.lease import LeaseTimes
from policies.configuration.file import read_configuration
from policies.configuration.kueue.values import (
    CLUSTER_QUEUE_RESOURCES,
    LOCAL_QUEUE_METRICS,
    UNADMITTED_WORKLOADS,
    RetentionPolicies,
)
from policies.configuration.settings import Configuration, Dialect, KueueSettings
from policies.model.errors import BadConfiguration
from reconciler.configured import ReconcilerConfiguration, read_configured
from reconciler.process import DecisionSettings, Reconciler
from scheduling.objects.times import SECOND
from scheduling.queues.consumption import UsageDecay
from scheduling.status.deadlines import WaitForPodsReady

NAME = "kubernetes.io/metadata.name"


def read(**sections: Any) -> ReconcilerConfiguration:
    return read_configured({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **sections})


def test_an_empty_configuration_means_the_defaults() -> None:
    configured = read()

    assert configured.times == LeaseTimes(15, 10, 2)
    assert configured.settings.options == DecisionSettings().options
    assert configured.settings.waiting == WaitForPodsReady()
    assert configured.idle == ()


def test_scheduling_settings_are_read_from_kueues_fields() -> None:
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
    assert (settings.waiting.timeout, settings.waiting.limit) == (300 * SECOND, 3)
    assert not settings.ordering.by_eviction
    assert configured.times == LeaseTimes(60, 40, 5)


def test_pods_are_managed_if_kueues_integrations_list_them() -> None:
    assert read().settings.pods
    assert not read(integrations={"frameworks": ["batch/job"]}).settings.pods
    assert read(integrations={"frameworks": ["batch/job", "pod"]}).settings.pods


def test_a_configuration_of_kueue_is_accepted_and_ignored_fields_are_named() -> None:
    configured = read(
        namespace="kueue-system",
        health={"healthProbeBindAddress": ":8081"},
        leaderElection={"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        integrations={"frameworks": ["batch/job"], "labelKeysToCopy": ["team"]},
        visibilityServer={"bindPort": 8082},
        manageJobsWithoutQueueName=False,
    )

    assert configured.idle == (
        "health",
        "leaderElection.leaderElect",
        "leaderElection.resourceName",
        "visibilityServer",
    )


def test_kinds_that_only_the_webhook_knows_are_named() -> None:
    def never_started(*frameworks: str, **kueue: Any) -> tuple[str, ...]:
        manifest = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
        own = Configuration(kueue=KueueSettings(**kueue))
        return read_configured({**manifest, "integrations": {"frameworks": [*frameworks]}}, own=own).never_started

    assert "jobset.x-k8s.io/jobset" in never_started("batch/job", manage_jobs=True)
    assert never_started("batch/job", manage_jobs=True, frameworks=("batch/job",)) == ()
    assert never_started("batch/job") == ()
    assert "batch/job" not in never_started(manage_jobs=True)


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


def test_parts_of_devices_are_rejected_since_they_are_not_counted() -> None:
    counter = {"name": "memory", "driver": "gpu.example.com", "deviceSelector": {"cel": {"expression": "true"}}}
    mapping = {"name": "gpu", "deviceClassNames": ["gpu.example.com"], "sources": [{"counter": counter}]}

    with pytest.raises(BadConfiguration, match="does not count parts of devices yet") as refused:
        read(resources={"deviceClassMappings": [mapping]})

    assert refused.value.at == "resources.deviceClassMappings[0].sources"


def test_jobs_are_managed_except_in_the_system_namespaces() -> None:
    jobs = read(namespace="queues").settings.jobs

    assert not jobs.without_queue
    assert [jobs.selector.matches({NAME: name}) for name in ("team", "kube-system", "queues", "kueue-system")] == [
        True,
        False,
        False,
        True,
    ]


def test_managed_jobs_can_be_selected() -> None:
    selector = {"matchLabels": {"batch": "yes"}}
    jobs = read(manageJobsWithoutQueueName=True, managedJobsNamespaceSelector=selector).settings.jobs

    assert jobs.without_queue
    assert (jobs.selector.matches({"batch": "yes"}), jobs.selector.matches({})) == (True, False)


def test_admission_fair_sharing_is_enabled_by_its_section() -> None:
    weights = {"cpu": 0.1, "memory": 2}
    settings = read(admissionFairSharing={"usageHalfLifeTime": "1h", "resourceWeights": weights}).settings

    assert read().settings.usage_decay is None
    assert settings.usage_decay == UsageDecay(
        3600 * SECOND, 300 * SECOND, {"cpu": Fraction(1, 10), "memory": Fraction(2)}
    )


def test_retention_and_block_admission_are_read() -> None:
    configured = read(
        objectRetentionPolicies={"workloads": {"afterFinished": "1h", "afterDeactivatedByKueue": "0s"}},
        waitForPodsReady={"blockAdmission": True},
    )

    assert read().settings.retention == RetentionPolicies()
    assert configured.settings.retention == RetentionPolicies(3600 * SECOND, 0)
    assert configured.settings.waiting is not None
    assert (configured.settings.waiting.block_admission, configured.settings.waiting.timeout) == (True, 1800 * SECOND)


def test_metrics_can_be_disabled() -> None:
    without = {"enableClusterQueueResources": False, "localQueueMetrics": {"enable": False}}

    assert read().metrics_off == {UNADMITTED_WORKLOADS}
    assert read(metrics=without).metrics_off == {CLUSTER_QUEUE_RESOURCES, LOCAL_QUEUE_METRICS, UNADMITTED_WORKLOADS}


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


def of_dialects(
    *dialects: str, enforce: str = "off", volcano: str = "off", preemption: bool = False, observes: bool = False
) -> ReconcilerConfiguration:
    ours = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration"}
    gates = {"yunikorn": {"enforce": enforce, "preemption": preemption}, "volcano": {"enforce": volcano}}
    whole = {**ours, "reconciler": {"dialects": list(dialects)}, **gates}
    return read_configured(
        {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"},
        own=read_configuration(whole, []),
        observes=observes,
    )


def test_only_kueue_is_enabled_unless_dialects_are_listed() -> None:
    assert of_dialects().settings.dialects == {Dialect.KUEUE}
    assert of_dialects("kueue", "volcano").settings.dialects == {Dialect.KUEUE, Dialect.VOLCANO}
    assert of_dialects("kueue", "yunikorn").idle == ("reconciler.dialects: yunikorn",)
    assert of_dialects("yunikorn", enforce="gates").idle == ()
    assert of_dialects("yunikorn", enforce="gates", preemption=True).idle == ()
    assert of_dialects("kueue", preemption=True).idle == ("yunikorn.preemption",)
    assert of_dialects("yunikorn", observes=True).idle == ()
    assert of_dialects("volcano", volcano="gates").idle == ()


def test_enforced_gates_enable_their_dialect() -> None:
    yunikorn, volcano = of_dialects("kueue", enforce="gates"), of_dialects(volcano="gates")

    assert yunikorn.settings.dialects == {Dialect.KUEUE, Dialect.YUNIKORN}
    assert volcano.settings.dialects == {Dialect.KUEUE, Dialect.VOLCANO}
    assert (yunikorn.idle, volcano.idle) == ((), ())


def test_an_unknown_dialect_is_rejected_with_its_path() -> None:
    with pytest.raises(
        BadConfiguration, match="'slurm' is unknown; it must be one of kueue, volcano, yunikorn"
    ) as refused:
        of_dialects("kueue", "slurm")
    assert refused.value.at == "reconciler.dialects[1]"


@pytest.mark.parametrize(
    ("dialects", "workloads", "queues"),
    [(["kueue"], True, False), (["volcano"], False, True), (["kueue", "volcano"], True, True)],
)
def test_kinds_of_a_disabled_dialect_are_not_watched(dialects: list[str], workloads: bool, queues: bool) -> None:
    settings = of_dialects(*dialects).settings
    with ClusterClient(Endpoint("http://127.0.0.1:1")) as cluster:
        watched = Reconciler(cluster, settings).core.informer.watched.keys()

    assert ("Workload" in watched, "Namespace" in watched) == (workloads, workloads)
    assert ("Queue" in watched, "Command" in watched, "BoundPod" in watched) == (queues, queues, queues)
    assert "VolcanoGatedPod" not in watched


def test_pods_at_volcanos_gates_are_watched_if_enabled() -> None:
    with ClusterClient(Endpoint("http://127.0.0.1:1")) as cluster:
        watched = Reconciler(cluster, of_dialects("volcano", volcano="gates").settings).core.informer.watched.keys()

    assert {"VolcanoGatedPod", "GatedPodGroup", "GatedQueue"} <= watched
