"""Any order of what users, the scheduler, the Job controller and our own steps do."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reconciler.jobs.batch_job import BATCH
from tests.reconciler.jobs.world import K, World, job


class Runs(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(job(notes={f"{K}job-min-parallelism": "1"}, parallelism=4, completions=8))

    @property
    def waits(self) -> bool:
        return self.world.stored is not None and self.world.read.queueable and not self.world.read.deleting

    @property
    def reserved(self) -> bool:
        return self.world.stored is not None and self.world.read.reserved

    @property
    def ended(self) -> bool:
        return BATCH.ending(self.world.job) is not None

    @rule()
    def one_step(self) -> None:
        for step in self.world.steps()[:1]:
            assert step.action is not None
            self.world.write(step.action)

    @rule()
    def the_job_controller_acts(self) -> None:
        self.world.control()

    @precondition(lambda self: self.waits)
    @rule(count=st.integers(1, 4))
    def it_is_admitted(self, count: int) -> None:
        self.world.admit(min(count, self.world.read.pod_sets[0].count))

    @precondition(lambda self: self.reserved and not self.world.read.evicted and not self.world.read.finished)
    @rule()
    def it_is_preempted(self) -> None:
        self.world.preempt()

    @precondition(lambda self: self.world.job["spec"]["suspend"] and not self.ended)
    @rule(parallelism=st.integers(2, 6))
    def a_user_asks_for_other_pods(self, parallelism: int) -> None:
        self.world.edit_job({"spec": {"parallelism": parallelism}})

    @precondition(lambda self: not self.ended)
    @rule(suspend=st.booleans())
    def a_user_turns_the_switch(self, suspend: bool) -> None:
        self.world.edit_job({"spec": {"suspend": suspend}})

    @precondition(lambda self: self.world.stored is not None and not self.world.read.deleting)
    @rule()
    def a_user_deletes_the_workload(self) -> None:
        self.world.edit_workload({"metadata": {"deletionTimestamp": "2025-01-01T00:00:00Z"}})

    @precondition(lambda self: self.world.job["status"].get("active"))
    @rule()
    def it_ends(self) -> None:
        self.world.end("Complete", "done")

    @invariant()
    def it_comes_to_rest_as_its_workload_says(self) -> None:
        """Tried on a copy, so that the run goes on from the state in between."""
        copy = World(self.world.job)
        copy.objects, copy.version = dict(self.world.objects), self.world.version
        copy.settle()
        if self.ended:
            return
        assert copy.stored is not None
        read = copy.read
        runs = read.admitted and not read.evicted
        assert copy.job["spec"]["suspend"] is not runs
        assert not BATCH.halfway(copy.job)
        pod_set = copy.stored["spec"]["podSets"][0]
        if runs:
            assert read.admission is not None
            assert copy.job["spec"]["parallelism"] == read.admission.assignments[0].count
            assert copy.job["spec"]["template"]["spec"]["nodeSelector"] == {"tier": "spot"}
        else:
            assert not read.reserved
            assert copy.job["spec"]["parallelism"] == pod_set["count"]
            assert "nodeSelector" not in copy.job["spec"]["template"]["spec"]


TestRuns = Runs.TestCase
