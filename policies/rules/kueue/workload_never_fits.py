from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from policies.amounts.quota import Potential, potential
from policies.amounts.requests import total
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, WORKLOAD, ClusterQueue, flavor_resource
from policies.dialects.kueue_jobs import KINDS
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import amount_text, plus
from policies.rules.kueue._kueue_quota import QuotaLimit, binding_limit, quota_dependencies
from policies.rules.kueue._submissions import RequestedPodSet, Submission, queue_of, submissions


@rule(
    "workload-never-fits",
    source="Kueue: Workload condition QuotaReserved, reason ExceedsMaxQuota",
    kinds=(WORKLOAD, *KINDS),
    default=Action.WARN,
)
def workload_never_fits(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Workload or a job requests more than its ClusterQueue could ever give, even if the whole tree is idle.

    Why it is reported: Kueue accepts the job and lets it wait forever, and does not report which queue, borrowing limit
    or root is too small. Each pod set and the sum of all pod sets are compared with the potential of the queue. Of a
    Deployment only one pod is compared, since its pods are admitted one by one. LimitRanges, resource transformations
    and excluded resources are not considered.
    Example: 4 pods of 8 cpu each where the ClusterQueue has 10 and may borrow 10.
    Fix: request less, submit to another queue, or raise the limit that the message names.
    """
    for submitted in submissions(proposal):
        if missing := proposal.incomplete(COHORT, CLUSTER_QUEUE):
            yield missing
            return
        queue = queue_of(proposal.after, submitted)
        if queue is None:
            if missing := proposal.incomplete(LOCAL_QUEUE, CLUSTER_QUEUE):
                yield missing
        elif queue.in_force and proposal.after.ends_at_root(queue.ref):
            yield from _Fit(proposal.after, submitted, queue).findings()


class _Short(NamedTuple):
    """A resource that a flavor does not have enough of.

    `reach`: the potential of the queue for it.
    `limit`: the limit that decides the potential.
    """

    flavor: str
    resource: str
    asked: int
    reach: Potential
    limit: QuotaLimit

    def __str__(self) -> str:
        return (
            f"flavor {self.flavor} gives at most {amount_text(self.resource, self.reach.amount)}, by {self.limit.text}"
        )


@dataclass(frozen=True, slots=True)
class _Fit:
    """Compares a submission with its ClusterQueue."""

    forest: Forest
    submitted: Submission
    queue: ClusterQueue

    def findings(self) -> Iterator[Finding]:
        alone = [finding for pod_set in self.submitted.pod_sets for finding in self._pod_set_findings(pod_set)]
        yield from alone
        if not alone and len(self.submitted.pod_sets) > 1:  # the only pod set was already compared
            yield from self._total_findings()

    def _pod_set_findings(self, pod_set: RequestedPodSet) -> Iterator[Finding]:
        """The findings about one pod set. A single flavor must have enough of all its resources in one group."""
        requests = pod_set.requests
        for group in self.queue.in_force:
            asked = {resource: requests[resource] for resource in group.covered_resources if resource in requests}
            short = [self._short(flavor.name, asked) for flavor in group.flavors]
            lacking = [entry for entry in short if entry is not None]
            if lacking and len(lacking) == len(short):
                yield self._finding(f"pod set {pod_set.name}", pod_set.field, lacking)

    def _short(self, flavor: str, asked: Mapping[str, int]) -> _Short | None:
        """The first resource that the flavor could never give enough of, or None."""
        over = ((name, amount) for name, amount in asked.items() if amount > self._most(flavor, name).amount)
        return next((self._entry(flavor, name, amount) for name, amount in over), None)

    def _entry(self, flavor: str, resource: str, asked: int) -> _Short:
        most, pair = self._most(flavor, resource), flavor_resource(flavor, resource)
        return _Short(flavor, resource, asked, most, binding_limit(self.forest, self.queue.ref, pair, most))

    def _most(self, flavor: str, resource: str, lifted: Ref | None = None) -> Potential:
        return potential(self.forest, self.queue.ref, flavor_resource(flavor, resource), lifted=lifted)

    def _total_findings(self) -> Iterator[Finding]:
        """The findings about all pod sets together, which may use all flavors of a resource."""
        requests = total(pod_set.requests for pod_set in self.submitted.pod_sets)
        for group in self.queue.in_force:
            for resource in (name for name in group.covered_resources if name in requests):
                asked = requests[resource]
                most = [self._most(flavor.name, resource).amount for flavor in group.flavors]
                if most and asked > reduce(plus, most):
                    short = [self._entry(flavor.name, resource, asked) for flavor in group.flavors]
                    yield self._finding("the pod sets together", self.submitted.whole, short)

    def _finding(self, who: str, field: str, short: list[_Short]) -> Finding:
        asks = ", ".join(
            f"{name}={amount_text(name, asked)}" for name, asked in {s.resource: s.asked for s in short}.items()
        )
        first = max(short, key=lambda entry: (entry.resource == short[0].resource, entry.reach.amount))
        room = first.reach.amount
        less = f"request {first.resource}={amount_text(first.resource, room)} or less, " if room > 0 else ""
        return Finding(
            self.submitted.ref,
            field,
            f"ClusterQueue {self.queue.name} can never admit it: {who} request{'s' * who.startswith('pod set ')} "
            f"{asks}, but {', '.join(map(str, short))}",
            fix=f"{less}submit to another queue, or raise {self._raised(first)}",
            subject=" ".join(sorted({entry.resource for entry in short})),
            excess=min(entry.asked - entry.reach.amount for entry in short),
            causes=tuple(Cause(entry.limit.node, "spec.resourceGroups", str(entry)) for entry in short),
            profiles=STRICT_ONLY,
            follows=quota_dependencies(self.forest, self.queue),
        )

    def _raised(self, short: _Short) -> str:
        """The limit to raise: the deciding borrowingLimit if that is enough, else the queue's nominalQuota."""
        node = short.reach.node
        if (
            short.reach.limit == "borrowingLimit"
            and self._most(short.flavor, short.resource, node).amount >= short.asked
        ):
            return f"borrowingLimit of {node}"
        return f"nominalQuota of {self.queue.ref}"
