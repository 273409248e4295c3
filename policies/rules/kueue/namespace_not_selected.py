from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.dialects.core import NAMESPACE, Namespace
from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, ClusterQueue, LocalQueue, local_queue_ref
from policies.dialects.kueue_jobs import QUEUE_NAME
from policies.dialects.selectors import NAME_OF_NAMESPACE, Requirement
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.rules.kueue._submissions import LABELLED, NamedQueues, labelled

SELECTOR = "spec.namespaceSelector"


@rule(
    "namespace-not-selected",
    source="Kueue: Workload condition QuotaReserved, workload namespace doesn't match ClusterQueue selector",
    kinds=(CLUSTER_QUEUE, LOCAL_QUEUE, *LABELLED),
    default=Action.WARN,
)
def namespace_not_selected(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """The namespaceSelector of a ClusterQueue does not match a namespace from which work is submitted to it.

    Why it is reported: Kueue accepts the LocalQueue and its jobs, and admits none of them until the selector matches
    the labels of the namespace. In files, a namespace without a Namespace object is known by its name alone. A
    LocalQueue or a job in files without a namespace may be applied in any, and is not judged.
    Example: a LocalQueue in namespace `team-a`, and a ClusterQueue that selects `kueue: enabled`, which `team-a` lacks.
    Fix: label the namespace, change the selector, or name another ClusterQueue.
    """
    unsure = False
    for ref, at, local in _leading(proposal):
        queue = proposal.after.node(local.queue) if local.queue else None
        if isinstance(queue, ClusterQueue) and queue.selector and not queue.selector_faults:
            unmet = _unmet(proposal.after, queue.selector.requirements, local.ref.namespace)
            unsure = unsure or unmet is None
            if unmet:
                yield _finding(ref, at, local, queue, unmet)
    if unsure:
        yield NotEvaluated("not all labels of Namespaces are known")


def _leading(proposal: Proposal) -> Iterator[tuple[Ref, str, LocalQueue]]:
    """What leads work from a namespace to a ClusterQueue, where that changes: the object, its field, the LocalQueue."""
    known = NamedQueues(proposal)
    for _, local in proposal.changed(LocalQueue):
        if not known.may_be_elsewhere(local.ref.namespace):
            yield local.ref, local.queue_field, local
    for each in labelled(proposal):
        name = each.new(QUEUE_NAME)
        named = proposal.after.get(local_queue_ref(each.ref.namespace, name)) if name else None
        if isinstance(named, LocalQueue) and not known.may_be_elsewhere(each.ref.namespace):
            yield each.ref, fields.join(each.at, QUEUE_NAME), named
    for before, queue in proposal.changed(ClusterQueue):
        if before is not None and before.selector != queue.selector:
            for there in proposal.after.attached(queue.ref):
                if isinstance(there, LocalQueue) and not known.may_be_elsewhere(there.ref.namespace):
                    yield queue.ref, SELECTOR, there


def _unmet(forest: Forest, wanted: Iterable[Requirement], name: str) -> list[Requirement] | None:
    """What the namespace does not meet; None where that depends on labels that nobody knows."""
    namespace = forest.get(Ref(*NAMESPACE, "", name))
    if isinstance(namespace, Namespace):
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
        f"ClusterQueue {queue.name} does not serve namespace {namespace}, since its namespaceSelector asks for "
        f"{terms}: nothing is admitted from LocalQueue {local.ref.name}",
        fix=f"label the namespace, or change the namespaceSelector of {queue.name}",
        subject=str(local.ref),
        causes=(Cause(queue.ref, SELECTOR, f"asks for {terms}"),) if ref != queue.ref else (),
        profiles=STRICT_ONLY,
        follows=(
            (local.ref, "metadata.namespace"),
            *(place for of, place in places.items() if of != ref),
        ),
    )
