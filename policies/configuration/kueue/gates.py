"""Kueue's feature gates: the names and values that Kueue accepts, and those that Quotree supports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from policies.configuration.kueue import gates_0_20
from policies.configuration.kueue.gate_table import GATES, FeatureGate, Here
from policies.model.errors import BadConfiguration
from policies.model.suggestion import close

RESERVED_NAMES = "ReservedResourceNameValidation"
ORCHESTRATION = "DynamicQuotaOrchestration"
TOPOLOGIES = "TopologyAwareScheduling"
SEVERAL_NODES = "TASReplaceMultipleFailedNodes"
COUNTERS, CAPACITIES = "KueueDRAIntegrationPartitionableDevices", "KueueDRAIntegrationConsumableCapacity"


class KueueVersion(StrEnum):
    """The versions of Kueue whose feature gates are known."""

    V0_19 = "0.19"
    V0_20 = "0.20"


LATEST = KueueVersion.V0_20
"""The version that counts if none is named and none is installed."""


@dataclass(frozen=True, slots=True)
class GateTable:
    """The feature gates of one version of Kueue.

    `gates`: by name.
    `needs`: for a gate, the gates that must be on if it is on.
    `removed`: the gates that only the version before had, each with the value that Kueue now behaves as if it had.
    """

    gates: Mapping[str, FeatureGate]
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removed: Mapping[str, bool] = field(default_factory=dict)


def _of_0_20() -> GateTable:
    gates = {gate.name: gate for gate in (*GATES, *gates_0_20.ADDED) if gate.name not in gates_0_20.REMOVED}
    for name, (on, stage) in gates_0_20.DEFAULTS.items():
        gates[name] = replace(gates[name], on=on, stage=stage, locked=stage == "GA")
    return GateTable(gates, gates_0_20.NEEDS, gates_0_20.REMOVED)


TABLES: Mapping[KueueVersion, GateTable] = {
    KueueVersion.V0_19: GateTable({gate.name: gate for gate in GATES}),
    KueueVersion.V0_20: _of_0_20(),
}
_OFF = {name: False for table in TABLES.values() for name in table.gates}
DEFAULTS: Mapping[KueueVersion, Mapping[str, bool]] = {
    version: {**_OFF, **table.removed, **{gate.name: gate.default for gate in table.gates.values()}}
    for version, table in TABLES.items()
}
"""The default of each gate by version. A gate that a version does not have yet is off."""
OF_WEBHOOKS: Mapping[KueueVersion, Mapping[str, bool]] = {
    version: {gate.name: gate.default for gate in table.gates.values() if gate.webhooks}
    for version, table in TABLES.items()
}
"""The gates that Kueue's webhooks read. An administrator sets them in Quotree's own Configuration, too."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The gates of a configuration. `chosen`: those that it sets; the others have the defaults of `version`."""

    chosen: Mapping[str, bool] = field(default_factory=dict)
    version: KueueVersion = KueueVersion.V0_19

    def enabled(self, gate: str) -> bool:
        value = self.chosen.get(gate)
        return DEFAULTS[self.version][gate] if value is None else value


def check_gates(gates: FeatureGates, at: str = "featureGates") -> None:
    """Check feature gates as their version of Kueue does.

    Raises BadConfiguration for an unknown gate, a locked one, and one that is on while a gate that it needs is off.
    """
    table, chosen = TABLES[gates.version], gates.chosen
    for name, value in chosen.items():
        gate = table.gates.get(name)
        if gate is None:
            raise BadConfiguration(f"unrecognized feature gate: {name}{_hint(name, gates.version)}", f"{at}.{name}")
        if gate.locked and value != gate.on:
            text = f"cannot set feature gate {name} to {_go(value)}, feature is locked to {_go(gate.on)}"
            raise BadConfiguration(text, f"{at}.{name}")
    for name, needed in table.needs.items():
        gate = table.gates[name]
        missing = [each for each in needed if not chosen.get(each, table.gates[each].on)]
        if missing and chosen.get(name, gate.on):
            text = f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
            raise BadConfiguration(f"{text}; set {name}: false as well", f"{at}.{missing[0]}")


def gates_of_flag(value: str) -> dict[str, bool]:
    """The gates in the value of a flag `--feature-gates`, as Go reads it."""
    entries = (entry.partition("=") for entry in value.split(",") if entry)
    return {name.strip(): value.strip().lower() in ("true", "t", "1") for name, _, value in entries}


def _hint(name: str, version: KueueVersion) -> str:
    """The advice for an unknown name; empty if no name is similar."""
    table = TABLES[version]
    others = [other for other, each in TABLES.items() if name in each.gates]
    switch = f'set kueueVersion: "{others[0]}" in Quotree\'s own Configuration' if others else ""
    if name in table.removed:
        removed = f"; Kueue {version} removed it and behaves as with {_go(table.removed[name])}: remove the line"
        return f"{removed}, or {switch} if you run that version" if switch else removed
    if switch:
        return f"; gates are judged for Kueue {version}, and it exists in {others[0]}: {switch} if you run that version"
    near = close(name, table.gates)
    return f"; did you mean {near!r}?" if near else ""


def refuse_unkept(gates: FeatureGates) -> None:
    """Check the feature gates. Raises BadConfiguration for a value that the reconciler does not support."""
    for name, value in gates.chosen.items():
        gate = TABLES[gates.version].gates[name]
        if value != gate.on and gate.here is (Here.OFF if value else Here.ON):
            why = gate.why[:1].lower() + gate.why[1:].rstrip(".")
            text = f"the reconciler does not support this: {why}; remove it, or let Kueue's manager do it"
            raise BadConfiguration(text, f"featureGates.{name}")


def idle_gates(gates: FeatureGates) -> Iterator[str]:
    """The gates that differ from Kueue's default and have no effect on the reconciler."""
    known = TABLES[gates.version].gates
    return (name for name, value in gates.chosen.items() if known[name].here is Here.IDLE and value != known[name].on)


def _go(value: bool) -> str:
    return str(value).lower()
