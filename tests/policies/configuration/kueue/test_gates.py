"""Kueue's feature gates: which names and values are accepted, rejected and idle."""

from __future__ import annotations

import pytest

from policies.configuration.file import read_configuration
from policies.configuration.kueue.gates import (
    OF_WEBHOOKS,
    TABLES,
    TOPOLOGIES,
    FeatureGate,
    FeatureGates,
    Here,
    KueueVersion,
    check_gates,
    idle_gates,
    refuse_unkept,
)
from policies.configuration.kueue.reading import read
from policies.configuration.kueue.values import LOCAL_QUEUE_METRICS
from policies.model.errors import BadConfiguration
from reconciler.configured import DEFAULTS, read_configured
from tests.profiles import each_case

GATES = TABLES[KueueVersion.V0_19].gates.values()
ON_BY_DEFAULT, OFF_BY_DEFAULT, LOCKED = 53 + 7, 2 + 2 + 25, 7 + 1
"""Of Kueue v0.19.2: beta and GA; beta, deprecated and alpha."""


def test_gate_table_has_the_number_of_gates_of_kueue_0_19_2() -> None:
    names = [gate.name for gate in GATES]

    assert names == sorted(set(names))
    assert (sum(gate.on for gate in GATES), sum(not gate.on for gate in GATES)) == (ON_BY_DEFAULT, OFF_BY_DEFAULT)
    assert sum(gate.locked for gate in GATES) == LOCKED


def test_gates_that_differ_from_kueue_have_a_reason() -> None:
    gates = {gate for table in TABLES.values() for gate in table.gates.values()}
    missing = [gate.name for gate in gates if gate.here in (Here.OFF, Here.IDLE) and not gate.locked and not gate.why]

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
        lambda: check_gates(FeatureGates({gate: value})),
        lambda: read({"featureGates": {gate: value}}),
        lambda: read({}, FeatureGates({gate: value})),
        lambda: read_configured({**DEFAULTS, "featureGates": {gate: value}}),
        lambda: read_configuration({**own, "kueueVersion": "0.19", "kueue": {"featureGates": {gate: value}}}, ()),
    ):
        with pytest.raises(BadConfiguration) as refused:
            refuse()
        assert message in str(refused.value)


def test_locked_gate_can_be_set_to_its_default() -> None:
    chosen = {"HierarchicalCohorts": True, "MultiKueueAllowInsecureKubeconfigs": False}

    assert read_configured({**DEFAULTS, "featureGates": chosen}).idle == ()


def test_kueues_own_defaults_are_never_refused() -> None:
    defaults = {gate.name: gate.on for gate in GATES}

    assert read_configured({**DEFAULTS, "featureGates": defaults}).idle == ()


@each_case("gate", [gate for gate in GATES if not gate.locked])
def test_non_default_gate_is_followed_rejected_or_reported_as_idle(gate: FeatureGate) -> None:
    chosen = FeatureGates({gate.name: not gate.on})

    if gate.here is (Here.ON if gate.on else Here.OFF):
        with pytest.raises(BadConfiguration, match=f"featureGates.{gate.name}: the reconciler does not support this: "):
            refuse_unkept(chosen)
    else:
        refuse_unkept(chosen)
        assert chosen.enabled(gate.name) is not gate.on
    assert list(idle_gates(chosen)) == ([gate.name] if gate.here is Here.IDLE else [])


def test_webhook_configuration_rejects_a_gate_that_webhooks_do_not_read() -> None:
    own = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration"}

    with pytest.raises(BadConfiguration, match=r"kueue\.featureGates\.ReclaimablePods: the webhooks do not read it"):
        read_configuration({**own, "kueue": {"featureGates": {"ReclaimablePods": True}}}, ())
    found = read_configuration({**own, "kueue": {"featureGates": {"PriorityBoost": True}}}, ())
    assert found.kueue.feature_gates == {**OF_WEBHOOKS[KueueVersion.V0_20], "PriorityBoost": True}


@pytest.mark.parametrize("on", [True, False])
def test_section_is_read_only_while_its_gate_is_enabled(on: bool) -> None:
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


OWN = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration"}
NEW = KueueVersion.V0_20


def test_gate_table_of_0_20_matches_its_changes_from_0_19() -> None:
    before, after = (TABLES[version].gates for version in (KueueVersion.V0_19, NEW))

    assert before.keys() - after.keys() == TABLES[NEW].removed.keys()
    assert TABLES[NEW].needs.keys() <= after.keys()
    assert {name for needed in TABLES[NEW].needs.values() for name in needed} <= after.keys()
    assert (len(before), len(after)) == (89, 112)


