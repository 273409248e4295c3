"""MultiKueue's settings, from Kueue's Configuration and from Quotree's own."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.file import read_configuration
from policies.configuration.kueue.gates import FeatureGates, KueueVersion
from policies.configuration.kueue.reading import read as read_kueue
from policies.configuration.multikueue import MultiKueueOptions
from policies.dialects.kubeconfig import PREFIX, Trust
from policies.model.errors import BadConfiguration
from policies.rules import registry
from reconciler.configured import multikueue_of
from reconciler.multikueue.assembly import MultiKueueSettings
from scheduling.objects.times import SECOND
from scheduling.placement.settings import ALL_AT_ONCE, INCREMENTAL

GATE = "MultiKueueReuseClientConnectionConfigForWorkers"
COMMAND = {"command": "get-token", "apiVersion": "v1", "interactiveMode": "Never"}


def own(**section: Any) -> MultiKueueOptions:
    top = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration", "reconciler": {"multiKueue": section}}
    return read_configuration(top, registry()).reconciler.multikueue


def read(configuration: dict[str, Any], options: MultiKueueOptions | None = None) -> MultiKueueSettings:
    found = multikueue_of(read_kueue(configuration), options or MultiKueueOptions())
    assert found is not None
    return found


def test_multikueue_defaults_are_those_of_kueue() -> None:
    settings = read({})
    assert (settings.kept.namespace, settings.kept.allowed.prefix) == ("quotree-kubeconfigs", PREFIX)
    assert settings.kept.providers is None
    placing = settings.placing
    assert (placing.origin, placing.worker_lost, placing.collect_every) == ("multikueue", 900 * SECOND, 60 * SECOND)
    assert (placing.dispatcher, placing.step) == (ALL_AT_ONCE, 3)


def test_multikueue_settings_of_kueues_configuration_are_read() -> None:
    section = {
        "gcInterval": "0s",
        "origin": "here",
        "workerLostTimeout": "2m",
        "dispatcherName": INCREMENTAL,
        "incrementalDispatcherConfig": {"stepSize": 2},
        "clusterProfile": {"credentialsProviders": [{"name": "p", "execConfig": COMMAND}]},
    }
    gates = {"MultiKueueClusterProfile": True, "MultiKueueKubeConfigPathValidation": False}
    settings = read({"multiKueue": section, "featureGates": gates, "namespace": "kueue-system"})
    placing = settings.placing
    assert (placing.origin, placing.worker_lost, placing.collect_every) == ("here", 120 * SECOND, 0)
    assert (placing.dispatcher, placing.step) == (INCREMENTAL, 2)
    assert settings.kept.providers == {"p": COMMAND}
    assert (settings.kept.namespace, settings.kept.allowed.prefix) == ("kueue-system", None)


LIMITS = {"clientConnection": {"qps": 20, "burst": 30}}
V0_19, V0_20 = FeatureGates(version=KueueVersion.V0_19), FeatureGates(version=KueueVersion.V0_20)


@pytest.mark.parametrize(
    ("configuration", "gates", "options", "limits"),
    [
        ({}, V0_20, {}, (1000, 0)),
        (LIMITS, V0_20, {}, (20, 30)),
        (LIMITS, V0_19, {}, (1000, 0)),
        (LIMITS, V0_20, {"connection": {"requestsPerSecond": 7}}, (7, 0)),
        ({"clientConnection": {"qps": -1}}, V0_20, {}, (0, 0)),
        ({"clientConnection": {"qps": 0, "burst": 30}}, V0_20, {}, (1000, 0)),
        ({**LIMITS, "featureGates": {GATE: False}}, V0_20, {}, (1000, 0)),
    ],
)
def test_client_limits_of_kueue_apply_to_workers_since_0_20(
    configuration: dict[str, Any], gates: FeatureGates, options: dict[str, Any], limits: tuple[int, int]
) -> None:
    found = multikueue_of(read_kueue(configuration, gates), own(**options))

    assert found is not None
    assert (found.pulse.rate, found.pulse.burst) == limits


def test_a_limit_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(BadConfiguration, match=r"clientConnection\.qps"):
        read_kueue({"clientConnection": {"qps": "fast"}})


def test_the_preemption_gate_of_copies_is_enabled_since_0_20() -> None:
    gated = {gates.version: multikueue_of(read_kueue({}, gates), MultiKueueOptions()) for gates in (V0_19, V0_20)}

    assert {version: found.placing.gated for version, found in gated.items() if found is not None} == {
        KueueVersion.V0_19: False,
        KueueVersion.V0_20: True,
    }


def test_conditions_count_attempts_from_0_20_on() -> None:
    counted = {gates.version: multikueue_of(read_kueue({}, gates), MultiKueueOptions()) for gates in (V0_19, V0_20)}

    assert [found.counted for found in counted.values() if found is not None] == [False, True]


def test_the_feature_gate_disables_multikueue() -> None:
    off = read_kueue({"featureGates": {"MultiKueue": False}})

    assert multikueue_of(off, MultiKueueOptions()) is None


def test_settings_that_kueue_does_not_have_are_read_from_quotrees_configuration() -> None:
    options = own(
        connection={"probeSeconds": 1, "longestWaitSeconds": 7, "requestsPerSecond": 50, "allowInsecureTLS": True},
        jobsWithoutManagedBy="Reject",
        kubeconfigNamespace="elsewhere",
        configs=[
            {
                "name": "workers",
                "score": "Weighted",
                "weights": [{"cluster": "one", "weight": 3}],
                "selector": {"matchLabels": {"region": "eu"}},
                "rounds": 4,
            }
        ],
    )
    settings = read({"namespace": "kueue-system"}, options)
    assert settings.kept.namespace == "elsewhere"
    assert (settings.pulse.every, settings.pulse.longest_wait, settings.pulse.rate) == (1, 7, 50)
    assert settings.kept.allowed.trust == Trust(insecure_tls=True)
    assert settings.placing.without_managed_by == "Reject"
    rules = settings.placing.rules_of("workers")
    assert (rules.score, rules.weights, rules.rounds) == ("Weighted", {"one": 3}, 4)
    assert rules.selector.matches({"region": "eu"})
    assert not rules.selector.matches({})
    assert settings.placing.rules_of("other").rounds is None


@pytest.mark.parametrize(
    ("key", "trust"),
    [
        ("allowInsecureTLS", Trust(insecure_tls=True)),
        ("allowPlainHTTP", Trust(plain_http=True)),
        ("allowLinkLocal", Trust(link_local=True)),
        ("allowProxy", Trust(proxy=True)),
    ],
)
def test_each_unsafe_kubeconfig_setting_is_allowed_separately(key: str, trust: Trust) -> None:
    assert read({}, own(connection={key: True})).kept.allowed.trust == trust


@pytest.mark.parametrize(
    ("section", "at"),
    [
        ({"conection": {}}, "reconciler.multiKueue.conection"),
        ({"connection": {"probeSeconds": 0}}, "reconciler.multiKueue.connection.probeSeconds"),
        ({"configs": [{"name": "a", "score": "Best"}]}, "reconciler.multiKueue.configs[0].score"),
        ({"configs": [{"name": "a"}, {"name": "a"}]}, "reconciler.multiKueue.configs[1].name"),
        ({"configs": [{"name": "a", "weights": [{"cluster": "b", "wieght": 1}]}]}, "configs[0].weights[0].wieght"),
        ({"configs": [{"name": "a", "selector": {"labels": {}}}]}, "configs[0].selector.labels"),
        ({"jobsWithoutManagedBy": "Run"}, "reconciler.multiKueue.jobsWithoutManagedBy"),
    ],
)
def test_a_wrong_setting_is_rejected_with_its_path(section: dict[str, Any], at: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        own(**section)
    assert at in str(refused.value)
