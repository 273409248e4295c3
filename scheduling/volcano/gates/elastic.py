"""The elastic part of PodGroups: the usage of their Pods beyond minResources. Volcano does not count it at enqueue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scheduling.objects.amounts import add_to
from scheduling.volcano.gates.gated_pod import Need


class ElasticParts:
    """PodGroups with their minResources, and the Pods of each that use quota."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[str, Need]] = {}  # PodGroup and usage of each Pod
        self._used: dict[str, dict[str, int]] = {}  # the sum of usage by PodGroup
        self._groups: dict[str, tuple[str, Need]] = {}  # queue and minResources of each PodGroup

    def put_pod(self, key: str, group: str, need: Need | None) -> None:
        """Store a Pod of the PodGroup `namespace/name`. `need`: its usage; None if it uses nothing."""
        before = self._pods.pop(key, None)
        if need is not None and group:
            self._pods[key] = group, need
            add_to(self._used.setdefault(group, {}), dict(need.amounts))
        if before is not None:
            add_to(self._used[before[0]], dict(before[1].amounts), -1)
            if not self._used[before[0]]:
                del self._used[before[0]]

    def put_group(self, name: str, queue: str, minimum: Need | None) -> None:
        """Store a PodGroup. `minimum`: its minResources; None removes it."""
        self._groups.pop(name, None)
        if minimum is not None:
            self._groups[name] = queue, minimum

    def by_queue(self) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield the queue and the elastic amounts of each PodGroup that uses more than its minimum."""
        for name, used in self._used.items():
            if name in self._groups:
                queue, minimum = self._groups[name]
                least = dict(minimum.amounts)
                more = {key: amount - least.get(key, 0) for key, amount in used.items() if amount > least.get(key, 0)}
                if more:
                    yield queue, more
