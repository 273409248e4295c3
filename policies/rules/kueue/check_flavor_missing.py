from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, joined_list, list_of_spec
from policies.cel.kueue import GROUPS
from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding, Profile

_CEL = joined_list("""\
variables.checks.map(c, c.?onFlavors.orValue([]).filter(name,
  !variables.groups.exists(g, g.?flavors.orValue([]).exists(f, f.name == name))
  && !(variables.old_checks.exists(d, d.name == c.name && name in d.?onFlavors.orValue([]))
    && !variables.old_groups.exists(g, g.?flavors.orValue([]).exists(f, f.name == name)))
).map(name, 'admission check ' + c.name + ' runs on flavor ' + name
  + ', which is not a flavor of this queue').join('; '))""")
_VARIABLES = (*GROUPS, *list_of_spec("checks", "admissionChecksStrategy", "admissionChecks"))


@rule(
    "check-flavor-missing",
    source="Kueue: webhook of ClusterQueue",
    kinds=(CLUSTER_QUEUE,),
    alone=True,
    cel=[Expression((CLUSTER_QUEUE,), _CEL, _VARIABLES)],
)
def check_flavor_missing(proposal: Proposal) -> Iterator[Finding]:
    """An admission check of a ClusterQueue names a flavor that the ClusterQueue does not have.

    Why it is refused: workloads get one of the queue's own flavors, so the check never runs for that name. A budget
    that it should check, for example, is then not checked, without any message.
    Example: `onFlavors: [spot]` where the flavors of the queue are `on-demand` and `reserved`.
    Fix: write a flavor of this ClusterQueue in onFlavors, or add the flavor to a resource group.
    """
    for before, queue in proposal.changed(ClusterQueue):
        flavors = _flavors(queue)
        known = ", ".join(sorted(flavors)) or "none"
        old_flavors = _tolerated(proposal, before, flavors)
        for check in queue.checks:
            if old_flavors.get(check.name) == set(check.on_flavors):
                continue
            for index, name in enumerate(check.on_flavors):
                if name not in flavors:
                    yield Finding(
                        queue.ref,
                        fields.join(check.field, index),
                        f"admission check {check.name} runs on flavor {name}, which is not one of this queue's "
                        f"flavors: {known}",
                        fix="name a flavor of this ClusterQueue, or add the flavor to one of its resource groups",
                        subject=f"{check.name} {name}",
                    )


def _tolerated(proposal: Proposal, before: ClusterQueue | None, flavors: set[str]) -> dict[str, set[str]]:
    """For each check, the missing flavors that Kueue accepts in an update, since the queue lacked them before.

    It accepts none if the flavors of the queue change. The profile `strict` accepts none.
    """
    rejects = proposal.configuration.kueue.enabled("RejectUpdatesToCQWithInvalidOnFlavors")
    if before is None or rejects or proposal.configuration.profile is Profile.STRICT or _flavors(before) != flavors:
        return {}
    return {check.name: set(check.on_flavors) for check in before.checks}


def _flavors(queue: ClusterQueue) -> set[str]:
    return {flavor.name for group in queue.groups for flavor in group.flavors}
