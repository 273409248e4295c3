"""The messages for flavors that do not fit."""

from __future__ import annotations

import pytest

from policies.dialects.taints import Taint
from scheduling.flavors.assigner import assign
from scheduling.flavors.messages import amount_text, assignment_text, considered_text, text
from scheduling.flavors.reasons import (
    BeyondMaximum,
    FlavorNotAllowed,
    FlavorOfPredecessor,
    ForTopology,
    Missing,
    NotNominated,
    Reason,
    Short,
    Undeclared,
    Unselected,
    Untolerated,
    WithoutTopology,
)
from scheduling.objects.amounts import FlavorResource
from tests.scheduling.flavors.drawn_flavors import state
from tests.scheduling.manifests import pod_set, workload

MEMORY = FlavorResource("f", "memory")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (Undeclared("gpu"), "resource gpu unavailable in ClusterQueue"),
        (Missing("f"), "flavor f not found"),
        (FlavorNotAllowed("f"), "skipping flavor f due to WorkloadAllowedResourceFlavorAnnotation annotation"),
        (
            NotNominated("f", "cpu"),
            "skipping flavor f as it is not found in the nomination mapping for resource cpu",
        ),
        (FlavorOfPredecessor("f", "g"), "could not assign f flavor since the original workload is assigned: g"),
        (ForTopology("f"), 'Flavor "f" supports only TopologyAwareScheduling'),
        (WithoutTopology("f"), 'Flavor "f" does not support TopologyAwareScheduling'),
        (Untolerated("f", Taint("k", "v", "NoSchedule")), "untolerated taint {k v NoSchedule <nil>} in flavor f"),
        (Unselected("f"), "flavor f doesn't match node affinity"),
        (
            BeyondMaximum(FlavorResource("f", "cpu"), 1500, 2000, 3000),
            (
                "insufficient quota for cpu in flavor f, previously considered podsets requests (1500m)"
                " + current podset request (2) > maximum capacity (3)"
            ),
        ),
        (Short(MEMORY, 3 * 2**20, 2**20), "insufficient unused quota for memory in flavor f, 2Mi more needed"),
    ],
)
def test_each_reason_has_its_message(reason: Reason, expected: str) -> None:
    assert text(reason) == expected


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("cpu", 500, "500m"),
        ("memory", 2048, "2Ki"),
        ("memory", 1000, "1k"),
        ("ephemeral-storage", 2**30, "1Gi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("example.com/gpu", 2048, "2048"),
        ("pods", 3, "3"),
    ],
)
def test_amounts_are_written_in_the_units_of_their_resource(resource: str, amount: int, expected: str) -> None:
    assert amount_text(resource, amount) == expected


def test_the_reasons_of_a_pod_set_are_reported_in_order() -> None:
    world = state("[q]  two/cpu=1 one/cpu=2")

    found = assign(world, world.queues["q"], workload(pod_set("p", cpu="3")))

    assert assignment_text(found) == (
        "couldn't assign flavors to pod set p: "
        "insufficient quota for cpu in flavor one, previously considered podsets requests (0)"
        " + current podset request (3) > maximum capacity (2), "
        "insufficient quota for cpu in flavor two, previously considered podsets requests (0)"
        " + current podset request (3) > maximum capacity (1)"
    )


def test_the_message_lists_the_pod_sets_that_do_not_fit_in_order() -> None:
    world = state("[q]  one/cpu=2 one/cpu:1 one/gpu=2 one/gpu:2")

    found = assign(
        world, world.queues["q"], workload(pod_set("a", cpu="1"), pod_set("b", cpu="1"), pod_set("c", cpu="0"))
    )

    assert assignment_text(found) == (
        "couldn't assign flavors to pod set b: insufficient unused quota for cpu in flavor one, 1 more needed;"
        " couldn't assign flavors to pod set c: insufficient unused quota for cpu in flavor one, 1 more needed"
    )


def test_flavors_that_need_borrowing_or_preemption_are_reported_with_their_mode() -> None:
    world = state(
        """
        org
          [q]  one/cpu=2 one/cpu:2 two/cpu=0
          [r]  two/cpu=2
        """
    )

    found = assign(world, world.queues["q"], workload(pod_set("p", cpu="1"), pod_set("a", cpu="1")))

    assert considered_text(found) == (
        "p: one(preemptionMode=NoCandidates;insufficient unused quota for cpu in flavor one, 1 more needed),"
        " two(Fit;borrow=1) |"
        " a: one(preemptionMode=NoCandidates;insufficient unused quota for cpu in flavor one, 1 more needed),"
        " two(Fit;borrow=1)"
    )


def test_a_flavor_that_fits_at_once_is_not_reported() -> None:
    world = state("[q]  one/cpu=2")

    assert considered_text(assign(world, world.queues["q"], workload(pod_set("p", cpu="1")))) == ""
