"""Computes the queues in which placement rules put the work of Namespaces and Pods, and which ones they create."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policies.dialects import yunikorn
from policies.dialects.core import Namespace, Pod
from policies.dialects.yunikorn_config.dynamic import Leaf, with_tags
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Partition, amounts
from policies.dialects.yunikorn_config.placement import OpenPartition, ReportedApplication, placed
from policies.migration.building import QueueMapping
from policies.migration.model import NotKept

_BYPASSED = "kube-"
"""The prefix of Kubernetes' own namespaces. By default, YuniKorn's admission controller ignores kube-system."""


@dataclass
class MigratedPlaces:
    """Collects the placements. `lost`: what of Namespaces and Pods cannot be migrated."""

    partition: Partition
    lost: list[NotKept] = field(default_factory=list)
    _leaves: dict[str, tuple[Leaf, str]] = field(default_factory=dict)
    _tags: dict[str, dict[str, str]] = field(default_factory=dict)

    def namespaces(self, every: Iterable[Namespace]) -> list[QueueMapping]:
        """The queue of each Namespace for work that names no queue."""
        found = []
        for namespace in sorted(every, key=lambda each: each.ref.name):
            name, enabled = namespace.ref.name, yunikorn.enabled(namespace)
            self._tags[name] = {"namespace": name, **yunikorn.application_tags(namespace)}
            if enabled is False or (name.startswith(_BYPASSED) and enabled is None):
                continue
            declares = any(key in namespace.annotations for key in yunikorn.QUOTA_KEYS)
            if path := self._place(name, "", complain=declares):
                found.append(QueueMapping(name, path, default=True))
        return found

    def pods(self, every: Iterable[Pod]) -> list[QueueMapping]:
        """The queues of Pods that name one."""
        mine = [pod for pod in every if pod.scheduler_name == yunikorn.SCHEDULER and pod.yunikorn_queue]
        named = sorted({(pod.ref.namespace, pod.yunikorn_queue or "") for pod in mine})
        placed = ((namespace, self._place(namespace, queue, complain=True)) for namespace, queue in named)
        return [QueueMapping(namespace, path) for namespace, path in placed if path]

    def leaves(self) -> Iterator[Leaf]:
        """The queues that placement rules create."""
        return (leaf for leaf, _ in self._leaves.values())

    def inner(self) -> list[str]:
        """The ancestors of these queues, declared or not."""
        steps = (path.split(".") for path in self._leaves)
        return sorted({".".join(each[:length]) for each in steps for length in range(2, len(each))})

    def _place(self, namespace: str, queue: str, *, complain: bool) -> str:
        application = ReportedApplication(queue=queue, tags=self._tags.get(namespace, {"namespace": namespace}))
        placement = placed(self.partition.rules, OpenPartition(self.partition), application)
        path = placement.queue.lower()
        called = f"Namespace {namespace}"
        if not path:
            if complain:
                work = f"work that names {queue}" if queue else "its work"
                why = f"YuniKorn places {work} nowhere: {placement.reason}"
                self.lost.append(NotKept(called, "", why, "make a LocalQueue there by hand"))
            return ""
        if placement.created:
            self._create(path, application, namespace)
        elif not queue and (declared := [key for key in _AMOUNTS if application.tag(key)]):
            why = f"{path} is in queues.yaml, so YuniKorn does not read what the annotations say"
            self.lost.append(
                NotKept(called, f"metadata.annotations ({', '.join(declared)})", why, "nothing: no effect")
            )
        return path

    def _create(self, path: str, application: ReportedApplication, namespace: str) -> None:
        leaf = with_tags(self._templated(path), application)
        known, first = self._leaves.setdefault(path, (leaf, namespace))
        if known != leaf:
            why = f"its quota for {path} differs from that of Namespace {first}; YuniKorn takes the newer application's"
            self.lost.append(NotKept(f"Namespace {namespace}", "metadata.annotations", why, "give both the same quota"))
        if leaf.max_applications and first == namespace:
            why = "Kueue does not count workloads"
            self.lost.append(NotKept(f"Namespace {namespace}", "namespace.maxApps", why, "limit `pods` in its quota"))

    def _templated(self, path: str) -> Leaf:
        """The queue with the values of the nearest child template of its ancestors."""
        above: ConfiguredQueue | None = None
        here = path
        while "." in here and above is None:
            here = here.rpartition(".")[0]
            queue = self.partition.queue(here)
            above = queue if queue is not None and queue.template is not None else None
        if above is None or above.template is None:
            return Leaf(path, managed=False)
        template = above.template
        return Leaf(path, False, amounts(template.maximum), amounts(template.guaranteed), template.max_applications)


_AMOUNTS = ("namespace.resourcequota", "namespace.resourceguaranteed", "namespace.resourcemaxapps")
