"""The rules about flavors and checks that a ClusterQueue names and that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, RESOURCE_FLAVOR, ClusterQueue
from policies.dialects.kueue_kinds import ADMISSION_CHECK
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated, ObjectField, kind_field, write_only
from policies.model.objects import GroupKind
from policies.model.suggestion import write_or_create

Named = tuple[str, str]
"""A name, and the path of its field."""


def missing(
    proposal: Proposal, kind: GroupKind, named: Callable[[ClusterQueue], Iterable[Named]]
) -> Iterator[Finding | NotEvaluated]:
    """A finding for each object of `kind` that a changed ClusterQueue names and that does not exist.

    `named`: returns the names in a ClusterQueue.
    """

    unknown = proposal.incomplete(kind)
    firsts: dict[str, ObjectField] = {}  # where each missing name is first: the others follow from this finding
    queues = (queue for _, queue in proposal.changed(ClusterQueue))
    for queue in sorted(queues, key=lambda queue: queue.ref):  # so that the order of documents does not matter
        for name, field in named(queue):
            ref = kind.named(name)
            if not name or proposal.after.get(ref) is not None:
                continue
            if unknown:
                yield unknown
                return
            near = proposal.near(ref)
            first = firsts.setdefault(name, (queue.ref, field))
            yield Finding(
                queue.ref,
                field,
                f"{kind.kind} {name} does not exist; {queue.name} admits nothing until it does",
                fix=write_or_create(kind.kind, name, near),
                subject=name,
                profiles=STRICT_ONLY,
                patch=write_only(field, name, near),
                follows=(kind_field(ref), *(() if first == (queue.ref, field) else (first,))),
                concerns=((ref, ""), (kind.named(near[0]), "")) if near else (),
            )


@rule(
    "admission-check-missing",
    source="Kueue: ClusterQueue condition Active, reason AdmissionCheckNotFound",
    kinds=(CLUSTER_QUEUE,),
    default=Action.WARN,
)
def admission_check_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue uses an AdmissionCheck that does not exist.

    Why it is reported: Kueue then admits nothing from the queue until somebody creates the check. It is a warning,
    since objects may be applied in any order.
    Example: check `bugdet` in `admissionChecksStrategy` where the AdmissionCheck is called `budget`.
    Fix: create the AdmissionCheck, or correct the name.
    """
    yield from missing(
        proposal, ADMISSION_CHECK, lambda queue: ((check.name, check.name_field) for check in queue.checks)
    )


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
        lambda queue: ((flavor.name, flavor.field("name")) for group in queue.groups for flavor in group.flavors),
    )
