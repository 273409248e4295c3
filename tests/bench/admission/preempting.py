"""`python -m tests.bench --only preempting`: Workloads that get quota only if others are preempted.

Half of the ClusterQueues of one Cohort lend all their quota to the others, which use all of it. Then each of them
reclaims it, Workload by Workload. So all searches have the same candidates, and the heads of a cycle compete for them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import install
from tests.bench import memory
from tests.bench.admission import gauges, offered
from tests.bench.admission.lines import make
from tests.bench.admission.player import Creators, Player
from tests.bench.admission.process import QUOTREE, reconciling

_COUNT = 500


def rows(program: Sequence[str] = (QUOTREE,)) -> None:
    """Print the row. `program`: the command that is run instead of `quotree`."""
    title = f"{_COUNT} that each preempt, 30 queues in one tree"
    print(f"\n{title:48} {'/s':>6} {'p50 s':>6} {'p99 s':>6} {'ms each':>8} {'evictions':>10} {'MiB':>5}")
    with ControlPlane() as server:
        _row(server, program)


def _row(server: ControlPlane, program: Sequence[str]) -> None:
    install(server)
    login = server.kubeconfig
    nodes, filling, arriving = offered.lent(_COUNT)
    make(login, nodes)
    Creators(login, filling, time.time()).done()
    with Player(login, [*filling, *arriving]) as player, reconciling(login, program) as running:
        running.until(lambda: len(player.admitted) == len(filling), lambda: "all quota to be in use")
        running.until(running.working, lambda: "it to be ready")
        before = gauges.cpu_seconds(running.pid)
        created, _ = Creators(login, arriving, time.time() + 1.0).done()
        names = {job.name for job in arriving}
        running.until(lambda: names <= player.admitted.keys(), lambda: f"{_COUNT} that preempt")
        cpu, peak = gauges.cpu_seconds(running.pid) - before, memory.peak_mib(running.pid)
    waits = sorted(player.admitted[name] - created[name] for name in names)
    rate = _COUNT / (max(player.admitted[name] for name in names) - min(created.values()))
    print(
        f"{'as shipped':48} {rate:6.1f} {waits[_COUNT // 2]:6.2f} {waits[_COUNT * 99 // 100]:6.2f}"
        f" {1000 * cpu / _COUNT:8.2f} {player.evictions:10} {peak:5.0f}",
        flush=True,
    )
