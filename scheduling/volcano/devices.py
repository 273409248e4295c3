"""Devices by class: the claims of pods in each queue, and the capability that limits them.

A claim that several pods share counts once in each queue. A class that a queue's capability does not name is unlimited
there, and nothing is inherited. Source: Volcano v1.16, pkg/scheduler/plugins/capacity, draQuotaAttr.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts, Shortage, total
from scheduling.volcano.objects import Devices, Task
from scheduling.volcano.queues import Node

_COUNT = "deviceclass/"
_CAPACITY = ".deviceclass/"


class DeviceUse:
    """The devices that pods claim and that jobs reserve, by queue.

    capacities: whether limits on capacities of devices count, such as `memory.deviceclass/gpu`.
    """

    def __init__(self, *, capacities: bool = False) -> None:
        self._capacities = capacities
        self._used: dict[str, dict[str, int]] = {}  # claimed amounts by queue
        self._reserved: dict[str, dict[str, int]] = {}  # reserved amounts by queue
        self._claims: dict[str, Counter[str]] = {}  # by queue: how many pods have each claim

    def add(self, path: Iterable[Node], task: Task) -> None:
        for node in path if task.claims else ():
            claims = self._claims.setdefault(node.name, Counter())
            for name, devices in task.claims.items():
                if not claims[name]:
                    add_to(self._used.setdefault(node.name, {}), devices)
                claims[name] += 1

    def remove(self, path: Iterable[Node], task: Task) -> None:
        for node in path if task.claims else ():
            claims = self._claims[node.name]
            for name, devices in task.claims.items():
                claims[name] -= 1
                if not claims[name]:
                    del claims[name]
                    add_to(self._used[node.name], devices, -1)

    def reserve(self, path: Iterable[Node], devices: Amounts) -> None:
        for node in path if devices else ():
            add_to(self._reserved.setdefault(node.name, {}), devices)

    def short_for_task(self, node: Node, task: Task) -> tuple[Shortage, ...]:
        """The devices that the queue lacks for the pod.

        A claim that another pod of the queue shares is already counted.
        """
        claims = self._claims.get(node.name, Counter())
        new = total(*(devices for name, devices in task.claims.items() if not claims[name]))
        return tuple(self._short(node, self._used.get(node.name, {}), new))

    def short_for_job(self, node: Node, least: Amounts) -> tuple[Shortage, ...]:
        used = total(self._used.get(node.name, {}), self._reserved.get(node.name, {}))
        return tuple(self._short(node, used, least))

    def _short(self, node: Node, used: Amounts, request: Amounts) -> Iterator[Shortage]:
        limits = node.settings.devices
        for name in sorted(request):
            there, asked = used.get(name, 0), request[name]
            if name.startswith(_COUNT):
                limit = limits.get(name, 0)
                if limit and there + asked > limit:
                    yield Shortage(node.name, name, there, asked, limit)
            elif self._capacities and _limits_class(limits, name) and there + asked > limits.get(name, 0):
                yield Shortage(node.name, name, there, asked, limits.get(name, 0))


def _limits_class(limits: Devices, capacity: str) -> bool:
    """Whether the class of this capacity is limited at all, by a count or by any capacity."""
    device_class = capacity.partition(_CAPACITY)[2]
    return any(name == _COUNT + device_class or name.endswith(_CAPACITY + device_class) for name in limits)
