"""The settings of a simulation: the parts of Kueue's Configuration that the engine uses."""

from __future__ import annotations

from dataclasses import dataclass, field

from policies.configuration.kueue.gates import FeatureGates
from policies.configuration.kueue.reading import read
from policies.dialects.reading import Manifest
from scheduling.objects.order import Ordering
from scheduling.objects.pod_sets import ALL_REQUESTS, RequestGates
from scheduling.objects.requests import DEFAULT, Counting
from scheduling.quota.state import Options
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.topology.placing import DEFAULT_GATES, TopologyGates
from scheduling.world.kueue_configuration import (
    counting_of,
    options_of,
    ordering_of,
    requests_of,
    topology_gates_of,
    waiting_of,
)


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """The settings of a simulation.

    waiting: waitForPodsReady; None if there is no timeout.
    topologies: how pods are placed in topologies; None if they are not placed.
    requests: how topologyRequests of jobs are made.
    unplayed: the sections of the configuration that are not simulated.
    """

    options: Options = field(default_factory=Options)
    ordering: Ordering = field(default_factory=Ordering)
    counting: Counting = DEFAULT
    waiting: WaitForPodsReady | None = None
    topologies: TopologyGates | None = DEFAULT_GATES
    requests: RequestGates = ALL_REQUESTS
    unplayed: tuple[str, ...] = ()


def read_settings(manifest: Manifest, gates: FeatureGates, *, compat: bool = False) -> SimulationSettings:
    """Read the settings from Kueue's Configuration, which may be empty. Its featureGates take precedence over `gates`.

    Raises BadConfiguration with the path of the key.
    """
    found = read(manifest, gates)
    return SimulationSettings(
        options_of(found, compat=compat),
        ordering_of(found),
        counting_of(found),
        waiting_of(found),
        topology_gates_of(found),
        requests_of(found.gates),
        tuple(section for section in ("admissionFairSharing", "multiKueue") if section in found.sections),
    )
