from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, RESOURCE_FLAVOR, ClusterQueue
from policies.dialects.kueue_kinds import resource_flavor_ref
from policies.nearest import nearest
from policies.proposal import Proposal
from policies.rule import STRICT_ONLY, Action, Finding, NotEvaluated, rule


@rule(
    "flavor-missing",
    source="Kueue: ClusterQueue condition Active, reason FlavorNotFound",
    kinds=(CLUSTER_QUEUE,),
    default=Action.WARN,
)
def flavor_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue has quota in a ResourceFlavor that does not exist.

    Why it is reported: Kueue then admits nothing from the whole queue, for its other flavors neither, until somebody
    creates the flavor. It is a warning, since things may be applied in any order.
    Example: flavor `sopt` in a resource group where the ResourceFlavor is called `spot`.
    Fix: create the ResourceFlavor, or correct the name.
    """
    unknown = proposal.unknown(RESOURCE_FLAVOR)
    for _, queue in proposal.changed(ClusterQueue):
        for flavor in (flavor for group in queue.groups for flavor in group.flavors):
            if not flavor.name or proposal.after.get(resource_flavor_ref(flavor.name)) is not None:
                continue
            if unknown:
                yield NotEvaluated("not all objects of ResourceFlavor are known")
                return
            near = nearest(flavor.name, lambda name: proposal.after.get(resource_flavor_ref(name)) is not None)
            yield Finding(
                queue.ref,
                flavor.field("name"),
                f"ResourceFlavor {flavor.name} does not exist; nothing is admitted by {queue.name} until it does",
                fix=f"write {near} if that was meant" if near else f"create ResourceFlavor {flavor.name}",
                subject=flavor.name,
                profiles=STRICT_ONLY,
            )
