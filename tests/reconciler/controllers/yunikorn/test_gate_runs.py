"""Random runs with crashes after any write, recounted from stored Pods: no max is exceeded, no Pod that fits waits."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from tests.builders import Manifest
from tests.profiles import seeds
from tests.reconciler.controllers.gates.cluster import gated
from tests.reconciler.controllers.turns import Crash
from tests.reconciler.controllers.yunikorn.gate_cluster import GateCluster
from tests.reconciler.controllers.yunikorn.gated_objects import TEAMS, member, pod
from tests.scheduling.yunikorn.manifests import namespace

SPACES = {"one": "root.team", "two": "root.team", "three": ""}
TEAM_CPU = 3
STEPS = 25


class Recount:
    """The usage of each Namespace and below root.team, in whole cpus, without the sums of the program."""

    def __init__(self, cluster: GateCluster) -> None:
        self.quota = {name: _quota(cluster.objects["Namespace", name]) for name in SPACES}
        self.used: Counter[str] = Counter()
        for each in cluster.pods():
            if not gated(each) and not over(each):
                self.used[each["metadata"]["namespace"]] += _cpu(each)

    @property
    def team(self) -> int:
        return self.used["one"] + self.used["two"]

    def overdrawn(self, space: str) -> bool:
        quota = self.quota[space]
        return (quota is not None and self.used[space] > quota) or (space != "three" and self.team > TEAM_CPU)

    def has_room(self, each: Manifest) -> bool:
        space, cpu = each["metadata"]["namespace"], _cpu(each)
        quota = self.quota[space]
        fits = quota is None or self.used[space] + cpu <= quota
        return fits and (space == "three" or self.team + cpu <= TEAM_CPU)


class Recounted(GateCluster):
    """Fails at the write that lets a Pod pass that does not fit."""

    def put(self, key: tuple[str, str], made: Manifest) -> None:
        before = self.objects.get(key)
        super().put(key, made)
        if key[0] == "Pod" and before is not None and gated(before) and not gated(made):
            space = made["metadata"]["namespace"]
            assert not Recount(self).overdrawn(space), (key, vars(Recount(self)))


def _quota(space: Manifest) -> int | None:
    text = space["metadata"]["annotations"].get("yunikorn.apache.org/namespace.quota")
    return int(json.loads(text)["cpu"]) if text else None


def _cpu(each: Manifest) -> int:
    return int(each["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _happens(cluster: GateCluster, random: Random, number: int) -> None:
    keys = [key for key in cluster.objects if key[0] == "Pod"]
    match random.randrange(6):
        case 0 | 1 | 2:
            space = random.choice([*SPACES])
            cluster.add(pod(f"p{number}", random.choice("abc"), random.choice("12"), space))
        case 3 if keys:
            cluster.drop(random.choice(keys))
        case 4 if running := [key for key in keys if not gated(cluster.objects[key])]:
            cluster.edit(random.choice(running), {"status": {"phase": random.choice(["Succeeded", "Failed"])}})
        case 5:
            quota = random.choice([None, '{"cpu":"1"}', '{"cpu":"2"}', '{"cpu":"5"}'])
            notes = {"yunikorn.apache.org/namespace.quota": quota}
            cluster.edit(("Namespace", random.choice(["one", "two"])), {"metadata": {"annotations": notes}})


@pytest.mark.parametrize("seed", seeds(0.25))
def test_random_crashes_exceed_no_quota_and_leave_no_pod_waiting_that_fits(seed: int) -> None:
    random = Random(seed)
    shares = {name: {"parentqueue": parent} if parent else {} for name, parent in SPACES.items()}
    made = [namespace(name, namespace_quota='{"cpu":"2"}', **share) for name, share in shares.items()]
    cluster = Recounted(TEAMS, *made)
    for number in range(STEPS):
        for each in range(random.randint(1, 3)):
            _happens(cluster, random, 10 * number + each)
            if random.random() < 0.3:
                cluster.ask()
        cluster.crash_after = random.choice([None, 1, 2])
        try:
            cluster.settle(1)
        except Crash:
            cluster.start()
        cluster.crash_after = None
        if random.random() < 0.5:
            cluster.settle(1)
            _nobody_is_forgotten(cluster)
    cluster.settle()
    _nobody_is_forgotten(cluster)


@pytest.mark.parametrize("seed", seeds(0.25))
def test_gangs_pass_with_their_minimum_or_not_at_all_after_random_crashes(seed: int) -> None:
    random = Random(seed)
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"5"}'))
    for number in range(STEPS):
        keys = [key for key, each in cluster.objects.items() if key[0] == "Pod" and not over(each)]
        if random.random() < 0.7:
            app = random.choice(["x", "y"])
            made = member(f"{app}{number}", app) if random.random() < 0.8 else pod(f"z{number}", "z")
            cluster.add(made)
        elif keys:
            key = random.choice(keys)
            if random.random() < 0.5 and not gated(cluster.objects[key]):
                cluster.edit(key, {"status": {"phase": "Succeeded"}})
            else:
                cluster.drop(key)
        if random.random() < 0.5:
            cluster.ask()
        cluster.turn_with_crashes(random)
        assert sum(not gated(each) and not over(each) for each in cluster.pods()) <= 5
        for app in ("x", "y"):
            _is_whole([each for each in cluster.pods() if each["metadata"]["name"].startswith(app)])


def over(each: Manifest) -> bool:
    return each.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _is_whole(members: list[Manifest]) -> None:
    """If one runs, as many have passed as exist, up to the minimum."""
    passed = [each for each in members if not gated(each)]
    if not all(over(each) for each in passed):
        assert len(passed) >= min(3, len(members)), [each["metadata"] for each in members]


def _nobody_is_forgotten(cluster: GateCluster) -> None:
    count = Recount(cluster)
    counts = cluster.controller.keeper.counts
    assert {name: 1000 * count.used[name] for name in SPACES} == {name: counts.used(name, "vcore") for name in SPACES}
    assert sum(map(gated, cluster.pods())) == sum(waiting for _, _, waiting in counts.waiting())
    for each in cluster.pods():
        if gated(each):
            assert not count.has_room(each), (each["metadata"], vars(count))
            assert each["metadata"]["annotations"]["quotree.dev/quota-waits"]
