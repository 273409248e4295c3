from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_checks import WrittenTopology
from policies.dialects.kueue_flavor import ResourceFlavor
from policies.dialects.kueue_kinds import RESOURCE_FLAVOR, TOPOLOGY
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated, kind_field, write_only
from policies.model.suggestion import write_or_create
from policies.rules.kueue._submissions import NamedQueues

_FIELD = "spec.topologyName"


@rule(
    "topology-missing",
    source="Kueue: ClusterQueue condition Active, reason TopologyNotFound",
    kinds=(RESOURCE_FLAVOR,),
    default=Action.WARN,
)
def topology_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ResourceFlavor names a Topology that does not exist.

    Why it is reported: every ClusterQueue with this flavor admits nothing until the Topology exists, not even in its
    other flavors. It is a warning, since objects may be applied in any order. Files are judged only if they have a
    Topology.
    Example: `topologyName: racks` where the Topology is called `rack`.
    Fix: create the Topology. If the name is wrong, delete the flavor and create it with the right name, since
    `topologyName` cannot be changed.
    """
    if not proposal.configuration.kueue.enabled("TopologyAwareScheduling"):
        return
    for before, flavor in proposal.changed(ResourceFlavor):
        name = flavor.flavor.topology
        if not name or proposal.after.get(TOPOLOGY.named(name)) is not None:
            continue
        if missing := proposal.incomplete(TOPOLOGY):
            yield missing
            return
        if NamedQueues(proposal).of_files and not proposal.holds(WrittenTopology):
            yield NotEvaluated("the files have no Topology, so the topologies of flavors cannot be checked")
            return
        wanted = TOPOLOGY.named(name)
        near = proposal.near(wanted)
        fix, patch = write_or_create(TOPOLOGY.kind, name, near), write_only(_FIELD, name, near)
        if before is not None and before.flavor.topology == name:
            fix, patch = f"create Topology {name}, or delete the flavor and create it with the right name", ()
        yield Finding(
            flavor.ref,
            _FIELD,
            f"Topology {name} does not exist; ClusterQueues with this flavor admit nothing until it does",
            fix=fix,
            patch=patch,
            subject=name,
            profiles=STRICT_ONLY,
            follows=(kind_field(wanted),),
        )
