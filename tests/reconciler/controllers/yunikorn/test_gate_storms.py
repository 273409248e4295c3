"""Random runs with all of it: gangs, edits of every kind of quota, queues in trees, crashes after any write."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from tests.builders import Manifest
from tests.profiles import seeds
from tests.reconciler.controllers.gates.cluster import gated
from tests.reconciler.controllers.turns import Crash
from tests.reconciler.controllers.yunikorn.gate_cluster import GateCluster
from tests.reconciler.controllers.yunikorn.quota_recount import Recount
from tests.reconciler.controllers.yunikorn.random_gates import (
    PARENTS,
    ROOMY,
    TIGHT,
    Annotations,
    home,
    last_pods,
    queues,
    random_gang,
    random_parent,
    random_pods,
    random_queues,
    random_quota,
    spaces,
    tight_queues,
    written,
)

STEPS = 20


class Recounted(GateCluster):
    """Fails at the write that lets a Pod pass that does not fit."""

    def __init__(self, *objects: Manifest) -> None:
        self.recount = Recount(lag=0)
        super().__init__(*objects)

    def put(self, key: tuple[str, str], made: Manifest) -> None:
        super().put(key, made)
        if key[0] == "Pod":
            assert not self.recount.pod(self.objects[key], self.version)
        elif key[0] == "Namespace":
            self.recount.namespace(made, self.version)
        else:
            self.recount.queues(made, self.version)

    def drop(self, key: tuple[str, str]) -> None:
        self.recount.pod(self.objects[key], self.version, gone=True)
        super().drop(key)


def _happens(cluster: Recounted, chance: Random, number: int) -> None:
    pods = [key for key in cluster.objects if key[0] == "Pod"]
    running = [key for key in pods if not gated(cluster.objects[key])]
    match chance.randrange(10):
        case 0 | 1 | 2:
            _create(cluster, random_pods(chance, number))
        case 3 | 4:
            _create(cluster, random_gang(chance, number))
        case 5 if pods:
            cluster.drop(chance.choice(pods))
        case 6 | 7 if running:
            cluster.end(chance.choice(running)[1], chance.choice(("Succeeded", "Failed")))
        case 8:
            name, notes = chance.choice([*PARENTS]), random_quota(chance)
            if chance.random() < 0.3:
                name, notes = random_parent(chance)
            cluster.edit(("Namespace", name), written(notes))
        case 9:
            cluster.put(("ConfigMap", "yunikorn/yunikorn-configs"), random_queues(chance))


def _create(cluster: Recounted, made: list[Manifest]) -> None:
    for each in made:
        if ("Pod", f"{each['metadata']['namespace']}/{each['metadata']['name']}") not in cluster.objects:
            cluster.add(each)


@pytest.mark.parametrize("seed", seeds(0.4))
def test_random_runs_exceed_no_quota_and_all_pods_run_in_the_end(seed: int) -> None:
    chance = Random(seed)
    cluster = Recounted(queues(5, 6, 4), *spaces())
    for step in range(STEPS):
        for each in range(chance.randint(1, 3)):
            _happens(cluster, chance, 100 * step + 10 * each)
        cluster.crash_after = chance.choice((None, 1, 2))
        try:
            cluster.settle(1)
        except Crash:
            cluster.start()
        cluster.crash_after = None
        if chance.random() < 0.5:
            cluster.settle(1)
            assert not [*cluster.recount.forgotten(), *cluster.recount.torn()]
    _all_run(cluster)


def _all_run(cluster: Recounted) -> None:
    """Passed Pods end until none waits. Then all room must be free again: Pods that request all of it pass."""
    _edit(cluster, queues(), dict.fromkeys(PARENTS, ROOMY))
    for _ in range(100):
        cluster.settle(1)
        assert not [*cluster.recount.forgotten(), *cluster.recount.torn()]
        running = [each for each in cluster.recount.pods.values() if each.runs]
        for each in running:
            cluster.end(each.name)
        if not running:
            break
    assert not cluster.gated()

    _edit(cluster, tight_queues(), {name: {**TIGHT, **home(name)} for name in PARENTS})
    _create(cluster, last_pods())
    cluster.settle(1)
    assert not cluster.gated()


def _edit(cluster: Recounted, made: Manifest, notes: Mapping[str, Annotations]) -> None:
    cluster.put(("ConfigMap", "yunikorn/yunikorn-configs"), made)
    for name, each in notes.items():
        cluster.edit(("Namespace", name), written(each))
