from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from policies.dialects import yunikorn
from policies.dialects.core import CONFIG_MAP, NAMESPACE, Namespace
from policies.dialects.yunikorn_config.configmap import ConfiguredQueues, tree
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Partition, Problem, Resources, amounts
from policies.dialects.yunikorn_config.placement import OpenPartition, ReportedApplication, placed
from policies.dialects.yunikorn_config.quotas import queue_amount, written_text
from policies.dialects.yunikorn_config.resources import over
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated
from policies.model.printing import listed
from policies.rules.yunikorn._namespace_shares import declared, had, highest_quotas, members
from policies.rules.yunikorn._queue_config import finding, partition, place_in, tags, trees, unfiltered

_NAMED = 10  # the most namespaces that a message lists, the highest quota first


@rule(
    "namespace-quota-exceeds-queue",
    source="YuniKorn: queue validation, max and guaranteed within the parent's; not done for namespaces there",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def namespace_quota_exceeds_queue(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Namespace has a higher quota or guarantee than an ancestor of its queue.

    Why it is refused: the placement rules create a queue for the namespace, and its ancestors limit it. A quota or
    guarantee above their max can never be used, and a guarantee above that of the parent cannot be kept. YuniKorn
    refuses the same in queues.yaml, but never checks namespaces. Each namespace is judged alone;
    `namespaces-guaranteed-exceed-queue` adds up several. Annotations do not count for a queue that queues.yaml
    declares. If the queues change, they are compared with the quotas of the namespaces below them.
    Example: `namespace.quota: '{"cpu":"20"}'` below a queue with `max: {vcore: 10}`.
    Fix: lower the annotation to what the queue has, or raise the queue's max or guarantee.
    """
    yield from _of_queues(proposal)
    version = proposal.configuration.yunikorn.version
    changed = [
        (namespace, quota, guaranteed)
        for _, written in proposal.changed(Namespace)
        for namespace in [yunikorn.as_read(written, version)]
        for quota, guaranteed in [(yunikorn.quota(namespace), yunikorn.guaranteed(namespace))]
        if quota or guaranteed
    ]
    queues = partition(proposal) if changed else None
    if queues is None or isinstance(queues, NotEvaluated):
        yield from [queues] if queues else []
        return
    source = tree(proposal.after, proposal.configuration.yunikorn.namespace)
    for namespace, quota, guaranteed in changed:
        above = _above(queues, namespace)
        quotas = yunikorn.written_amounts(yunikorn.quota_texts(namespace) or {})
        guarantees = yunikorn.written_amounts(yunikorn.guaranteed_texts(namespace) or {})
        for queue in above:
            yield from _over(namespace, None, quota, quotas, queue, queue.maximum, "max", source)
            yield from _over(
                namespace, yunikorn.GUARANTEED, guaranteed, guarantees, queue, queue.maximum, "max", source
            )
        for queue in above[-1:]:
            limit = queue.guaranteed
            yield from _over(namespace, yunikorn.GUARANTEED, guaranteed, guarantees, queue, limit, "guaranteed", source)


def _of_queues(proposal: Proposal) -> Iterator[Finding]:
    """Findings for each written max that is less than the quota of namespaces below it."""
    for written_tree in trees(proposal):
        known = declared(written_tree.text) if written_tree.text else None
        if known is None or written_tree.ref.namespace != proposal.configuration.yunikorn.namespace:
            continue
        excessive: dict[tuple[str, str], ConfiguredQueue] = {}
        for path, quotas in highest_quotas(proposal.after, written_tree.text or ""):
            for queue in known.above(path):
                most = amounts(queue.maximum)
                for kind in over(quotas, most) if any(most.values()) else ():
                    excessive[queue.path, kind] = queue
        for (_, kind), queue in sorted(excessive.items(), key=lambda item: item[0]):
            problem = _below_quotas(proposal, written_tree, queue, kind)
            if problem is not None:
                yield finding(written_tree, problem)


def _below_quotas(
    proposal: Proposal, written_tree: ConfiguredQueues, queue: ConfiguredQueue, kind: str
) -> Problem | None:
    text = written_tree.text or ""
    limit = (queue.maximum or {})[kind]
    version = proposal.configuration.yunikorn.version
    higher: list[tuple[int, str]] = []
    for ref, _ in members(proposal.after, text, queue):
        namespace = proposal.after.get(ref)
        quota = yunikorn.quota(yunikorn.as_read(namespace, version)) if isinstance(namespace, Namespace) else None
        if quota and quota.get(kind, 0) > (limit.value or 0):
            higher.append((-quota[kind], ref.name))
    if not higher:
        return None
    first = [f"{name} {queue_amount(kind, -amount)}" for amount, name in nsmallest(_NAMED, higher)]
    highest = -min(higher)[0]
    enough = had(proposal.before, written_tree.ref.namespace, queue, "max").get(kind, 0) >= highest
    wanted = queue_amount(kind, highest)
    return Problem(
        limit.written.field,
        limit.written.line,
        f"the max of {queue.path} is {kind}={limit.written.text}, less than the quota of namespaces below it "
        f"({listed(first, len(higher))})",
        f"{f'keep it at {wanted} or more' if enough else f'raise it to {wanted}'}, or lower the quotas of these "
        "namespaces first",
        f"{queue.path} max {kind} of namespaces",
        highest - (limit.value or 0),
        accepted=True,
        concerns=(limit.written.field,),
    )


def _above(queues: Partition, namespace: Namespace) -> list[ConfiguredQueue]:
    """The declared ancestors of the queue that the rules create for the namespace, without root, the nearest last."""
    rules = [unfiltered(rule) for rule in queues.rules]
    placement = placed(rules, OpenPartition(queues), ReportedApplication(tags=tags(namespace)))
    if not placement.created:
        return []
    steps = placement.queue.split(".")
    found = [queues.queue(".".join(steps[:length])) for length in range(2, len(steps))]
    return [queue for queue in found if queue is not None]


def _over(
    namespace: Namespace,
    key: str | None,
    wanted: yunikorn.Resource | None,
    texts: dict[str, tuple[str, str]],
    queue: ConfiguredQueue,
    limit: Resources | None,
    what: str,
    source: ConfiguredQueues,
) -> Iterator[Finding]:
    most = amounts(limit)
    if not wanted or not any(most.values()):
        return  # only zeros mean no limit
    for kind in sorted(kind for kind in wanted if kind in most and wanted[kind] > most[kind]):
        resource, text = texts[kind]
        held = written_text(limit, kind)
        field = yunikorn.field(key or yunikorn.quota_key(namespace, resource))
        # the place of the finding about the same fault at the queue
        said_there = place_in(source, (limit or {})[kind].written.field)
        yield Finding(
            namespace.ref,
            field,
            f"{resource}={text} is more than queue {queue.path} has: its {what} is {kind}={held}",
            fix=f"lower {resource} to what {kind}={held} allows, or raise the {what} of {queue.path}",
            subject=f"{kind} {what} of {queue.path}",
            excess=wanted[kind] - most[kind],
            profiles=STRICT_ONLY,
            follows=((namespace.ref, field),) if key else (said_there,),
        )
