"""Searches the flavors of a resource group. All its resources get the same flavor.

Source: Kueue v0.19, pkg/scheduler/flavorassigner; KEP-582 (flavorFungibility), KEP-79 (trees).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from policies.dialects.kueue_state import NEVER
from scheduling.flavors.assignment import ALL_TRIED, FlavorAttempt, FlavorChoice
from scheduling.flavors.eligibility import unsuitable
from scheduling.flavors.modes import BEST, WORST, Grade, Mode, Simulate, better, try_next, worse_of
from scheduling.flavors.reasons import BeyondMaximum, FlavorOfPredecessor, NotNominated, Reason, Short, severity
from scheduling.flavors.scan_progress import Progress
from scheduling.objects.amounts import FlavorResource, plus
from scheduling.objects.requests import PodSetRequests
from scheduling.objects.workload import PodSet, Workload
from scheduling.quota.state import ClusterQueueState, QuotaState


@dataclass(frozen=True, slots=True)
class SearchedPodSet:
    """A pod set. `place`: its index in the workload. `requests`: with the resource `pods` if quota limits it."""

    place: int
    pod_set: PodSet
    count: int
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FlavorQuestion:
    """The inputs of a workload's search; see `assigner.assign`."""

    state: QuotaState
    queue: ClusterQueueState
    workload: Workload
    simulate: Simulate
    resume: Progress
    nominated: Mapping[str, Mapping[str, str]] | None
    predecessor: Mapping[str, PodSetRequests]


