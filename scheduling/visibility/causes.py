"""Why a workload waits, and what its owner can do. `scheduling.visibility.sentence` makes a sentence of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from policies.dialects.kueue_workload import GATED_BY
from scheduling.cycle.block_admission import MESSAGE as PODS_NOT_READY
from scheduling.cycle.cycle import DEFERRED, NO_LONGER_FITS, OVERLAPPING, PREEMPTION_GATED
from scheduling.flavors.messages import amount_text
from scheduling.flavors.reasons import NoPlace
from scheduling.objects.admissibility import misfit
from scheduling.objects.amounts import minus
from scheduling.objects.inadmissible_reasons import ADMISSION_GATED, MISCONFIGURED, PENDING_EVALUATION, SUSPENDED
from scheduling.objects.queue_settings import ANY, FlavorGroup
from scheduling.objects.workload import Workload
from scheduling.quota.state import ClusterQueueState
from scheduling.status.checks import REJECTED, RETRY
from scheduling.topology.domains import domain_name, level_word
from scheduling.topology.workload_places import TopologyShortage
from scheduling.visibility.exclusions import exclusions
from scheduling.visibility.explanation import Explanation, FlavorLack
from scheduling.visibility.raising import BORROWING_LIMIT
from scheduling.visibility.workloads import WaitingWorkload
from scheduling.world.readiness import CANNOT_ADMIT, CYCLE, IS_STOPPED
from scheduling.world.world import World

_MOST = 3
"""How many flavors and reasons are named."""
_BY_ITSELF = "it is retried automatically"
_PLAIN = {
    OVERLAPPING: f"another workload preempts the same work first; {_BY_ITSELF}",
    DEFERRED: "the work in its way ends for another workload; it starts once that has ended",
    NO_LONGER_FITS: f"another workload took the quota first; {_BY_ITSELF}",
    PREEMPTION_GATED: "it would preempt others, and its preemption gate is closed; it continues once the gate is open",
    PODS_NOT_READY: "admitted workloads have pods that are not ready; it starts once they are ready (waitForPodsReady)",
}
"""The texts that replace those messages of Kueue that name no object."""
_RESERVED = (
    "free quota is reserved for a workload in another ClusterQueue of its tree, which waits for more; " + _BY_ITSELF
)
_FIXES = {
    "Stopped": "have it resumed (quotree resume clusterqueue {queue})",
    "FlavorNotFound": "have the ResourceFlavor created",
    "TopologyNotFound": "have the Topology created",
    "AdmissionCheckNotFound": "have the AdmissionCheck created",
    "AdmissionCheckInactive": "have the AdmissionCheck repaired: its condition Active says what is wrong, and without "
    "that condition its controller does not run",
    CYCLE: "have one of these Cohorts given another parent",
    "Terminating": "",
}
"""The fix of an inactive ClusterQueue, by the reason of its condition Active."""


class WaitingCause(NamedTuple):
    """Why a workload waits.

    clauses: the parts of the sentence. The first one names the cause, the others its consequences.
    gist: a key that is equal for equal causes.
    owner, administrator: what each of them can do.
    stuck: waiting does not help, but another LocalQueue may.
    """

    clauses: tuple[str, ...]
    gist: tuple[Hashable, ...]
    owner: tuple[str, ...] = ()
    administrator: tuple[str, ...] = ()
    stuck: bool = False


def remark(message: str) -> str:
    return f" ({message})" if message else ""


def cause_at_local_queue(world: World, workload: Workload, why: Explanation) -> WaitingCause:
    """The cause of a workload that is in no ClusterQueue, although its LocalQueue exists."""
    local = world.queues.local_queues[workload.local_queue]
    local_queue = f"LocalQueue {workload.local_queue}"
    if why.reason == ADMISSION_GATED:
        step = f"it is queued once the gate is removed from its annotation {GATED_BY}"
        return WaitingCause((f"Waiting at {local_queue}: {why.message}", step), (why.message,))
    if local.stopped:
        resumed = f"have it resumed (quotree resume localqueue {local.name} -n {local.namespace})"
        return WaitingCause(
            (f"{local_queue} is stopped and admits nothing",), (local.stopped,), administrator=(resumed,)
        )
    if local.cluster_queue in world.queues.pending:
        devices = f"Waiting at {local_queue}: the devices that it requests cannot be counted: {why.message}"
        return WaitingCause((devices, "it is queued once they can be"), (why.message,))
    text = f"{local_queue} leads to ClusterQueue {local.cluster_queue}, which does not exist"
    created = f"have ClusterQueue {local.cluster_queue} created, or another one named in {local_queue}"
    return WaitingCause((text,), (text,), administrator=(created,), stuck=True)


def cause_at_cluster_queue(
    world: World, workload: Workload, found: WaitingWorkload, why: Explanation, moment: Callable[[int], object]
) -> WaitingCause:
    cause = _of_queue(world, workload, found, why, moment)
    if why.position is None or why.position < 2 or why.reason == SUSPENDED:
        return cause
    ahead = f"{why.position - 1} workload{'s are' if why.position > 2 else ' is'} ahead"
    return cause._replace(clauses=(*cause.clauses[:1], ahead, *cause.clauses[1:]))


def _of_queue(
    world: World, workload: Workload, found: WaitingWorkload, why: Explanation, moment: Callable[[int], object]
) -> WaitingCause:
    """The cause of a workload in a ClusterQueue, without the number of workloads ahead."""
    if why.reason == SUSPENDED:
        return _suspended(world, why)
    if found.not_before:
        again = f"it was evicted ({found.reason}) and is tried again at {moment(found.not_before)}"
        return WaitingCause((again,), (found.reason,))
    if found.behind and not why.stuck:
        head = f"ClusterQueue {why.queue} is StrictFIFO, and no workload may overtake its head"
        return WaitingCause((head, "it is tried once that one has started"), ("behind",))
    if why.victims:
        count = len(why.victims)
        ended = f"{count} workloads have" if count > 1 else "1 workload has"
        return WaitingCause((f"room is made for it; it starts once {ended} ended",), ("victims",))
    if why.reason == MISCONFIGURED:
        return _misconfigured(world, workload, why)
    if why.message == NO_LONGER_FITS and world.queues.reserved_elsewhere(why.queue):
        return WaitingCause((_RESERVED,), (why.reason, _RESERVED))
    if why.message in _PLAIN:
        return WaitingCause((_PLAIN[why.message],), (why.reason, why.message))
    if why.lacks or why.others or why.shortages:
        return _short(world, workload, why)
    if failed := [each for each in workload.checks if each.state in (RETRY, REJECTED)]:
        named = ", ".join(f"{each.name} is {each.state}{remark(each.message)}" for each in failed)
        return WaitingCause((f"admission check {named}; it is tried again once that is Pending",), (why.reason,))
    text = "it waits for its turn" if why.reason == PENDING_EVALUATION else why.message
    return WaitingCause((text,), (why.reason,))


def _suspended(world: World, why: Explanation) -> WaitingCause:
    ready = world.can_admit(why.queue)
    faults = ready.message.removeprefix(CANNOT_ADMIT).lstrip(":; ").removesuffix(".")
    halted = "is stopped and admits nothing" if faults == IS_STOPPED else f"admits nothing: {faults}"
    fix = _FIXES.get(ready.reason, "have its AdmissionChecks changed").format(queue=why.queue)
    text = f"ClusterQueue {why.queue} {halted}"
    return WaitingCause((text,), (text,), administrator=(fix,))


def _misconfigured(world: World, workload: Workload, why: Explanation) -> WaitingCause:
    namespace, queue = f"Namespace {workload.namespace}", f"ClusterQueue {why.queue}"
    if workload.namespace not in world.queues.namespaces:
        return WaitingCause((f"{namespace} is not known",), (why.message,), owner=("create it",), stuck=True)
    if not world.queues.serves(why.queue)(workload.namespace):
        none = world.state.queues[why.queue].settings.selector is None
        text = f"{queue} has no namespaceSelector" if none else f"the namespaceSelector of {queue} does not match"
        served = f"have {namespace} selected by {queue}"
        return WaitingCause(
            (f"{text}, so it does not serve {namespace}",), (text,), administrator=(served,), stuck=True
        )
    complete, around = world.entry(workload).workload, world.around(workload.namespace)
    if wrong := misfit(complete, around):
        ranges = (
            (f"have the LimitRange of {namespace} changed, which may set the limits",) if around.limit_ranges else ()
        )
        text = f"no pod of it could be created: {wrong}"
        return WaitingCause((text,), (wrong,), owner=("change its requests",), administrator=ranges, stuck=True)
    return WaitingCause((why.message,), (why.message,), stuck=True)


def _short(world: World, workload: Workload, why: Explanation) -> WaitingCause:
    """The cause if it lacks quota, flavors that serve it, or both."""
    settings = world.state.queues[why.queue].settings
    named = bool(why.shortages)
    others = [reason for reason in why.others if not (named and isinstance(reason, NoPlace))]
    excluded = exclusions(world, settings, workload, others)
    needs = _needs(settings.groups, why.lacks)
    clauses = [f"needs {needs}"] if needs else []
    clauses += [*map(shortage_text, why.shortages[:_MOST]), *(each.text for each in excluded[:_MOST])]
    if len(excluded) > _MOST:
        clauses.append(f"{len(excluded) - _MOST} more flavors do not serve it")
    places = tuple((each.pod_set, each.flavor, each.ever) for each in why.shortages)
    gist = (tuple((each.pair, each.ever) for each in why.lacks), tuple(others), places)
    said = ", and ".join(clauses)
    if any(not each.ever for each in why.shortages):
        flavors = " or ".join(dict.fromkeys(each.flavor for each in why.shortages))
        less = tuple(dict.fromkeys(map(_less, why.shortages)))
        return WaitingCause(
            (said,), gist, owner=less, administrator=(f"have nodes added to flavor {flavors}",), stuck=True
        )
    if not why.stuck:
        later = f"it starts once that is released, or ClusterQueue {why.queue} gets more quota"
        if named and not needs:
            later = "it starts once work there has ended, or nodes are added"
        elif not needs and any(isinstance(reason, NoPlace) for reason in others):
            later = "it starts once nodes with all labels of the flavor and its topology are ready, or have room"
        return WaitingCause((said, *_lent(world.state.queues[why.queue], why.lacks), *_limits(why), later), gist)
    never = [each for each in why.lacks if not each.ever]
    more = (f"have more quota given to ClusterQueue {why.queue}",) if never else ()
    return WaitingCause(
        (said, *_limits(why)),
        gist,
        owner=(*(each.owner for each in excluded), *_largest_possible(settings.groups, never)),
        administrator=(*(each.administrator for each in excluded), *more),
        stuck=True,
    )


def shortage_text(short: TopologyShortage) -> str:
    """The domain that is short and its room, in words."""
    domain = short.domain
    ever = "" if short.ever else "even without other work, "
    units = f"{domain.needed} {domain.unit}s" if domain.needed > 1 else domain.unit
    whose = "that a slice needs" if domain.of_slice else f"of pod set {short.pod_set}"
    if domain.values and not domain.room:
        where = f"no {level_word(short.levels[len(domain.values) - 1])} has"
        room = f"any of the {units}" if domain.needed > 1 else f"the {units}"
    else:
        named = f"{domain_name(short.levels, domain.values)} has" if domain.values else ""
        where = named or f"the nodes of flavor {short.flavor} have"
        room = f"{domain.room or 'none'} of the {units}"
    return f"{ever}{where} room for {room} {whose}"


def _less(short: TopologyShortage) -> str:
    if short.domain.of_slice:
        return "request smaller slices"
    return "request fewer pods or a higher level" if len(short.domain.values) > 1 else "request fewer pods"


def _lent(queue: ClusterQueueState, lacks: Iterable[FlavorLack]) -> Iterator[str]:
    """That the queue has lent the quota which the workload lacks, and how far it may reclaim it, in words."""
    node, policy = queue.node, queue.settings.preemption.reclaim_within_cohort
    own = ((lack, minus(node.nominal(lack.pair), node.usage.get(lack.pair, 0))) for lack in lacks)
    if policy != ANY and any(rest >= lack.wanted for lack, rest in own):
        yield (
            f"the nominalQuota of ClusterQueue {queue.name} would be enough, but other queues borrow it, and its "
            f"reclaimWithinCohort is {policy}"
        )


def _limits(why: Explanation) -> Iterator[str]:
    """The borrowingLimits that block the workload, in words that name only nodes which the owner may know."""
    found = [lack.obstacle for lack in why.lacks if lack.obstacle is not None]
    limits = [each for each in found if each.limit == BORROWING_LIMIT]
    if any(each.is_queue for each in limits):
        yield f"the borrowingLimit of ClusterQueue {why.queue} does not let it borrow that much"
    elif limits:
        yield "a borrowingLimit above it in the tree does not let it borrow that much"


def _largest_possible(groups: Iterable[FlavorGroup], never: Sequence[FlavorLack]) -> Iterator[str]:
    """The most that the workload could get of each resource, in words.

    The resources of a group get the same flavor: here the one that lacks the fewest of them, the largest of equal ones.
    """
    most: dict[str, int] = {}
    for group in groups:
        by_flavor = (
            {lack.pair.resource: lack.free for lack in never if lack.pair == (flavor, lack.pair.resource)}
            for flavor in group.flavors
        )
        possible = [free for free in by_flavor if free and min(free.values()) > 0]
        possible.sort(key=lambda free: (len(free), [-amount for amount in free.values()]))
        most.update(*possible[:1])
    if most:
        amounts = (f"{amount_text(resource, amount)} {resource}" for resource, amount in most.items())
        yield f"request no more than {' and '.join(amounts)} in all"


def _needs(groups: Iterable[FlavorGroup], lacks: Iterable[FlavorLack]) -> str:
    """The missing amounts, in words. Flavors of one resource group are alternatives, but each group must have room.

    The lack of a pair counts once, since each pod set is tried in addition to those before it.
    """
    most = {lack.pair: lack for lack in lacks}
    found = []
    for group in groups:
        by_flavor = {
            flavor: [lack for pair, lack in most.items() if pair.flavor == flavor and pair.resource in group.resources]
            for flavor in group.flavors
        }
        short = [f"{' and '.join(map(_amount, those))} of flavor {each}" for each, those in by_flavor.items() if those]
        if short:
            more = ", or more of other flavors" if len(short) > _MOST else ""
            found.append(", or ".join(short[:_MOST]) + more)
    return ", and ".join(found)


def _amount(lack: FlavorLack) -> str:
    resource = lack.pair.resource
    more = f"{amount_text(resource, minus(lack.wanted, lack.free))} more {resource}"
    return more if lack.ever else f"{more} than it can ever get"
