"""Long random runs: what must hold of the engine whatever happens around it, and when it comes to rest."""

from __future__ import annotations

from tests.scheduling.cycle.engine_runs import FairRuns, Runs

TestRuns = Runs.TestCase
TestFairRuns = FairRuns.TestCase
