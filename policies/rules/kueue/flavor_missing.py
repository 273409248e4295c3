from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, RESOURCE_FLAVOR
from policies.dialects.kueue_kinds import resource_flavor_ref
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Action, Finding, NotEvaluated
from policies.rules.kueue._named_by_queue import missing


@rule(
    "flavor-missing",
    source="Kueue: ClusterQueue condition Active, reason FlavorNotFound",
    kinds=(CLUSTER_QUEUE,),
    default=Action.WARN,
)
def flavor_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue has quota in a ResourceFlavor that does not exist.

    Why it is reported: the whole queue admits nothing until the flavor exists, not even in its other flavors. It is a
    warning, since objects may be applied in any order.
    Example: flavor `sopt` in a resource group where the ResourceFlavor is called `spot`.
    Fix: create the ResourceFlavor, or correct the name.
    """
    yield from missing(
        proposal,
        RESOURCE_FLAVOR,
        resource_flavor_ref,
        lambda queue: ((flavor.name, flavor.field("name")) for group in queue.groups for flavor in group.flavors),
    )
