"""Kueue's feature gates: which names and values are taken, refused and idle."""

from __future__ import annotations

import pytest

from policies.configuration.file import read_configuration
from policies.configuration.kueue.gate_table import GATES, FeatureGate, Here
from policies.configuration.kueue.gates import OF_WEBHOOKS, FeatureGates, check_gates, idle_gates, refuse_unkept
from policies.configuration.kueue.reading import read
from policies.configuration.kueue.values import LOCAL_QUEUE_METRICS
from policies.model.errors import BadConfiguration
from reconciler.configured import DEFAULTS, read_configured

ON_BY_DEFAULT, OFF_BY_DEFAULT, LOCKED = 53 + 7, 2 + 2 + 25, 7 + 1
"""Of Kueue v0.19.2: beta and GA; beta, deprecated and alpha."""


def test_the_table_has_the_gates_of_kueue_0_19_2() -> None:
    names = [gate.name for gate in GATES]

    assert names == sorted(set(names))
    assert (sum(gate.on for gate in GATES), sum(not gate.on for gate in GATES)) == (ON_BY_DEFAULT, OFF_BY_DEFAULT)
    assert sum(gate.locked for gate in GATES) == LOCKED


def test_what_differs_from_kueue_says_why() -> None:
    missing = [gate.name for gate in GATES if gate.here in (Here.OFF, Here.IDLE) and not gate.locked and not gate.why]

    assert missing == []


@pytest.mark.parametrize(
    ("gate", "value", "message"),
    [
        ("LocalQueueDefaulting", True, "unrecognized feature gate: LocalQueueDefaulting"),
        ("PartialAdmision", True, "unrecognized feature gate: PartialAdmision; did you mean 'PartialAdmission'?"),
        (
            "HierarchicalCohorts",
            False,
            "cannot set feature gate HierarchicalCohorts to false, feature is locked to true",
        ),
        (
            "MultiKueueAllowInsecureKubeconfigs",
            True,
            "cannot set feature gate MultiKueueAllowInsecureKubeconfigs to true, feature is locked to false",
        ),
    ],
)
def test_a_gate_that_kueue_refuses_is_refused_in_each_place(gate: str, value: bool, message: str) -> None:
    own = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration"}

    for refuse in (
        lambda: check_gates({gate: value}),
        lambda: read({"featureGates": {gate: value}}),
        lambda: read({}, {gate: value}),
        lambda: read_configured({**DEFAULTS, "featureGates": {gate: value}}),
        lambda: read_configuration({**own, "kueue": {"featureGates": {gate: value}}}, ()),
    ):
        with pytest.raises(BadConfiguration) as refused:
            refuse()
        assert message in str(refused.value)


def test_a_locked_gate_may_be_set_to_what_it_is() -> None:
    check_gates({"HierarchicalCohorts": True, "MultiKueueAllowInsecureKubeconfigs": False})


def test_kueues_own_defaults_are_never_refused() -> None:
    defaults = {gate.name: gate.on for gate in GATES}

    assert read_configured({**DEFAULTS, "featureGates": defaults}).idle == ()


@pytest.mark.parametrize("gate", [gate for gate in GATES if not gate.locked], ids=lambda gate: gate.name)
def test_the_other_value_is_kept_or_refused_or_named(gate: FeatureGate) -> None:
    chosen = {gate.name: not gate.on}

    if gate.here is (Here.ON if gate.on else Here.OFF):
        with pytest.raises(BadConfiguration, match=f"featureGates.{gate.name}: the reconciler does not support this: "):
            refuse_unkept(chosen)
    else:
        refuse_unkept(chosen)
        assert FeatureGates(chosen).enabled(gate.name) is not gate.on
    assert list(idle_gates(chosen)) == ([gate.name] if gate.here is Here.IDLE else [])


def test_the_webhooks_refuse_a_gate_that_they_do_not_ask_for() -> None:
    own = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration"}

    with pytest.raises(BadConfiguration, match=r"kueue\.featureGates\.ReclaimablePods: the webhooks do not read it"):
        read_configuration({**own, "kueue": {"featureGates": {"ReclaimablePods": True}}}, ())
    found = read_configuration({**own, "kueue": {"featureGates": {"PriorityBoost": True}}}, ())
    assert found.kueue.feature_gates == {**OF_WEBHOOKS, "PriorityBoost": True}


@pytest.mark.parametrize("on", [True, False])
def test_a_section_counts_while_its_gate_is_on(on: bool) -> None:
    steps = {"dispatcherName": "kueue.x-k8s.io/multikueue-dispatcher-incremental"}
    manifest = {
        "admissionFairSharing": {"usageHalfLifeTime": "5m"},
        "resources": {"quotaCheckStrategy": "IgnoreUndeclared"},
        "multiKueue": {**steps, "incrementalDispatcherConfig": {"stepSize": 5}},
    }
    gates = (
        *("AdmissionFairSharing", "QuotaCheckStrategy"),
        *("MultiKueueIncrementalDispatcherConfig", "LocalQueueMetrics"),
    )
    found = read({**manifest, "featureGates": dict.fromkeys(gates, on)})

    assert (found.admission_fair_sharing is not None) is on
    assert found.resources.ignore_undeclared is on
    assert found.multikueue.step_size == (5 if on else None)
    assert (LOCAL_QUEUE_METRICS in found.metrics_off) is not on
