"""The tables of keys and of feature gates in docs/configuration.md, from policies/configuration/kueue."""

from __future__ import annotations

from collections.abc import Iterable

from generators.files import table
from policies.configuration.kueue.gate_table import GATES, FeatureGate
from policies.configuration.kueue.keys import KEYS, ConfigurationKey

_HEAD = "| Key | Here | |"
_GATES_HEAD = "| Gate | Kueue v0.19.2 | Reconciler | Webhooks ask | |"


def generate() -> dict[str, dict[str, str]]:
    return {"docs/configuration.md": {"kueue-configuration": key_table(KEYS), "kueue-gates": gate_table(GATES)}}


def key_table(keys: Iterable[ConfigurationKey]) -> str:
    """The table of keys, sorted by path."""
    ordered = sorted(keys, key=lambda key: key.path.lower())
    return table(_HEAD, ((f"`{key.path}`", key.use, key.why) for key in ordered))


def gate_table(gates: Iterable[FeatureGate]) -> str:
    """The table of feature gates, sorted by name."""
    return table(_GATES_HEAD, map(_row, sorted(gates, key=lambda gate: gate.name.lower())))


def _row(gate: FeatureGate) -> tuple[str, ...]:
    kueue = f"{_switch(gate.on)}, {gate.stage}{', locked' if gate.locked else ''}"
    here = gate.here if gate.ours is None else f"{gate.here}, {_switch(gate.ours)} by default"
    return gate.name, kueue, here, "yes" if gate.webhooks else "", gate.why


def _switch(on: bool) -> str:
    return "on" if on else "off"