def test_defaults_follow_the_version() -> None:
    gate = "UnadmittedWorkloadsObservability"

    assert not FeatureGates().enabled(gate)
    assert FeatureGates(version=NEW).enabled(gate)
    assert not FeatureGates({gate: False}, NEW).enabled(gate)


def test_installed_kueue_version_is_used_if_none_is_configured() -> None:
    assert read_configuration(OWN, ()).kueue.version == NEW
    assert read_configuration(OWN, (), installed=lambda: KueueVersion.V0_19).kueue.version == KueueVersion.V0_19
    named = {**OWN, "kueueVersion": "0.20"}
    assert read_configuration(named, (), installed=lambda: pytest.fail("nobody has to ask")).kueue.version == NEW


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"ObjectRetentionPolicies": True},
            'removed it and behaves as with true: remove the line, or set kueueVersion: "0.19" in Quotree\'s own',
        ),
        ({"PartialAdmision": True}, "did you mean 'PartialAdmission'?"),
        ({"TLSOptions": False}, "cannot set feature gate TLSOptions to false, feature is locked to true"),
        (
            {"AdmissionFairSharing": False},
            "depends on features that are disabled: [AdmissionFairSharing]; set to false as well: Adm",
        ),
    ],
)
def test_kueue_0_20_rejects_removed_and_incompatible_gates(chosen: dict[str, bool], message: str) -> None:
    own = read_configuration({**OWN, "kueueVersion": "0.20"}, ())

    with pytest.raises(BadConfiguration) as refused:
        read_configured({**DEFAULTS, "featureGates": chosen}, own=own)
    assert message in str(refused.value)


def test_kueue_0_19_rejects_a_gate_without_the_gates_that_it_needs() -> None:
    """Its manager does not start: `TASBalancedPlacement requires TopologyAwareScheduling to be enabled`."""
    needing = {name: False for name, needed in TABLES[KueueVersion.V0_19].needs.items() if TOPOLOGIES in needed}
    off = {**needing, TOPOLOGIES: False, "FlavorFungibility": False}

    assert read({**DEFAULTS, "featureGates": off}).gates.chosen == off
    every = "; set to false as well: TASFailedNodeReplacement, TASFailedNodeReplacementFailFast, TASHandleOverlapping"
    with pytest.raises(BadConfiguration, match=every):
        read({**DEFAULTS, "featureGates": {TOPOLOGIES: False}})
    for gate in needing:
        with pytest.raises(BadConfiguration, match=rf"^featureGates\.{TOPOLOGIES}: {gate} is enabled, but depends on"):
            read({**DEFAULTS, "featureGates": {**off, gate: True}})


def test_a_gate_of_0_20_is_unknown_to_0_19_and_the_version_is_named() -> None:
    chosen = {"featureGates": {"HighMaxParallelismWithinReconcile": True}}

    says = r"judged for Kueue 0\.19, and it exists in 0\.20: set kueueVersion: \"0\.20\" in Quotree's own Configuration"
    with pytest.raises(BadConfiguration, match=says):
        read_configured({**DEFAULTS, **chosen})
    own = read_configuration({**OWN, "kueueVersion": "0.20"}, ())
    assert read_configured({**DEFAULTS, **chosen}, own=own).idle == ()


def test_the_defaults_of_0_20_are_never_refused() -> None:
    own = read_configuration({**OWN, "kueueVersion": "0.20"}, ())
    defaults = {gate.name: gate.on for gate in TABLES[NEW].gates.values()}

    assert read_configured({**DEFAULTS, "featureGates": defaults}, own=own).idle == ()


def test_the_webhooks_follow_the_version() -> None:
    own, older = (read_configuration({**OWN, "kueueVersion": version}, ()) for version in ("0.20", "0.19"))

    assert own.kueue.enabled("RejectUpdatesToCQWithInvalidOnFlavors")
    assert not older.kueue.enabled("RejectUpdatesToCQWithInvalidOnFlavors")
    with pytest.raises(BadConfiguration, match=r"kueueVersion: '0\.18' is not valid; it must be one of 0\.19, 0\.20"):
        read_configuration({**OWN, "kueueVersion": "0.18"}, ())


@pytest.mark.parametrize(
    "section",
    [
        {"transformations": [{"input": "cpu", "strategy": "Retain", "outputs": {"pods": "1"}}]},
        {"deviceClassMappings": [{"name": "pods", "deviceClassNames": ["gpu.example.com"]}]},
    ],
)
def test_kueue_0_20_rejects_the_reserved_resource_name_pods(section: dict[str, object]) -> None:
    gate, manifest = "ReservedResourceNameValidation", {"resources": section}

    with pytest.raises(BadConfiguration, match="pods is reserved"):
        read(manifest, FeatureGates(version=NEW))
    read(manifest, FeatureGates({gate: False}, NEW))
    read(manifest)
