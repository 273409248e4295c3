"""Generates the tables in docs/reconciler-configuration.md and docs/feature-gates.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from generators.files import table
from policies.configuration.kueue.gates import TABLES, FeatureGate, GateTable, KueueVersion
from policies.configuration.kueue.keys import KEYS, ConfigurationKey

_HEAD = "| Key | Here | |"


def generate() -> dict[str, dict[str, str]]:
    return {
        "docs/reconciler-configuration.md": {"kueue-configuration": key_table(KEYS)},
        "docs/feature-gates.md": {"kueue-gates": gate_table(TABLES)},
    }


def key_table(keys: Iterable[ConfigurationKey]) -> str:
    ordered = sorted(keys, key=lambda key: key.path.lower())
    return table(_HEAD, ((f"`{key.path}`", key.use, key.why) for key in ordered))


def gate_table(tables: Mapping[KueueVersion, GateTable]) -> str:
    """The table of feature gates in all versions, sorted by name."""
    latest = {name: gate for table in tables.values() for name, gate in table.gates.items()}
    rows = (_row(gate, tables) for gate in sorted(latest.values(), key=lambda gate: gate.name.lower()))
    head = "".join(f" Kueue v{version} |" for version in tables)
    return table(f"| Gate |{head} Reconciler | Webhooks read it | |", rows)


def _row(gate: FeatureGate, tables: Mapping[KueueVersion, GateTable]) -> tuple[str, ...]:
    here = gate.here if gate.ours is None else f"{gate.here}, {_switch(gate.ours)} by default"
    in_kueue = (_in_kueue(gate.name, table) for table in tables.values())
    return gate.name, *in_kueue, here, "yes" if gate.webhooks else "", gate.why


def _in_kueue(name: str, table: GateTable) -> str:
    if name in table.removed:
        return f"removed, as {_switch(table.removed[name])}"
    gate = table.gates.get(name)
    return f"{_switch(gate.on)}, {gate.stage}{', locked' if gate.locked else ''}" if gate else "-"


def _switch(on: bool) -> str:
    return "on" if on else "off"
