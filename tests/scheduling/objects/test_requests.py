"""The requests of a workload, by pod set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.amounts.devices import DeviceCharge
from policies.amounts.requests import Transformation
from policies.model.quantity import Quantity
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.requests import Counting, per_pod, total_requests, usage
from scheduling.objects.workload import Workload
from tests.scheduling.manifests import condition, pod_set, workload


def asked(work: Workload, counting: Counting | None = None) -> list[tuple[int, dict[str, int]]]:
    return [(entry.count, dict(entry.requests)) for entry in total_requests(work, counting or Counting())]


def assigned(count: int | None, cpu: str, done: int = 0, size: int = 5) -> Workload:
    entry = {"name": "main", "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": cpu}, "count": count}
    status = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": [entry]},
        "conditions": [condition("QuotaReserved")],
        "reclaimablePods": [{"name": "main", "count": done}],
    }
    return workload(pod_set(count=size, cpu="1"), status=status)


def test_the_request_of_a_pod_is_rounded_up_before_it_is_multiplied() -> None:
    assert asked(workload(pod_set(count=3, cpu="100u", memory="500m"))) == [(3, {"cpu": 3, "memory": 3})]


def test_pods_that_are_done_do_not_count_while_the_gate_is_on() -> None:
    work = workload(pod_set(count=5, cpu="1"), status={"reclaimablePods": [{"name": "main", "count": 2}]})

    assert asked(work) == [(3, {"cpu": 3000})]
    assert asked(work, Counting(reclaimable_pods=False)) == [(5, {"cpu": 5000})]


def test_more_reclaimable_pods_than_the_count_leave_zero_pods() -> None:
    work = workload(pod_set(count=2, cpu="1"), status={"reclaimablePods": [{"name": "main", "count": 9}]})

    assert asked(work) == [(0, {"cpu": 0})]


def test_the_usage_of_an_admission_counts() -> None:
    assert asked(assigned(3, "6")) == [(3, {"cpu": 6000})]
    assert asked(assigned(None, "6")) == [(5, {"cpu": 6000})]


def test_the_usage_of_an_admission_shrinks_when_more_pods_are_done() -> None:
    assert asked(assigned(3, "6", done=2)) == [(3, {"cpu": 6000})]
    assert asked(assigned(3, "6", done=4)) == [(1, {"cpu": 2000})]


def test_a_pod_set_with_count_zero_has_the_request_of_one_pod() -> None:
    (entry,) = total_requests(workload(pod_set(count=0, cpu="2")))

    assert entry.requests == {"cpu": 0}
    assert entry.scaled_to(2).requests == {"cpu": 4000}


def test_usage_is_summed_by_flavor_and_resource() -> None:
    (entry,) = total_requests(assigned(3, "6"))

    assert usage([entry, entry]) == {FlavorResource("spot", "cpu"): 12000}
    assert usage(total_requests(workload(pod_set(cpu="1")))) == {FlavorResource("", "cpu"): 1000}


def test_excluded_prefixes_do_not_count() -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": "1", "example.com/a": "2", "example.org/b": "3"}}}]}

    assert asked(workload(pod_set(spec=spec)), Counting(("example.com/", "cpux"))) == [
        (1, {"cpu": 1000, "example.org/b": 3})
    ]


def test_devices_are_added_after_prefixes_and_transformations() -> None:
    """They replace the whole request for the extended resource, and count beside an equal request of the pods."""
    requests = {"cpu": "1", "example.com/gpu": "2", "gpus": "1"}
    spec = {"containers": [{"resources": {"requests": requests}}]}
    charge = DeviceCharge((("gpus", 2),), ("example.com/gpu",))
    (entry,) = workload(pod_set(count=3, spec=spec)).pod_sets
    work = replace(workload(), pod_sets=(replace(entry, devices=charge),))

    doubled = {"gpus": Transformation({"gpus": Quantity.parse("1")})}
    assert asked(work) == [(3, {"cpu": 3000, "gpus": 9})]
    assert asked(work, Counting(("gpus",))) == [(3, {"cpu": 3000, "gpus": 6})]
    assert asked(work, Counting(transformations=doubled)) == [(3, {"cpu": 3000, "gpus": 12})]


def test_a_transformation_adds_its_output_and_keeps_its_input_unless_replaced() -> None:
    outputs = {"credit": Quantity.parse("3"), "cpu": Quantity.parse("500m")}
    retained, replaced = (Transformation(outputs, replace=replace) for replace in (False, True))
    work = workload(pod_set(count=2, cpu="1", gpu="2"))

    assert asked(work, Counting(transformations={"gpu": retained})) == [(2, {"cpu": 4000, "gpu": 4, "credit": 12})]
    assert asked(work, Counting(transformations={"gpu": replaced})) == [(2, {"cpu": 4000, "credit": 12})]


def test_a_negative_output_lowers_only_other_outputs_and_not_below_zero() -> None:
    allowance = Transformation({"credit": Quantity.parse("-3")}, replace=True)
    charge = Transformation({"credit": Quantity.parse("2")}, replace=True)
    counting = Counting(transformations={"a": allowance, "b": charge})

    assert asked(workload(pod_set(a="1", b="2")), counting) == [(1, {"credit": 1})]
    assert asked(workload(pod_set(a="1", b="1")), counting) == [(1, {"credit": 0})]
    assert asked(workload(pod_set(a="1", credit="8")), counting) == [(1, {"credit": 8})]


def test_a_multiplier_counts_if_the_pod_requests_its_resource() -> None:
    by_gpu = Transformation({"total": Quantity.parse("1")}, multiply_by="gpu", replace=True)
    counting = Counting(transformations={"gpumem": by_gpu})

    assert asked(workload(pod_set(gpu="2", gpumem="1024")), counting) == [(1, {"gpu": 2, "total": 2048})]
    assert asked(workload(pod_set(gpumem="1024")), counting) == [(1, {"total": 1024})]


def test_requests_of_equal_templates_are_computed_once() -> None:
    first, second = (workload(pod_set(cpu="1", memory="7")) for _ in range(2))

    assert per_pod(first.pod_sets[0].template) is per_pod(second.pod_sets[0].template)


@pytest.mark.parametrize(
    ("of_v0_20", "counted"),
    [(True, {"cpu": 1000, "credit": 6, "total": 2048}), (False, {"cpu": 1000, "total": 1024})],
)
def test_excluded_resources_have_outputs_and_multiply_in_v0_20_only(of_v0_20: bool, counted: dict[str, int]) -> None:
    credit = Transformation({"credit": Quantity.parse("3")})
    by_gpu = Transformation({"total": Quantity.parse("1")}, multiply_by="ex/gpu", replace=True)
    counting = Counting(("ex/",), {"ex/gpu": credit, "mem": by_gpu}, transforms_excluded=of_v0_20)
    spec = {"containers": [{"resources": {"requests": {"cpu": "1", "ex/gpu": "2", "mem": "1024"}}}]}

    assert asked(workload(pod_set(spec=spec)), counting) == [(1, counted)]
