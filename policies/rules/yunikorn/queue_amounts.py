"""The rules about the amounts in queues.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.odd_amounts import odd_in_yunikorn
from policies.dialects.yunikorn_config.checking import throughout
from policies.dialects.yunikorn_config.model import Config, ConfiguredQueue, Problem
from policies.dialects.yunikorn_config.quotas import (
    applications_above_queue,
    guaranteed_above_max,
    guaranteed_above_queue,
    max_above_parent,
)
from policies.dialects.yunikorn_config.settings import quota_without_effect
from policies.judging.rule import Proposal, rule
from policies.model.findings import Action, Finding
from policies.rules.yunikorn._queue_config import findings, queue_findings


@rule(
    "queue-guaranteed-exceeds-max",
    source="YuniKorn: validation of queues.yaml, guaranteed within max",
    kinds=(CONFIG_MAP,),
)
def queue_guaranteed_exceeds_max(proposal: Proposal) -> Iterator[Finding]:
    """A queue of YuniKorn is guaranteed more of a resource than its own max.

    Why it is refused: the part above the max can never be used, and YuniKorn refuses the configuration. YuniKorn does
    not check child templates, whose amounts every dynamic queue below gets. A resource that only one of the two names
    is allowed.
    Example: `guaranteed: {vcore: 5}` and `max: {vcore: 4}`.
    Fix: lower the guarantee to 4, or raise the max to 5.
    """
    yield from queue_findings(proposal, guaranteed_above_max)


@rule(
    "child-max-exceeds-parent-max",
    source="YuniKorn: validation of queues.yaml, max within the max of ancestors",
    kinds=(CONFIG_MAP,),
)
def child_max_exceeds_parent_max(proposal: Proposal) -> Iterator[Finding]:
    """A queue of YuniKorn has a higher max than one of its ancestors.

    Why it is refused: the ancestor limits the work first, so the higher max can never be reached. YuniKorn refuses the
    configuration. The smallest max of all ancestors counts, not only that of the parent. A resource that an ancestor
    does not name is unlimited there. The max of several children may add up to more than that of the queue. Child
    templates are checked as well, which YuniKorn does not do.
    Example: `root.eng` with `max: {memory: 10G}` and `root.eng.ml` with `max: {memory: 12G}`.
    Fix: lower the max of `root.eng.ml` to 10G, or raise that of `root.eng` first.
    """
    yield from queue_findings(proposal, max_above_parent)


@rule(
    "children-guaranteed-exceed-queue",
    source="YuniKorn: validation of queues.yaml, sums of guaranteed",
    kinds=(CONFIG_MAP,),
)
def children_guaranteed_exceed_queue(proposal: Proposal) -> Iterator[Finding]:
    """The children of a queue of YuniKorn are guaranteed more than the queue itself has.

    Why it is refused: guarantees that the queue does not have cannot all be kept. The children's sum must stay within
    the queue's guarantee, for the resources that it names, and within the smallest max on its path. A child without a
    guarantee counts with the sum of its own children. YuniKorn misses one case: if a queue in between guarantees one
    resource, YuniKorn ignores the guarantees of its children for other resources.
    Example: `root.eng` with `guaranteed: {memory: 100G}`; its children with 60G and 50G.
    Fix: lower a child's guarantee by 10G, or raise that of `root.eng` to 110G.
    """
    yield from queue_findings(proposal, guaranteed_above_queue)


@rule(
    "child-applications-exceed-queue",
    source="YuniKorn: validation of queues.yaml, maxapplications",
    kinds=(CONFIG_MAP,),
)
def child_applications_exceed_queue(proposal: Proposal) -> Iterator[Finding]:
    """A YuniKorn queue has a higher `maxapplications` than its parent, or none.

    Why it is refused: YuniKorn refuses the configuration. Each child of a queue with `maxapplications` needs one that
    is not larger. A child without one has no limit.
    Example: `root.eng` with `maxapplications: 4`, its child `ml` has none.
    Fix: give `ml` a `maxapplications` from 1 to 4.
    """
    yield from queue_findings(proposal, applications_above_queue)


@rule("queue-quota-without-effect", source="YuniKorn: queue quota at run time; not checked there", kinds=(CONFIG_MAP,))
def queue_quota_without_effect(proposal: Proposal) -> Iterator[Finding]:
    """A queue of YuniKorn has a quota that limits nothing.

    Why it is refused: the limit looks effective but is not. YuniKorn drops a max with only zeros, so a queue that
    should be closed has no limit. It counts CPU as `vcore`, so a limit of `cpu` limits nothing. It ignores the
    amounts of every queue with the name `root`, even below the root.
    Example: `max: {memory: 0}`, or `max: {cpu: 4}`.
    Fix: close the queue with an ACL or with maxapplications. Write `max: {vcore: 4}`.
    """
    yield from findings(proposal, quota_without_effect)


@rule(
    "queue-amount-implausible",
    source="Quotree; YuniKorn: amounts of queues.yaml",
    kinds=(CONFIG_MAP,),
    default=Action.WARN,
)
def queue_amount_implausible(proposal: Proposal) -> Iterator[Finding]:
    """An amount in YuniKorn's queue configuration is most likely a mistake.

    Why it is reported: memory without a unit is counted in bytes, so no pod that requests memory fits into 64.
    `vcore: 9Gi` is nine thousand million cores, which limits nothing. `memory: 1` is not reported: it closes a queue.
    Example: `max: {memory: 64}`.
    Fix: write the unit that was meant: `64Gi`.
    """
    yield from findings(proposal, _implausible)


def _implausible(config: Config) -> Iterator[Problem]:
    for root in config.roots:
        yield from throughout(root, _of_queue)


def _of_queue(queue: ConfiguredQueue) -> Iterator[Problem]:
    for declared, whose in queue.declared():
        for name, amount in (declared or {}).items():
            at = amount.written
            if amount.value is not None and (found := odd_in_yunikorn(at.field, name, "".join(at.text.split()))):
                subject = f"{whose} {name}"
                yield Problem(at.field, at.line, f"{whose}: {found.message}", found.fix, subject, accepted=True)
