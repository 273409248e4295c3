"""Queues of Volcano, PodGroups, and their Pods at the gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from policies.configuration.settings import Configuration, Enforce, VolcanoSettings
from reconciler.controllers.volcano.gate_kinds import WATCHED
from reconciler.controllers.volcano.gates import VolcanoGatesController
from reconciler.core.controller import Controller
from reconciler.core.state import ClusterState
from tests.builders import Manifest
from tests.reconciler.controllers.gates.cluster import GateCluster as AnyGateCluster
from tests.scheduling.volcano.manifests import pod as volcano_pod


class GateCluster(AnyGateCluster):
    configuration = Configuration(volcano=VolcanoSettings(enforce=Enforce.GATES))
    watched = WATCHED
    of_kind: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Pod": ("VolcanoGatedPod",),
        "PodGroup": ("GatedPodGroup",),
        "Queue": ("GatedQueue",),
        "PriorityClass": ("GatedPriorityClass",),
        "Namespace": (),
    }

    def _controllers(self, state: ClusterState) -> list[Controller]:
        self.controller = VolcanoGatesController(state.records)
        return [self.controller]


def pod(name: str, group: str = "g", cpu: str = "1", space: str = "dev") -> Manifest:
    """One for kube-scheduler, which the webhook has not seen yet."""
    made = volcano_pod(name, group, cpu, space)
    del made["spec"]["schedulerName"]
    return made
