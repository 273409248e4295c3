from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from policies.dialects.cluster_node import ClusterNode
from policies.dialects.kueue import WORKLOAD, ClusterQueue
from policies.dialects.kueue_checks import MULTIKUEUE, WrittenTopology
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.kueue_jobs import KINDS
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding
from policies.model.objects import Ref
from policies.rules.kueue._submissions import RequestedPodSet, Submission, flavors_of, queue_of, submissions
from policies.rules.kueue._topologies import NodeDomain, known_nodes, largest, nodes_of, topologies_of
from policies.rules.kueue.multikueue_checks import run_by


@rule(
    "topology-domain-too-small",
    source="Kueue: Workload condition QuotaReserved, topology doesn't allow to fit",
    kinds=(WORKLOAD, *KINDS),
    default=Action.WARN,
)
def topology_domain_too_small(proposal: Proposal) -> Iterator[Finding]:
    """More pods must run in one topology domain than the largest domain has room for, even without other work.

    Why it is reported: Kueue accepts the job and lets it wait until Nodes are added. The pods of each required level
    and of each slice are compared with the domain of that level that has the most room: the most allocatable resources
    that the queue covers. Taints, cordons and other Pods are not considered. Nothing is reported if the Nodes are not
    known: the webhook does not read them, and files are judged only if they have Nodes.
    Example: `podset-required-topology: example.com/rack` for 16 pods of 8 GPUs, where a rack has 8 hosts of 8 GPUs.
    Fix: require a wider level, such as the block, write smaller slices, or request less.
    """
    if not proposal.configuration.kueue.enabled("TopologyAwareScheduling"):
        return
    with_levels = [each for each in submissions(proposal) if any(pod_set.units for pod_set in each.pod_sets)]
    nodes = known_nodes(proposal) if with_levels else []
    for submitted in with_levels if nodes else ():
        queue = queue_of(proposal.after, submitted)
        if queue is not None and not run_by(proposal, queue, MULTIKUEUE):
            yield from _findings(proposal, submitted, queue, nodes)


class _LargestDomain(NamedTuple):
    """The largest domain of a flavor, and the label of its level."""

    topology: Ref
    domain: NodeDomain
    level: str

    def __str__(self) -> str:
        topology = f"Topology {self.topology.name}"
        if not self.domain.values:
            return f"no Node has the labels of all levels of {topology}"
        return f"{self.level} {'/'.join(self.domain.values)} of {topology} has room for {self.domain.room}"


def _findings(
    proposal: Proposal, submitted: Submission, queue: ClusterQueue, nodes: Iterable[ClusterNode]
) -> Iterator[Finding]:
    flavors, topologies = flavors_of(proposal.after, queue), topologies_of(proposal, queue)
    if flavors is None or topologies is None:
        return
    for pod_set in submitted.pod_sets:
        for field, level, pods in pod_set.units:
            for covered in queue.in_force:
                requests = {name: pod_set.of_one_pod.get(name, 0) for name in covered.covered_resources}
                wanted = {name: amount for name, amount in requests.items() if amount}
                usable = [(flavors[each.name], topologies[each.name]) for each in covered.flavors] if wanted else []
                short = list(_largest(usable, nodes, level, wanted))
                if short and all(each.domain.room < pods for each in short):
                    yield _finding(submitted, pod_set, queue, field, level, pods, short)
                    break


def _largest(
    flavors: Iterable[tuple[Flavor, WrittenTopology | None]],
    nodes: Iterable[ClusterNode],
    level: str,
    requests: Mapping[str, int],
) -> Iterator[_LargestDomain]:
    """The largest domain of this level in each of these flavors that has the level."""
    for flavor, topology in flavors:
        if topology is not None and level in topology.levels:
            levels = topology.levels[: topology.levels.index(level) + 1]
            yield _LargestDomain(
                topology.ref, largest(nodes_of(nodes, flavor, topology.levels), levels, requests), level
            )


def _finding(
    submitted: Submission,
    pod_set: RequestedPodSet,
    queue: ClusterQueue,
    field: str,
    level: str,
    pods: int,
    short: list[_LargestDomain],
) -> Finding:
    most = max(each.domain.room for each in short)
    return Finding(
        submitted.ref,
        field,
        f"pod set {pod_set.name} needs room for {pods} pod{'s' * (pods > 1)} in one domain of {level}, and "
        f"ClusterQueue {queue.name} has no such domain, even without other work: {', '.join(map(str, short))}",
        fix=f"let {most} pods or fewer share a domain, require a wider level, or request less for each pod"
        if most
        else "require a wider level, or request less for each pod",
        subject=f"{pod_set.name} {level}",
        excess=pods - most,
        causes=tuple(Cause(each.topology, "spec.levels", str(each)) for each in short),
        profiles=STRICT_ONLY,
    )
