"""The loop that looks after certificates."""

import queue
from collections.abc import Callable

import pytest

from certs.pki import BadCertificate
from certs.renewal import Renewal
from cluster.errors import ClusterError, Unreachable
from cluster.retry import Backoff

PATIENCE = 10.0
BRIEF = Backoff(first=0.001, longest=0.002)


class Steps:
    """What `renew` does at each call; the last step is repeated."""

    def __init__(self, *steps: bool | Exception) -> None:
        self.left = list(steps)
        self.called: queue.Queue[int] = queue.Queue()

    def __call__(self) -> bool:
        step = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        self.called.put(1)
        if isinstance(step, Exception):
            raise step
        return step

    def wait(self, times: int) -> None:
        for _ in range(times):
            self.called.get(timeout=PATIENCE)


def test_it_looks_again_and_again() -> None:
    steps = Steps(True)
    renewal = Renewal(steps, every=0.001)
    renewal.start()
    steps.wait(3)
    renewal.stop(PATIENCE)

    assert renewal.problem is None


@pytest.mark.parametrize(
    "error", [Unreachable("host", "gone", "wait"), ClusterError("bad"), OSError("disk full"), BadCertificate("odd")]
)
def test_a_failure_is_told_and_tried_again_sooner(error: Exception) -> None:
    seen: list[str | None] = []
    steps = Steps(error, error, True)
    renewal = Renewal(spying(steps, seen, lambda: renewal.problem), every=0.05, backoff=BRIEF)
    renewal.start()
    steps.wait(4)
    renewal.stop(PATIENCE)

    assert seen[:4] == [None, str(error), str(error), None]


def spying(steps: Steps, seen: list[str | None], problem: Callable[[], str | None]) -> Callable[[], bool]:
    def renew() -> bool:
        seen.append(problem())
        return steps()

    return renew


def test_what_is_not_complete_is_tried_again_sooner() -> None:
    steps = Steps(True, False)
    renewal = Renewal(steps, every=0.001, backoff=BRIEF)
    renewal.start()
    steps.wait(5)
    renewal.stop(PATIENCE)


def test_stop_ends_a_long_wait_and_works_before_start() -> None:
    steps = Steps(True)
    renewal = Renewal(steps, every=3600.0)
    renewal.stop()
    renewal.start()
    renewal.stop(PATIENCE)

    assert steps.called.empty()