@dataclass(slots=True)
class GroupSearch:
    """Finds a flavor of one resource group for pod sets that share it.

    place: the index of the resource group.
    members: the pod sets. wanted: the sum of their requests.
    assumed: the usage of earlier pod sets.
    attempts, reasons: after `run`, the flavors that were tried, and why they do not fit.
    """

    question: FlavorQuestion
    place: int
    members: Sequence[SearchedPodSet]
    wanted: Mapping[str, int]
    assumed: Mapping[FlavorResource, int]
    attempts: list[FlavorAttempt] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    _best: Grade = WORST
    _flavor: str = ""
    _grades: Mapping[str, Grade] = field(default_factory=dict)

    def run(self, resource: str) -> dict[str, FlavorChoice]:
        """Search, and return the choice by resource; empty if no flavor fits.

        It continues where an earlier search for `resource` ended. If nothing fits, it then tries the flavors that were
        skipped, unlike Kueue's search
        (docs/adr/2026-11-21-resumed-search-sees-all.md).
        """
        question = self.question
        flavors = question.queue.settings.groups[self.place].flavors
        start = question.resume.start(self.members[0].place, resource)
        start = start if start < len(flavors) else 0
        ended = self._look_through(flavors, range(start, len(flavors)))
        if ended is None and start and self._best.mode != Mode.FIT and not question.state.options.compat:
            self._look_through(flavors, range(start))
        if self._best.mode == Mode.FIT:
            self.reasons.clear()
        tried = ALL_TRIED if ended is None or ended == len(flavors) - 1 else ended
        return {
            name: FlavorChoice(self._flavor, grade.mode, grade.level, tried, grade.mode.outcome)
            for name, grade in self._grades.items()
        }

    def _look_through(self, flavors: Sequence[str], places: Iterable[int]) -> int | None:
        """Try the flavors, and keep the best one. Returns the index at which the search may stop; None to try all."""
        fungibility = self.question.queue.settings.fungibility
        for place in places:
            grade, grades = self._look_at(flavors[place])
            good_enough = not try_next(grade, fungibility)
            if good_enough or better(grade, self._best, fungibility):
                self._best, self._flavor, self._grades = grade, flavors[place], grades
            if good_enough:
                return place
        return None

    def _look_at(self, flavor: str) -> tuple[Grade, Mapping[str, Grade]]:
        barred = self._barred(flavor)
        if barred is not None:
            self.reasons.append(barred)
            self.attempts.append(FlavorAttempt(flavor, self.place, Mode.NO_FIT, 0, (barred,), barred.no_fit))
            return WORST, {}
        question, whole = self.question, BEST
        grades: dict[str, Grade] = {}
        found: list[Reason] = []
        no_fit = ""
        for resource, amount in self.wanted.items():
            grade, reasons = self._resource(flavor, resource, amount)
            whole = worse_of(whole, grade, question.queue.settings.fungibility, question.state.options.compat)
            grades[resource] = grade
            found += reasons
            if grade.mode == Mode.NO_FIT:
                no_fit = max(no_fit, *(reason.no_fit for reason in reasons), key=severity)
        level = max((grade.level for grade in grades.values()), default=0)
        self.reasons += found
        self.attempts.append(FlavorAttempt(flavor, self.place, whole.mode, level, tuple(found), no_fit))
        return whole, grades

    def _barred(self, flavor: str) -> Reason | None:
        """Why the flavor cannot be used, regardless of quota; None if it can."""
        question = self.question
        nominated = question.nominated
        if nominated is not None and not self._is_nominated(nominated, flavor):
            return NotNominated(flavor, next(iter(self.wanted)))
        settings = question.queue.settings
        pod_sets = [member.pod_set for member in self.members]
        return unsuitable(question.state, settings, settings.groups[self.place], flavor, question.workload, pod_sets)

    def _is_nominated(self, nominated: Mapping[str, Mapping[str, str]], flavor: str) -> bool:
        named = (nominated.get(member.pod_set.name, {}) for member in self.members)
        return any(choices.get(resource) == flavor for choices in named for resource in self.wanted)

    def _resource(self, flavor: str, resource: str, amount: int) -> tuple[Grade, list[Reason]]:
        question, pair = self.question, FlavorResource(flavor, resource)
        held = self._held_elsewhere(flavor, resource) if question.predecessor else None
        if question.predecessor and held is None:
            amount -= self._held(resource)
        earlier, fair = self.assumed.get(pair, 0), question.state.options.fair_sharing
        grade, reason = _graded(question.queue, pair, earlier, amount, question.simulate, fair)
        reasons = [] if reason is None else [reason]
        if held is not None:
            return Grade(Mode.NO_FIT, grade.level), [FlavorOfPredecessor(flavor, held), *reasons]
        return grade, reasons

    def _held_elsewhere(self, flavor: str, resource: str) -> str | None:
        """The flavor of the predecessor for this resource, if it is a different one."""
        held = (self._before(member, resource) for member in self.members)
        return next((named for named in held if named is not None and named != flavor), None)

    def _before(self, member: SearchedPodSet, resource: str) -> str | None:
        before = self.question.predecessor.get(member.pod_set.name)
        return None if before is None else before.flavors.get(resource, "")

    def _held(self, resource: str) -> int:
        before = (self.question.predecessor.get(member.pod_set.name) for member in self.members)
        return sum(entry.requests.get(resource, 0) for entry in before if entry is not None)


def _graded(
    queue: ClusterQueueState, pair: FlavorResource, earlier: int, asked: int, simulate: Simulate, fair_sharing: bool
) -> tuple[Grade, Reason | None]:
    """The grade of `asked` beyond the usage of `earlier` pod sets, and the reason if it does not fit at once."""
    node, wanted = queue.node, plus(earlier, asked)
    free = node.free(pair)
    if wanted <= free:
        return Grade(Mode.FIT, node.borrowing_level(pair, wanted)[0]), None
    maximum = node.potential(pair)
    if wanted > maximum:
        return Grade(Mode.NO_FIT, 0), BeyondMaximum(pair, earlier, asked, maximum)
    level, may_reclaim = node.borrowing_level(pair, wanted)
    short = Short(pair, wanted, free)
    if wanted <= node.nominal(pair) or may_reclaim or _preempts_while_borrowing(queue, fair_sharing):
        return Grade(*simulate(pair, wanted)), short
    return Grade(Mode.NO_FIT, level), short


def _preempts_while_borrowing(queue: ClusterQueueState, fair_sharing: bool) -> bool:
    policy = queue.settings.preemption
    return policy.borrow_within_cohort != NEVER or (fair_sharing and policy.reclaim_within_cohort != NEVER)
