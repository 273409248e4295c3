"""Tenants, a kubelet and administrators of quotas, who load a reconciler with gates at random."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.errors import Conflict, Forbidden, NotFound
from cluster.resource import NAMESPACES, PODS
from tests.apiserver.yunikorn.gated_world import GATE, is_gated
from tests.builders import Manifest
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
from tests.waiting import eventually

CONFIG_MAP = "/api/v1/namespaces/yunikorn/configmaps/yunikorn-configs"
_MOST_WAITING = 15


class GateLoad:
    """Straight at the API server, drawn from a seed. `there`: the Pods that were created and that nobody deleted."""

    def __init__(self, cluster: ClusterClient, seed: int) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.there: set[str] = set()
        self.happened: Counter[str] = Counter()
        self._made = 0

    def prepare(self) -> None:
        self.cluster.create("/api/v1/namespaces", {"metadata": {"name": "yunikorn"}})
        self.cluster.create(CONFIG_MAP.rpartition("/")[0], queues(5, 6, 4))
        for made in spaces():
            self.cluster.create(NAMESPACES.collection(), made)
            eventually(lambda name=made["metadata"]["name"]: self._is_marked(name))

    def act(self) -> None:
        actions: list[tuple[int, Callable[[], object]]] = [
            (8, self._submit),
            (3, self._submit_gang),
            (4, self._bind),
            (6, self._end),
            (2, self._delete_any),
            (4, self._kubelet),
            (2, self._quota),
            (1, self._parent),
            (1, self._queues),
        ]
        weights = [weight for weight, _ in actions]
        chosen = self.chance.choices([action for _, action in actions], weights)[0]
        try:
            chosen()
        except Forbidden:
            self.happened[f"refused {chosen.__name__}"] += 1
        except (Conflict, NotFound):
            self.happened["too late"] += 1

    def relax(self) -> None:
        """Quotas become such that each Pod and each gang fits alone."""
        self.cluster.patch(CONFIG_MAP, queues(), MERGE_PATCH)
        for name in PARENTS:
            self._annotate(name, ROOMY)

    def fill(self) -> None:
        """Quotas become tight, and Pods ask for all that there is."""
        for name in PARENTS:
            self._annotate(name, {**TIGHT, **home(name)})
        self.cluster.patch(CONFIG_MAP, tight_queues(), MERGE_PATCH)
        self._create(last_pods())

    def drain(self) -> None:
        """All that has passed ends."""
        for each in self.pods():
            if not is_gated(each) and not _is_over(each):
                self._finish(each)
        self._kubelet()

    def pods(self) -> list[Manifest]:
        found = self.cluster.snapshot(PODS, lambda each: each).items
        return [each for each in found if each["metadata"]["namespace"] in PARENTS]

    def wrong_at_rest(self) -> list[str]:
        """What should not be once all is quiet; empty where nothing is."""
        stored = Recount(lag=0)
        stored.queues(self.cluster.get(CONFIG_MAP), 0)
        for name in PARENTS:
            stored.namespace(self.cluster.get(NAMESPACES.item(name)), 0)
        there = self.pods()
        for each in there:
            stored.pod(each, 0)
        lost = [f"{name} is lost" for name in sorted(self.there - {_key(each) for each in there})]
        return [*stored.forgotten(), *stored.torn(), *lost]

    # --- tenants

    def _submit(self) -> None:
        """Some more; of those that wait and are too many some are given up."""
        waiting = [each for each in self.pods() if is_gated(each)]
        for each in self.chance.sample(waiting, max(0, len(waiting) - _MOST_WAITING)):
            self._delete(each)
        self._create(random_pods(self.chance, self._made))

    def _submit_gang(self) -> None:
        self._create(random_gang(self.chance, self._made))

    def _create(self, made: list[Manifest]) -> None:
        for each in made:
            self._made += 1
            self.cluster.create(PODS.collection(each["metadata"]["namespace"]), each)
            self.there.add(_key(each))

    def _delete_any(self) -> None:
        if found := self.pods():
            self._delete(self.chance.choice(found))

    def _delete(self, each: Manifest, grace: int | None = None) -> None:
        self.there.discard(_key(each))
        with suppress(NotFound):
            self.cluster.delete(_path(each), uid=each["metadata"]["uid"], grace_seconds=grace)

    # --- scheduler and kubelet

    def _bind(self) -> None:
        free = [each for each in self.pods() if not is_gated(each) and "nodeName" not in each["spec"]]
        for each in self.chance.sample(free, min(2, len(free))):
            if not _is_over(each):
                target = {"metadata": {"name": each["metadata"]["name"]}, "target": {"kind": "Node", "name": "n"}}
                self.cluster.create(f"{_path(each)}/binding", target)
                self.cluster.patch(f"{_path(each)}/status", {"status": {"phase": "Running"}}, MERGE_PATCH)

    def _end(self) -> None:
        running = [each for each in self.pods() if not is_gated(each) and not _is_over(each)]
        for each in self.chance.sample(running, min(self.chance.randint(1, 4), len(running))):
            self._finish(each)

    def _finish(self, each: Manifest) -> None:
        phase = self.chance.choice(("Succeeded", "Succeeded", "Failed"))
        with suppress(NotFound):
            self.cluster.patch(f"{_path(each)}/status", {"status": {"phase": phase}}, MERGE_PATCH)

    def _kubelet(self) -> None:
        """Pods that are on their way out are gone, and some of those that have ended."""
        for each in self.pods():
            if "deletionTimestamp" in each["metadata"] or (_is_over(each) and self.chance.random() < 0.4):
                self._delete(each, 0)

    # --- administrators

    def _quota(self) -> None:
        self._annotate(self.chance.choice([*PARENTS]), random_quota(self.chance))

    def _parent(self) -> None:
        self._annotate(*random_parent(self.chance))

    def _queues(self) -> None:
        self.cluster.patch(CONFIG_MAP, random_queues(self.chance), MERGE_PATCH)
        self.happened["queues.yaml"] += 1

    def _annotate(self, name: str, notes: Annotations) -> None:
        self.cluster.patch(NAMESPACES.item(name), written(notes), MERGE_PATCH)
        self.happened["annotations"] += 1

    def _is_marked(self, name: str) -> bool:
        """The webhook may not be asked at first: its configuration takes a moment to be followed."""
        touched = {"metadata": {"annotations": {"touched": "again"}}}
        return GATE in self.cluster.patch(NAMESPACES.item(name), touched, MERGE_PATCH)["metadata"]["labels"]


def _key(each: Manifest) -> str:
    return f"{each['metadata']['namespace']}/{each['metadata']['name']}"


def _path(each: Manifest) -> str:
    return PODS.item(each["metadata"]["name"], each["metadata"]["namespace"])


def _is_over(each: Manifest) -> bool:
    return each["status"].get("phase") in ("Succeeded", "Failed")
