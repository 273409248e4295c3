from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, ClusterQueue, LocalQueue, flavor_resource
from policies.dialects.kueue_workload import PodSet, Workload
from policies.forest import Forest
from policies.pools import plus, written
from policies.proposal import Proposal
from policies.quota import Potential, countable, potential
from policies.requests import fewest_pods, pod_set_requests, total
from policies.rule import STRICT_ONLY, Action, Cause, Finding, NotEvaluated, rule
from policies.rules._kueue_quota import untold


@rule(
    "workload-never-fits",
    source="Kueue: Workload condition QuotaReserved, reason ExceedsMaxQuota",
    kinds=(WORKLOAD,),
    default=Action.WARN,
)
def workload_never_fits(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Workload asks for more than its ClusterQueue could ever give, with the whole tree idle.

    Why it is reported: Kueue takes the Workload and lets it wait for ever; the queue, the borrowing limit or the root
    that is too small is named nowhere. Pods that cannot get a flavor together, and all pod sets in sum, are compared
    with what the queue could hold at best. LimitRanges, transformations and excluded resources are not looked at.
    Example: 4 pods of 8 cpu each where the ClusterQueue has 10 and may borrow 10.
    Fix: ask for less, submit to another queue, or raise the limit that the message names.
    """
    for before, workload in proposal.changed(Workload):
        if workload.queue is None or workload.reserved:
            continue
        if before is not None and (before.pod_sets, before.queue) == (workload.pod_sets, workload.queue):
            continue
        if missing := untold(proposal):
            yield missing
            return
        local = proposal.after.get(workload.queue)
        queue = proposal.after.node(local.queue) if isinstance(local, LocalQueue) and local.queue else None
        if not isinstance(queue, ClusterQueue):
            unknown = proposal.unknown(LOCAL_QUEUE, CLUSTER_QUEUE)
            if unknown:
                yield NotEvaluated(f"not all objects of {', '.join(unknown)} are known")
        elif queue.groups and countable(proposal.after, queue.ref):
            yield from _Fit(proposal.after, workload, queue).findings()


class _Short(NamedTuple):
    """What a flavor cannot give, and how much of it could be had at best."""

    flavor: str
    resource: str
    asked: int
    reach: Potential

    def __str__(self) -> str:
        most = written(self.resource, self.reach.amount)
        return f"flavor {self.flavor} gives {most} at most, by {self.reach.limit} of {self.reach.node}"


@dataclass(frozen=True, slots=True)
class _Fit:
    forest: Forest
    workload: Workload
    queue: ClusterQueue

    def findings(self) -> Iterator[Finding]:
        alone = [finding for pod_set in self.workload.pod_sets for finding in self._of(pod_set)]
        yield from alone or self._in_sum()

    def _requests(self, pod_set: PodSet) -> dict[str, int]:
        pods = fewest_pods(self.workload, pod_set)
        requests = {**pod_set_requests(pod_set, pods), "pods": pods}  # a queue that covers pods counts them
        return {resource: amount for resource, amount in requests.items() if amount}

    def _of(self, pod_set: PodSet) -> Iterator[Finding]:
        """One pod set by itself: its resources of one group need one flavor that can give all of them."""
        requests = self._requests(pod_set)
        for group in self.queue.groups:
            asked = {resource: requests[resource] for resource in group.covered_resources if resource in requests}
            short = [self._short(flavor.name, asked) for flavor in group.flavors]
            lacking = [entry for entry in short if entry is not None]
            if lacking and len(lacking) == len(short):
                yield self._finding(f"pod set {pod_set.name}", pod_set.field, lacking)

    def _short(self, flavor: str, asked: Mapping[str, int]) -> _Short | None:
        """The first resource of which the flavor could never give enough."""
        shorts = (_Short(flavor, name, amount, self._most(flavor, name)) for name, amount in asked.items())
        return next((short for short in shorts if short.asked > short.reach.amount), None)

    def _most(self, flavor: str, resource: str) -> Potential:
        return potential(self.forest, self.queue.ref, flavor_resource(flavor, resource))

    def _in_sum(self) -> Iterator[Finding]:
        """All pod sets together, which may use all flavors of a resource."""
        requests = total(map(self._requests, self.workload.pod_sets))
        for group in self.queue.groups:
            for resource in (name for name in group.covered_resources if name in requests):
                asked = requests[resource]
                most = [
                    _Short(flavor.name, resource, asked, self._most(flavor.name, resource)) for flavor in group.flavors
                ]
                if most and asked > reduce(plus, (short.reach.amount for short in most)):
                    yield self._finding("the pod sets together", "spec.podSets", most)

    def _finding(self, who: str, field: str, short: list[_Short]) -> Finding:
        asks = ", ".join(
            f"{name}={written(name, asked)}" for name, asked in {s.resource: s.asked for s in short}.items()
        )
        first = max(short, key=lambda entry: (entry.resource == short[0].resource, entry.reach.amount))
        room = written(first.resource, first.reach.amount)
        return Finding(
            self.workload.ref,
            field,
            f"can never be admitted by ClusterQueue {self.queue.name}: {who} ask{'s' * who.startswith('pod set ')} for "
            f"{asks}, {', '.join(map(str, short))}",
            fix=f"ask for {first.resource}={room} or less, submit to another queue, or raise {first.reach.limit} of "
            f"{first.reach.node}",
            subject=" ".join(sorted({entry.resource for entry in short})),
            excess=min(entry.asked - entry.reach.amount for entry in short),
            causes=tuple(Cause(entry.reach.node, "spec.resourceGroups", str(entry)) for entry in short),
            profiles=STRICT_ONLY,
        )
