from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_checks import WrittenTopology
from policies.dialects.kueue_flavor import ResourceFlavor
from policies.dialects.kueue_kinds import RESOURCE_FLAVOR, TOPOLOGY
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.suggestion import KnownNames, did_you_mean
from policies.rules.kueue._topologies import known_nodes, nodes_of


@rule(
    "topology-level-unlabelled",
    source="Kueue: Topology, a Node without all labels of the levels is in no domain",
    kinds=(TOPOLOGY, RESOURCE_FLAVOR),
    default=Action.WARN,
)
def topology_level_unlabelled(proposal: Proposal) -> Iterator[Finding]:
    """No Node has the label of a Topology level, or no Node of a flavor has the labels of all levels.

    Why it is reported: Kueue ignores a Node that lacks one of the labels. Without a Node that has all of them, nothing
    is admitted to the flavors of this Topology, and no condition reports it. Nothing is reported if the Nodes are not
    known: the webhook does not read them, and files are judged only if they have Nodes.
    Example: the level `example.com/rak`, but the Nodes have `example.com/rack`.
    Fix: write the label that the Nodes have, or label the Nodes.
    """
    if not proposal.configuration.kueue.enabled("TopologyAwareScheduling"):
        return
    topologies = [each for _, each in proposal.changed(WrittenTopology)]
    flavors = [each for _, each in proposal.changed(ResourceFlavor) if each.flavor.topology]
    nodes = known_nodes(proposal) if topologies or flavors else []
    labels = KnownNames({label for node in nodes for label in node.labels})
    lacking: set[str] = set()
    for topology in topologies if nodes else ():
        for index, level in enumerate(topology.levels):
            if not any(level in node.labels for node in nodes):
                near = labels.near(level)
                lacking.add(topology.ref.name)
                yield Finding(
                    topology.ref,
                    fields.join("spec.levels", index, "nodeLabel"),
                    f"none of the {len(nodes)} Nodes has the label {level}, so the Topology has no domains",
                    fix=did_you_mean(near) if near else f"label the Nodes, or remove the level {level}",
                    subject=level,
                    profiles=STRICT_ONLY,
                )
    for each in flavors if nodes else ():
        found = proposal.after.get(TOPOLOGY.named(each.flavor.topology or ""))
        if not isinstance(found, WrittenTopology) or found.ref.name in lacking:
            continue
        if not nodes_of(nodes, each.flavor, found.levels):
            selected = len(nodes_of(nodes, each.flavor, ()))
            yield Finding(
                each.ref,
                "spec.topologyName",
                f"its nodeLabels select {selected} of {len(nodes)} Nodes, and none of these has the labels of all "
                f"levels of Topology {found.ref.name} ({', '.join(found.levels)}); nothing is admitted to the flavor",
                fix="label its Nodes, or correct spec.nodeLabels of the flavor",
                subject=found.ref.name,
                profiles=STRICT_ONLY,
            )
