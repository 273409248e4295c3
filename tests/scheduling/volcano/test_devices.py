"""Devices by class: limits on every level, claims that pods share, capacities."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.queue_tree.amounts import Shortage
from scheduling.volcano.actions import run
from scheduling.volcano.devices import DeviceUse
from scheduling.volcano.objects import Devices, Task, VolcanoQueueSettings
from scheduling.volcano.queues import QueueAccounts
from tests.scheduling.volcano.drawn import SessionSetup, engine_with, group, node, pod

GPU, SIZE = "deviceclass/gpu.com", "memory.deviceclass/gpu.com"


def tree(**limits: Devices) -> QueueAccounts:
    """`P` with `Q` below it."""
    queues = QueueAccounts()
    for name, above in (("root", ""), ("P", "root"), ("Q", "P")):
        queues.put(VolcanoQueueSettings(name, above, devices=limits.get(name, {})))
    return queues


def claiming(name: str, claim: str, devices: Devices) -> Task:
    return replace(pod(name, "g", "cpu=1"), claims={claim: devices})


def test_a_device_limit_of_an_ancestor_counts_and_a_class_without_one_is_unlimited() -> None:
    queues, use = tree(P={GPU: 2}), DeviceUse()
    use.add(queues.tree.nodes["Q"].up(), claiming("a", "one", {GPU: 2}))
    more = claiming("b", "two", {GPU: 1})

    assert use.short_for_task(queues.tree.nodes["Q"], more) == ()
    assert use.short_for_task(queues.tree.nodes["P"], more) == (Shortage("P", GPU, used=2, requested=1, limit=2),)


def test_a_shared_claim_counts_once_until_its_last_pod_is_removed() -> None:
    queues, use = tree(Q={GPU: 2}), DeviceUse()
    node, a, b = queues.tree.nodes["Q"], claiming("a", "one", {GPU: 2}), claiming("b", "one", {GPU: 2})
    use.add(node.up(), a)
    assert use.short_for_task(node, b) == ()
    use.add(node.up(), b)
    use.remove(node.up(), a)
    assert use.short_for_task(node, claiming("c", "two", {GPU: 1})) != ()

    use.remove(node.up(), b)

    assert use.short_for_task(node, claiming("c", "two", {GPU: 2})) == ()


@pytest.mark.parametrize(("capacities", "short"), [(False, 0), (True, 1)])
def test_device_capacities_count_only_if_enabled(capacities: bool, short: int) -> None:
    queues, use = tree(Q={GPU: 4, SIZE: 10}), DeviceUse(capacities=capacities)

    found = use.short_for_task(queues.tree.nodes["Q"], claiming("a", "one", {GPU: 1, SIZE: 11}))

    assert len(found) == short


def test_a_capacity_of_a_device_class_without_limits_is_unlimited() -> None:
    queues, use = tree(Q={"deviceclass/other": 1}), DeviceUse(capacities=True)

    assert use.short_for_task(queues.tree.nodes["Q"], claiming("a", "one", {GPU: 1, SIZE: 11})) == ()


def test_a_podgroup_reserves_devices_when_it_is_enqueued() -> None:
    queues = [VolcanoQueueSettings("root"), VolcanoQueueSettings("Q", devices={GPU: 2})]
    groups = [group("a", "Q", "Pending"), group("g", "Q", "Pending", "cpu=1")]
    first = replace(claiming("a", "one", {GPU: 2}), group="ns/a")

    outcome = run(
        engine_with(
            SessionSetup(queues, groups, [first, claiming("b", "two", {GPU: 1})], [node("n1", "cpu=9")])
        ).session(),
        ["enqueue"],
    )

    assert outcome.phases == {"ns/a": "Inqueue", "ns/g": "Pending"}
    assert str(outcome.refusals["ns/g"][0]) == (
        "queue Q would exceed its capability of devices: deviceclass/gpu.com 2 used + 1 requested > 2, 1 short"
    )
