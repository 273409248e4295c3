"""The flavors that a pod set may use, regardless of quota.

Source: Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.node_affinity import NodeAffinity, node_affinity
from scheduling.flavors.reasons import (
    FlavorNotAllowed,
    ForTopology,
    Missing,
    Reason,
    TopologyUnknown,
    Unselected,
    Untolerated,
    WithoutLevel,
    WithoutTopology,
)
from scheduling.objects.queue_settings import ClusterQueueSettings, FlavorGroup
from scheduling.objects.requests import per_pod
from scheduling.objects.template import PodTemplate
from scheduling.objects.workload import PodSet, Workload
from scheduling.quota.state import QuotaState
from scheduling.topology.fleet import Fleet
from scheduling.topology.workload_places import request_of


def unsuitable(
    state: QuotaState,
    settings: ClusterQueueSettings,
    group: FlavorGroup,
    name: str,
    workload: Workload,
    pod_sets: Iterable[PodSet],
) -> Reason | None:
    """Why the flavor cannot serve these pod sets; None if it can."""
    allowed = workload.allowed_flavors
    if allowed is not None and name not in allowed:
        return FlavorNotAllowed(name)
    flavor = state.flavors.get(name)
    if flavor is None:
        return Missing(name)
    members = list(pod_sets)
    mismatches = chain(
        (_topology_mismatch(state, settings, group, flavor, pod_set) for pod_set in members),
        (_node_mismatch(flavor, pod_set) for pod_set in members),
    )
    return next((reason for reason in mismatches if reason is not None), None)


def topology_only(state: QuotaState, settings: ClusterQueueSettings) -> bool:
    """Whether all flavors of the ClusterQueue have topologies. Then pod sets without a topology request get places.

    As in Kueue, this is true for a ClusterQueue without flavors, where no pod set can have places.
    """
    if not state.options.topologies:
        return False
    flavors = map(state.flavors.get, settings.flavors)
    return all(flavor is not None and flavor.topology for flavor in flavors)


def _topology_mismatch(
    state: QuotaState, settings: ClusterQueueSettings, group: FlavorGroup, flavor: Flavor, pod_set: PodSet
) -> Reason | None:
    """Why the flavor's topology and the pod set's topology request do not match.

    A flavor without a topology can still serve resources that only a transformation of requests adds.
    """
    if not state.options.topologies:
        return None
    if pod_set.asks_for_topology:
        if flavor.topology and state.fleet is not None:
            return _level_mismatch(state.fleet, flavor, pod_set)
        if flavor.topology or group.resources.isdisjoint(per_pod(pod_set.template)):
            return None
        return WithoutTopology(flavor.name)
    if flavor.topology and not topology_only(state, settings):
        return ForTopology(flavor.name)
    return None


def _level_mismatch(fleet: Fleet, flavor: Flavor, pod_set: PodSet) -> Reason | None:
    known = fleet.flavors.get(flavor.name)
    if known is None:
        return TopologyUnknown(flavor.name)
    return None if request_of(pod_set).has_levels(known.tree.levels) else WithoutLevel(flavor.name)


def _node_mismatch(flavor: Flavor, pod_set: PodSet) -> Reason | None:
    asked = _asked(pod_set.template)
    if flavor.taints:
        taint = asked.untolerated(flavor)
        if taint is not None:
            return Untolerated(flavor.name, taint)
    return None if asked.may_run_on(flavor.labels) else Unselected(flavor.name)


@lru_cache(maxsize=4096)
def _asked(template: PodTemplate) -> NodeAffinity:
    return node_affinity(template.spec)
