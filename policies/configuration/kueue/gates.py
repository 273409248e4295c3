"""Kueue's feature gates: the names and values that Kueue accepts, and those that Quotree supports.

`gates.csv` has the gates of all versions: the default and the stage of each (a GA gate is locked), its support in
Quotree, the gates that it needs (`0.20:` before one that only this version checks), and a sentence for the
documentation. `removed`: the version does not have the gate any more, and behaves as if it had this value.
Source: Kueue v0.19.2, pkg/features; Kueue main of 2026-08-23 and the release notes of v0.20.0. The notes do not have
the defaults of four gates. These gates have the usual default here, on.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

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


class Here(StrEnum):
    """The support of a feature gate in the reconciler.

    SUPPORTED: both values have the same effect as in Kueue.
    ON, OFF: only this behaviour exists. The other value is refused, unless it is Kueue's default.
    IDLE: both values are accepted and have no effect.
    """

    SUPPORTED = "supported"
    ON = "always on"
    OFF = "always off"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """A feature gate.

    `on`: the default in Kueue.
    `stage`: alpha, beta or GA.
    `here`: the support in the reconciler.
    `why`: a sentence for the documentation.
    `ours`: the default in Quotree if it differs, else None.
    `locked`: whether the gate cannot be set to another value.
    `webhooks`: whether Kueue's webhooks read it, so that it must be set in Quotree's own Configuration, too.
    """

    name: str
    on: bool
    stage: str
    here: Here
    why: str = ""
    ours: bool | None = None
    locked: bool = False
    webhooks: bool = False

    @property
    def default(self) -> bool:
        """The default in Quotree."""
        return self.on if self.ours is None else self.ours


@dataclass(frozen=True, slots=True)
class GateTable:
    """The feature gates of one version of Kueue.

    `gates`: by name.
    `needs`: for a gate, the gates that must be on if it is on.
    `removed`: the gates that only the version before had, each with the value that Kueue now behaves as if it had.
    """

    gates: dict[str, FeatureGate] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    removed: dict[str, bool] = field(default_factory=dict)


def _table(rows: Iterable[Mapping[str, str]], version: KueueVersion) -> GateTable:
    table = GateTable()
    for row in rows:
        name, (switch, stage, *locked) = row["gate"], row[version].split() or ("", "")
        if stage == "removed":
            table.removed[name] = switch == "on"
        elif stage:
            ours = row["ours"] == "on" if row["ours"] else None
            switches = ours, bool(locked) or stage == "GA", row["webhooks"] == "yes"
            table.gates[name] = FeatureGate(name, switch == "on", stage, Here(row["here"]), row["why"], *switches)
            needs = [each.rpartition(":") for each in row["needs"].split()]
            table.needs[name] = tuple(need for only, _, need in needs if only in ("", version))
    return table


def _tables() -> Mapping[KueueVersion, GateTable]:
    with Path(__file__).with_name("gates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {version: _table(rows, version) for version in KueueVersion}


TABLES = _tables()
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
    lacking = {
        name: [each for each in needed if not chosen.get(each, table.gates[each].on)]
        for name, needed in table.needs.items()
        if chosen.get(name, table.gates[name].on)
    }
    wrong = [name for name, missing in lacking.items() if missing]
    if wrong:
        missing = lacking[wrong[0]]
        text = f"{wrong[0]} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
        raise BadConfiguration(f"{text}; set to false as well: {', '.join(wrong)}", f"{at}.{missing[0]}")


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
