"""Clusters of any size for the rows about the engine: Cohorts, their ClusterQueues, and pending or running work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.model.pools import Terms
from scheduling.objects.queue_settings import ANY, LOWER_PRIORITY, CohortSettings, PreemptionPolicy
from scheduling.objects.workload import Workload
from scheduling.quota.state import Options
from tests.bench.stopwatch import Stopwatch
from tests.scheduling.cluster import FLAVORS, PAIRS, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

__all__ = ["PAIRS", "Played", "crowded", "forest", "tree"]

RECLAIM = PreemptionPolicy(LOWER_PRIORITY, ANY)
_TURNS = 200


class Played(Cluster):
    """A cluster whose workloads have numbered names, so that each is new. Its ClusterQueues have two flavors."""

    made = 0

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options or Options())

    def queue(self, name: str, cohort: str | None, quota: int, flavors: int = 2) -> None:
        terms = dict.fromkeys(FLAVORS[:flavors], Terms(quota))
        self.put_queue(queue_settings(name, cohort, terms, preemption=RECLAIM))

    def job(self, queue: str, asks: int, priority: int = 0) -> Workload:
        """A new workload that is not submitted yet."""
        self.made += 1
        template = _template(asks)
        return replace(
            template, name=f"w{self.made}", uid=f"u{self.made:09}", queue=queue, base=priority, created=self.now
        )

    def rest(self) -> int:
        """Run cycles until nothing is left to decide. Returns the number of decisions."""
        count = 0
        while decisions := self.step():
            count += len(decisions)
        self.decided.clear()
        return count

    def submitted(self, queue: str, asks: int, priority: int = 0) -> Workload:
        made = self.job(queue, asks, priority)
        self.put(made)
        return made

    def submit_and_finish(self, queues: int) -> tuple[float, float]:
        """The microseconds of a submission that fits and of its finish, each with the cycles that follow."""
        submit, finish = Stopwatch(), Stopwatch()
        for turn in range(_TURNS):
            job = self.job(f"q{turn % queues}", 1)
            with submit.lap():
                self.put(job)
                self.rest()
            with finish.lap():
                self.finish(job.key)
                self.rest()
            self.drop(job.key)
        return submit.micros, finish.micros


_templates: dict[int, Workload] = {}


def _template(asks: int) -> Workload:
    if asks not in _templates:
        _templates[asks] = workload(pod_set(gpu=str(asks)))
    return _templates[asks]


def tree(count: int, depth: int, quota: int = 4, options: Options | None = None) -> Played:
    """`count` ClusterQueues in one tree with `depth` levels, including their own."""
    played = Played(options)
    for name, cohort in _edges(count, depth):
        if name.startswith("q"):
            played.queue(name, cohort, quota)
        else:
            played.put_cohort(CohortSettings(name, cohort, {}))
    return played


def forest(count: int, size: int, quota: int) -> Played:
    """`count` ClusterQueues in trees of `size` each."""
    played = Played()
    for place in range(count):
        played.queue(f"q{place}", f"c{place // size}", quota)
    return played


def crowded(waiting: int, fit: int) -> Played:
    """5 Cohorts of 6 ClusterQueues under one; `waiting` workloads of one unit, of which `fit` fit at a time."""
    played = Played()
    for place in range(5):
        played.put_cohort(CohortSettings(f"c{place}", "company", {}))
    for place in range(30):
        terms = {FLAVORS[0]: Terms(fit // 30, borrowing=100)}
        played.put_queue(queue_settings(f"q{place}", f"c{place // 6}", terms, preemption=RECLAIM))
    for turn in range(waiting):
        played.submitted(f"q{turn % 30}", 1)
    return played


def _edges(count: int, depth: int) -> Iterator[tuple[str, str | None]]:
    """(node, its parent) from the root down; all Cohorts have about the same number of children."""
    yield "c", None
    levels = depth - 1
    fan_out = next(width for width in range(2, count + 2) if width**levels >= count)
    above = ["c"]
    for _ in range(levels - 1):
        below = [f"{cohort}-{child}" for cohort in above for child in range(fan_out)]
        yield from ((cohort, cohort.rpartition("-")[0]) for cohort in below)
        above = below
    for place in range(count):
        yield f"q{place}", above[place * len(above) // count]
