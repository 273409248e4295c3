"""Shared by the rules about flavors and checks that a ClusterQueue names and that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from policies.dialects.kueue import ClusterQueue
from policies.judging.proposal import Proposal
from policies.model.cures import write_only
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated, ObjectField, kind_field
from policies.model.objects import GroupKind, Ref
from policies.model.suggestion import write_or_create

Named = tuple[str, str]
"""A name, and the path of its field."""


def missing(
    proposal: Proposal, kind: GroupKind, ref: Callable[[str], Ref], named: Callable[[ClusterQueue], Iterable[Named]]
) -> Iterator[Finding | NotEvaluated]:
    """A finding for each object of `kind` that a changed ClusterQueue names and that does not exist.

    `ref`: returns the Ref for a name.
    `named`: returns the names in a ClusterQueue.
    """

    def exists(name: str) -> bool:
        return proposal.after.get(ref(name)) is not None

    unknown = proposal.unknown(kind)
    firsts: dict[str, ObjectField] = {}  # where each missing name is first: the others follow from this finding
    queues = (queue for _, queue in proposal.changed(ClusterQueue))
    for queue in sorted(queues, key=lambda queue: queue.ref):  # so that the order of documents does not matter
        for name, field in named(queue):
            if not name or exists(name):
                continue
            if unknown:
                yield NotEvaluated(f"not all objects of {kind.kind} are known")
                return
            near = proposal.near(ref(name))
            first = firsts.setdefault(name, (queue.ref, field))
            yield Finding(
                queue.ref,
                field,
                f"{kind.kind} {name} does not exist; {queue.name} admits nothing until it does",
                fix=write_or_create(kind.kind, name, near),
                subject=name,
                profiles=STRICT_ONLY,
                patch=write_only(field, name, near),
                follows=(kind_field(ref(name)), *(() if first == (queue.ref, field) else (first,))),
                concerns=((ref(name), ""), (ref(near[0]), "")) if near else (),
            )
