from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from policies.dialects.core import namespace_in
from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, ClusterQueue, LocalQueue
from policies.dialects.kueue_jobs import QUEUE_NAME
from policies.dialects.selectors import NAME_OF_NAMESPACE, Requirement
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated, write_only
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.suggestion import KnownNames, did_you_mean
from policies.rules.kueue._submissions import LABELLED, NamedQueues, labelled

SELECTOR = "spec.namespaceSelector"
_VALUES = "spec.namespaceSelector.matchLabels"


@rule(
    "namespace-not-selected",
    source="Kueue: Workload condition QuotaReserved, workload namespace doesn't match ClusterQueue selector",
    kinds=(CLUSTER_QUEUE, LOCAL_QUEUE, *LABELLED),
    default=Action.WARN,
)
def namespace_not_selected(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """The namespaceSelector of a ClusterQueue does not match a namespace from which work is submitted to it.

    Why it is reported: Kueue accepts the LocalQueue and its jobs, and admits none of them until the selector matches
    the labels of the namespace. In files, only the name is known of a namespace without a Namespace object. A
    LocalQueue or job in files without a namespace may be applied in any namespace, and is not judged. If a value in the
    selector is similar to that of the namespaces, the finding is about the selector, and has a suggestion.
    Example: a LocalQueue in namespace `team-a`, and a ClusterQueue that selects `kueue: enabled`, which `team-a` lacks.
    Fix: label the namespace, change the selector, or name another ClusterQueue.
    """
    unsure = False
    yield from _slips(proposal)
    for ref, at, local in _leading(proposal):
        queue = proposal.after.node(local.queue) if local.queue else None
        if isinstance(queue, ClusterQueue) and queue.selector and not queue.selector_faults:
            unmet = _unmet(proposal.after, queue.selector.requirements, local.ref.namespace)
            unsure = unsure or unmet is None
            if unmet:
                yield _finding(ref, at, local, queue, unmet)
    if unsure:
        yield NotEvaluated("not all labels of Namespaces are known")


def _slips(proposal: Proposal) -> Iterator[Finding]:
    """Findings for values of the selector that no namespace with a LocalQueue of the queue has, but that are similar to
    one that they have."""
    for before, queue in proposal.changed(ClusterQueue):
        if queue.selector is None or (before is not None and before.selector == queue.selector):
            continue
        labels = list(_labels(proposal.after, {each.ref.namespace for each in proposal.after.attached(queue.ref)}))
        for wanted in queue.selector.requirements:
            held = {each[wanted.key] for each in labels if wanted.key in each}
            if wanted.operator != "In" or len(wanted.values) != 1 or held & wanted.values:
                continue
            (value,) = wanted.values
            if near := KnownNames(held).near(value):
                yield _slip(queue, wanted, value, near)


def _labels(forest: Forest, names: Iterable[str]) -> Iterator[Mapping[str, str]]:
    for name in names:
        if namespace := namespace_in(forest, name):
            yield {**namespace.labels, NAME_OF_NAMESPACE: name}


def _slip(queue: ClusterQueue, wanted: Requirement, value: str, near: list[str]) -> Finding:
    field = fields.join(SELECTOR, "matchLabels", wanted.key) if wanted.exact else SELECTOR
    return Finding(
        queue.ref,
        field,
        f"requires {wanted}, which no namespace with a LocalQueue of {queue.name} has: nothing is admitted from there",
        fix=did_you_mean([f"{wanted.key}={each}" for each in near]),
        patch=write_only(field, value, near) if wanted.exact else (),
        subject=wanted.key,
        profiles=STRICT_ONLY,
        concerns=((queue.ref, SELECTOR), (queue.ref, _VALUES)),
    )


def _leading(proposal: Proposal) -> Iterator[tuple[Ref, str, LocalQueue]]:
    """Changed objects that send work from a namespace to a ClusterQueue: the object, its field, and the LocalQueue."""
    known = NamedQueues(proposal)
    for _, local in proposal.changed(LocalQueue):
        if not known.may_be_elsewhere(local.ref.namespace):
            yield local.ref, local.queue_field, local
    for each in labelled(proposal):
        name = each.new(QUEUE_NAME)
        named = proposal.after.get(LOCAL_QUEUE.named(name, each.ref.namespace)) if name else None
        if isinstance(named, LocalQueue) and not known.may_be_elsewhere(each.ref.namespace):
            yield each.ref, fields.join(each.at, QUEUE_NAME), named
    judged = {local.ref for _, local in proposal.changed(LocalQueue)}
    for before, queue in proposal.changed(ClusterQueue):
        if before is None or before.selector != queue.selector:
            for there in proposal.after.attached(queue.ref):
                spared = there.ref in judged or known.may_be_elsewhere(there.ref.namespace)
                if isinstance(there, LocalQueue) and not spared:
                    yield queue.ref, SELECTOR, there


def _unmet(forest: Forest, wanted: Iterable[Requirement], name: str) -> list[Requirement] | None:
    """The requirements that the namespace does not meet; None if they depend on unknown labels."""
    if namespace := namespace_in(forest, name):
        return [each for each in wanted if not each.holds({**namespace.labels, NAME_OF_NAMESPACE: name})]
    of_name = [each for each in wanted if each.key == NAME_OF_NAMESPACE]
    unmet = [each for each in of_name if not each.holds({NAME_OF_NAMESPACE: name})]
    return unmet or ([] if of_name == list(wanted) else None)


def _finding(ref: Ref, at: str, local: LocalQueue, queue: ClusterQueue, unmet: Iterable[Requirement]) -> Finding:
    namespace, terms = local.ref.namespace, ",".join(map(str, unmet))
    places = {local.ref: (local.ref, local.queue_field), queue.ref: (queue.ref, SELECTOR)}
    return Finding(
        ref,
        at,
        f"ClusterQueue {queue.name} does not serve namespace {namespace}, since its namespaceSelector requires "
        f"{terms}: nothing is admitted from LocalQueue {local.ref.name}",
        fix=f"label the namespace, or change the namespaceSelector of {queue.name}",
        subject=str(local.ref),
        causes=(Cause(queue.ref, SELECTOR, f"requires {terms}"),) if ref != queue.ref else (),
        profiles=STRICT_ONLY,
        follows=(
            (local.ref, "metadata.namespace"),
            *(place if of != ref else (queue.ref, _VALUES) for of, place in places.items()),
        ),
    )
