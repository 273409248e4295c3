"""`python -m tests.bench --only admission`: admission end to end on a real API server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import install
from tests.bench import memory, starting
from tests.bench.admission import filled, floor, gauges, offered, starts
from tests.bench.admission.lines import Group, Line, make, make_nodes
from tests.bench.admission.offered import Offer
from tests.bench.admission.player import Creators, Player
from tests.bench.admission.process import QUOTREE, reconciling

_SETTLE = 3.0
"""Seconds after the last admission for statuses and Events, which are counted as well."""
_WORK = 10.0
"""Seconds of observation after a start."""
_OURS = ("workloads", "events", "clusterqueues", "localqueues", "cohorts", "leases")


def rows(*, large: bool) -> None:
    """Print all rows. `large`: also starts with more Workloads, which take minutes each."""
    head()
    for offer in (
        offered.that_fit(30, 2_000, waiting=True),
        offered.that_fit(30, 2_000, waiting=False),
        offered.that_fit(30, 2_000, waiting=False, rate=100),
        offered.half_fit(2_000),
        offered.sixty_fit(2_000),
        offered.mixed(),
        offered.that_fit(1_000, 2_000, waiting=True),
    ):
        with ControlPlane() as server:
            row(server, offer)
    starts.rows()
    for workloads in (50_000, *((100_000, 500_000) if large else ())):
        _start(10_000, workloads)


def racks(*, large: bool) -> None:
    """Print the row about work in topologies. `large`: all jobs of Kueue's test instead of a fifth."""
    head()
    offer = offered.racked(1 if large else 5)
    with ControlPlane() as server:
        row(server, offer)


def head() -> None:
    """Print the heading of the rows."""
    first = (
        f"\n{'admission, end to end':44} {'to admit, s':>23} {'':20} {'floor':>13} {'requests':>9} {'reconciler':>20}"
    )
    print(first)
    print(
        f"{'':44} {'mean':>7} {'p50':>7} {'p99':>7} {'admissions':>14} {'/s':>5} {'/s':>6} {'share':>6} {'each':>9}"
        f" {'ms each':>9} {'cpu s':>6} {'MiB':>6}"
    )


def _start(queues: int, workloads: int) -> None:
    """A row about a start: the times until ready and until the first admission, the processor time until then, and the
    cost of an admission among so many Workloads.
    """
    with ControlPlane() as server:
        install(server)
        login = server.kubeconfig
        server.kubectl("create", "namespace", "team")
        server.stop_api_server()  # its cache would take many minutes to follow so many changes
        filled.fill(server.etcd_url, starting.manifests(queues, workloads))
        server.start_api_server()
        filled.until_calm(server)
        began = time.monotonic()
        with reconciling(login) as running, Line(login) as line:

            def admitted() -> int:
                return gauges.requests(line)["PATCH", "workloads/status"]

            running.until(running.ready, lambda: "it to be ready")
            ready = time.monotonic() - began
            running.until(lambda: admitted() > 0, lambda: "its first admission")
            first, cpu, peak = time.monotonic() - began, gauges.cpu_seconds(running.pid), memory.peak_mib(running.pid)
            before = admitted()
            time.sleep(_WORK)
            count, spent = admitted() - before, gauges.cpu_seconds(running.pid) - cpu
            most = memory.peak_mib(running.pid)
    print(
        f"\n{'start of the process':44} {'ready s':>8} {'first s':>8} {'cpu s':>6} {'MiB':>6}"
        f"   {f'and {_WORK:.0f} s later':>24}"
    )
    name, cost = f"{queues} queues, {workloads} Workloads", f"{1000 * spent / max(1, count):.2f} ms each"
    print(
        f"{name:44} {ready:8.1f} {first:8.1f} {cpu:6.1f} {peak:6.0f}   {count:5} admitted, {cost}, {most:.0f} MiB",
        flush=True,
    )


def row(server: ControlPlane, offer: Offer, program: Sequence[str] = (QUOTREE,)) -> None:
    """Print a row. `program`: the command that is run instead of `quotree`."""
    install(server)
    login = server.kubeconfig  # each access writes the file again
    make_nodes(login, offer.machines)
    make(login, offer.nodes)
    created, sent = _created(login, offer) if offer.waiting else ({}, Counter[Group]())
    with Line(login) as line, Player(login, offer.jobs) as player:
        before = gauges.requests(line)
        with reconciling(login, program) as running:
            if not offer.waiting:
                running.until(running.working, lambda: "it to begin")
                created, sent = _created(login, offer)
            done = player.finished if offer.finishing else player.admitted
            running.until(lambda: len(done) == len(offer.jobs), lambda: f"{len(done)} of {offer.title}")
            time.sleep(_SETTLE)
            cpu, peak = gauges.cpu_seconds(running.pid), memory.peak_mib(running.pid)
            requests = gauges.requests(line) - before - player.sent()
    reached = floor.writes_a_second(login, len(offer.jobs))
    _print(offer, player, created, requests if offer.waiting else requests - sent, cpu, peak, reached)


def _created(login: Path, offer: Offer) -> tuple[dict[str, float], Counter[Group]]:
    return Creators(login, offer.jobs, time.time() + 1.0).done()


def _print(
    offer: Offer,
    player: Player,
    created: dict[str, float],
    requests: Counter[Group],
    cpu: float,
    peak: float,
    reached: float,
) -> None:
    """`reached`: admissions a second of a blind writer in the same control plane."""
    first = min(player.admitted.values())
    begin = first if offer.waiting else min(created.values())
    waits = sorted(player.admitted[name] - (begin if offer.waiting else created[name]) for name in created)
    ours = {
        group: count for group, count in requests.items() if group[1].split("/")[0] in _OURS and group[0] != "WATCH"
    }
    rate = player.admissions / (player.last_admission - begin)
    print(
        f"{offer.title:44} {mean(waits):7.2f} {waits[len(waits) // 2]:7.2f} {waits[int(len(waits) * 0.99)]:7.2f}"
        f" {player.admissions:14} {rate:5.0f} {reached:6.0f} {rate / reached:6.2f}"
        f" {sum(ours.values()) / player.admissions:9.2f}"
        f" {1000 * cpu / player.admissions:9.2f} {cpu:6.1f} {peak:6.0f}",
        flush=True,
    )
    reported = ", ".join(f"{verb} {kind} {count}" for (verb, kind), count in sorted(ours.items(), key=lambda x: -x[1]))
    print(f"    {reported}; evictions {player.evictions}", flush=True)
    if offer.finishing and not offer.waiting:
        classes = [name.partition("-")[0] for name in created]
        each = {
            kind: mean(player.admitted[name] - created[name] for name in created if name.startswith(kind))
            for kind in dict.fromkeys(classes)
        }
        shown = ", ".join(f"{kind} {wait:.2f}" for kind, wait in each.items())
        print(f"    mean waits, s: {shown}; {player.last_admission - begin:.1f} s from first to last", flush=True)
