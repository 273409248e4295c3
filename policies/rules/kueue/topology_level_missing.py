from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, WORKLOAD, ClusterQueue
from policies.dialects.kueue_checks import MULTIKUEUE, WrittenTopology
from policies.dialects.kueue_jobs import KINDS
from policies.dialects.kueue_kinds import TOPOLOGY
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.suggestion import KnownNames, did_you_mean
from policies.rules.kueue._submissions import RequestedPodSet, Submission, queue_of, submissions
from policies.rules.kueue._topologies import topologies_of
from policies.rules.kueue.multikueue_checks import run_by

_LISTED = 4
"""The most Topologies that a message names."""


@rule(
    "topology-level-missing",
    source="Kueue: Workload condition QuotaReserved, flavor does not contain the requested level",
    kinds=(WORKLOAD, *KINDS),
    default=Action.WARN,
)
def topology_level_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """The pods of a Workload or a job request a topology level that no flavor of their ClusterQueue has.

    Why it is reported: Kueue accepts the job and lets it wait. One flavor must have a Topology with all levels that a
    pod set names: the required or preferred one and those of its slices. Pods that may run anywhere in a topology need
    a flavor with a Topology. Nothing is reported while a flavor or a Topology does not exist. Queues of MultiKueue are
    not judged, since worker clusters place their pods.
    Example: `podset-required-topology: example.com/rak` where the Topology has the level `example.com/rack`.
    Fix: correct the level, or submit to a queue with a flavor of such a Topology.
    """
    if not proposal.configuration.kueue.enabled("TopologyAwareScheduling"):
        return
    for submitted in submissions(proposal):
        if not any(pod_set.levels for pod_set in submitted.pod_sets):
            continue
        queue = queue_of(proposal.after, submitted)
        of_flavors = None if queue is None else topologies_of(proposal, queue)
        if queue is not None and of_flavors is not None:
            if not run_by(proposal, queue, MULTIKUEUE):
                yield from _findings(submitted, queue, of_flavors)
        elif missing := proposal.incomplete(LOCAL_QUEUE, CLUSTER_QUEUE, RESOURCE_FLAVOR, TOPOLOGY):
            yield missing
            return


def _findings(
    submitted: Submission, queue: ClusterQueue, of_flavors: Mapping[str, WrittenTopology | None]
) -> Iterator[Finding]:
    for pod_set in submitted.pod_sets:
        for group in queue.in_force:
            asked = [resource for resource in group.covered_resources if resource in pod_set.requests]
            topologies = {each.ref: each for flavor in group.flavors if (each := of_flavors[flavor.name]) is not None}
            wanted = {level for _, level in pod_set.levels if level}
            has = any(wanted.issubset(each.levels) for each in topologies.values())
            if asked and pod_set.levels and not has:
                yield _finding(submitted, pod_set, queue, list(topologies.values()), ", ".join(asked))


def _finding(
    submitted: Submission, pod_set: RequestedPodSet, queue: ClusterQueue, topologies: list[WrittenTopology], asked: str
) -> Finding:
    known = {level for each in topologies for level in each.levels}
    field, level = next((each for each in pod_set.levels if each[1] not in known), pod_set.levels[0])
    wanted = list(dict.fromkeys(name for _, name in pod_set.levels if name))
    requests = f"the level{'s' * (len(wanted) > 1)} {' and '.join(wanted)}" if wanted else "a topology"
    have = ", ".join(f"{each.ref.name} has {', '.join(each.levels) or 'none'}" for each in topologies[:_LISTED])
    fix = "write a level that one of them has, or submit to another queue"
    if not topologies:
        have = "none has a Topology"
        fix = "submit to a queue with a flavor that has a Topology, or remove the request"
    elif near := KnownNames(known).near(level):
        fix = did_you_mean(near)
    return Finding(
        submitted.ref,
        field,
        f"pod set {pod_set.name} requests {requests}, which no flavor for {asked} in ClusterQueue {queue.name} has "
        f"({have}); it waits until one has",
        fix=fix,
        subject=asked,
        causes=tuple(Cause(each.ref, "spec.levels", f"has {', '.join(each.levels)}") for each in topologies[:_LISTED]),
        profiles=STRICT_ONLY,
    )
