"""Kueue's feature gates as they are set: which names and values Kueue takes, and which of them hold here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policies.configuration.kueue.gate_table import GATES, FeatureGate, Here
from policies.model.errors import BadConfiguration
from policies.model.suggestion import close

COUNTERS, CAPACITIES = "KueueDRAIntegrationPartitionableDevices", "KueueDRAIntegrationConsumableCapacity"
DEFAULTS: Mapping[str, bool] = {gate.name: gate.default for gate in GATES}
OF_WEBHOOKS: Mapping[str, bool] = {gate.name: gate.default for gate in GATES if gate.webhooks}
"""The gates that Kueue's webhooks read; an administrator sets them in Quotree's own Configuration."""
_BY_NAME: Mapping[str, FeatureGate] = {gate.name: gate for gate in GATES}


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """`chosen` are those that somebody set; the others have their defaults here."""

    chosen: Mapping[str, bool] = field(default_factory=dict)

    def enabled(self, gate: str, default: bool | None = None) -> bool:
        """`default`: another one than that of the table."""
        return self.chosen.get(gate, DEFAULTS[gate] if default is None else default)


def check_gates(chosen: Mapping[str, bool], at: str = "featureGates") -> None:
    """Check feature gates as Kueue does. Raises BadConfiguration for an unknown or locked gate."""
    for name, value in chosen.items():
        gate = _BY_NAME.get(name)
        if gate is None:
            near = close(name, _BY_NAME)
            hint = f"; did you mean {near!r}?" if near else ""
            raise BadConfiguration(f"unrecognized feature gate: {name}{hint}", f"{at}.{name}")
        if gate.locked and value != gate.on:
            text = f"cannot set feature gate {name} to {_go(value)}, feature is locked to {_go(gate.on)}"
            raise BadConfiguration(text, f"{at}.{name}")


def refuse_unkept(chosen: Mapping[str, bool]) -> None:
    """Check the feature gates. Raises BadConfiguration for a value that the reconciler would not act upon."""
    for name, value in chosen.items():
        gate = _BY_NAME[name]
        if value != gate.on and gate.here is (Here.OFF if value else Here.ON):
            why = gate.why[:1].lower() + gate.why[1:].rstrip(".")
            text = f"the reconciler does not support this: {why}; remove it, or let Kueue's manager do it"
            raise BadConfiguration(text, f"featureGates.{name}")


def idle_gates(chosen: Mapping[str, bool]) -> Iterator[str]:
    """The gates that differ from Kueue's default and have no effect on the reconciler."""
    return (name for name, value in chosen.items() if _BY_NAME[name].here is Here.IDLE and value != _BY_NAME[name].on)


def _go(value: bool) -> str:
    return str(value).lower()
