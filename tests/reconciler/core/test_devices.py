"""Conditions follow the objects that say how many devices the pods of a Workload request."""

from __future__ import annotations

from typing import Any

from policies.amounts.devices import DeviceSettings
from scheduling.objects.requests import Counting
from tests.reconciler.plain_queues import workload
from tests.reconciler.prompt import Manifest, Prompt

NAME = ("Workload", "ns/w")
COUNTED = Counting(devices=DeviceSettings({"gpu.example.com": "gpus"}))


def requested_by_default(amount: str) -> Manifest:
    limits = {"type": "Container", "defaultRequest": {"example.com/gpu": amount}}
    return {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": [limits]}}


def condition(world: Prompt, kind: str) -> dict[str, Any]:
    (found,) = (each for each in world.objects[NAME]["status"]["conditions"] if each["type"] == kind)
    return found


def test_a_limit_range_that_makes_devices_uncountable_is_named_until_it_is_mended() -> None:
    world = Prompt((), counting=COUNTED)
    gpus = {"metadata": {"name": "gpu.example.com"}, "spec": {"extendedResourceName": "example.com/gpu"}}
    world.put(("DeviceClass", "gpu.example.com"), gpus)
    world.put(NAME, workload("w", 1, "q0", 9, 0))
    world.rounds(3)

    world.put(("LimitRange", "ns/l"), requested_by_default("500m"))
    world.rounds(3)
    assert condition(world, "QuotaReserved")["message"].endswith("extended resource quantity must be an integer")
    assert condition(world, "Requeued")["status"] == "False"

    world.put(("LimitRange", "ns/l"), requested_by_default("1"))
    world.rounds(3)
    assert "gpus" in condition(world, "QuotaReserved")["message"]
    assert condition(world, "Requeued")["status"] == "True"
