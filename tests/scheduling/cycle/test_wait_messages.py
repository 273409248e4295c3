"""The messages in the conditions of a head that was tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.amounts.limit_ranges import summarize
from policies.dialects.selectors import read_label_selector
from policies.model.pools import Terms
from scheduling.cycle.cycle import DEFERRED, NO_LONGER_FITS, OVERLAPPING, try_alone
from scheduling.objects.queue_settings import ANY, LOWER_PRIORITY, STRICT_FIFO, PreemptionPolicy
from scheduling.objects.workload import CheckState, Workload
from scheduling.quota.state import Options
from scheduling.world.decisions import Wait
from tests.scheduling.cluster import FLAVORS, NAMESPACE, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

PREEMPTION = PreemptionPolicy(LOWER_PRIORITY, ANY)
ONLY_ONE = summarize([{"spec": {"limits": [{"type": "Container", "max": {"gpu": "1"}}]}}])

TAKEN = "Workload has overlapping preemption targets with another workload"


def cluster(*queues: tuple[str, int], options: Options | None = None, **fields: object) -> Cluster:
    made = Cluster(options or Options())
    for name, nominal in queues:
        made.put_queue(queue_settings(name, "team", {FLAVORS[0]: Terms(nominal)}, **fields))
    return made


def asks(name: str, queue: str, gpus: int, at: int = 1) -> Workload:
    made = workload(pod_set(gpu=str(gpus)), spec={"queueName": queue}, name=name, uid=name)
    return replace(made, created=at)


def reported(made: Cluster, name: str) -> tuple[str, str, str]:
    return made.workloads[f"{NAMESPACE}/{name}"].conditions["QuotaReserved"][:3]


def test_a_head_with_failed_checks_reports_them() -> None:
    made = cluster(("a", 1))
    made.put(replace(asks("w", "a", 1), checks=(CheckState("c", "Retry"),)))
    made.step()

    assert reported(made, "w") == ("False", "Pending", "The workload has failed admission checks")


def test_a_head_reports_a_namespace_that_the_queue_does_not_select() -> None:
    selector = read_label_selector({"matchLabels": {"team": "x"}})
    made = cluster(("a", 1))
    made.put_queue(replace(made.queues["a"], selector=selector))
    made.put(asks("w", "a", 1))
    made.step()

    assert reported(made, "w") == ("False", "Pending", "workload namespace doesn't match ClusterQueue selector")


def test_a_head_that_still_waits_reports_the_current_amount() -> None:
    made = cluster(("a", 2), ("b", 4))
    made.put_queue(replace(made.queues["a"], strategy=STRICT_FIFO))
    made.put(asks("first", "b", 3))
    made.settle()
    made.put(asks("head", "a", 5))
    made.settle()
    assert reported(made, "head")[2].endswith(f"in flavor {FLAVORS[0]}, 2 more needed")

    made.put(asks("second", "b", 1))
    made.settle()

    assert reported(made, "head")[2].endswith(f"in flavor {FLAVORS[0]}, 3 more needed")


def test_a_head_reports_pods_that_could_never_be_created() -> None:
    over = pod_set(gpu="1")
    over["template"]["spec"]["containers"][0]["resources"]["limits"] = {"gpu": "0"}
    made = cluster(("a", 4))
    made.put(workload(over, spec={"queueName": "a"}, name="over", uid="over"))
    made.step()
    assert reported(made, "over")[:2] == ("False", "Pending")
    assert reported(made, "over")[2].startswith("resources validation failed: ")

    made.world.put_limit_ranges(NAMESPACE, ONLY_ONE)
    made.put(asks("large", "a", 2))
    made.settle()
    assert reported(made, "large")[:2] == ("False", "Pending")
    assert reported(made, "large")[2].startswith("resources didn't satisfy LimitRange constraints: ")


def test_a_head_reports_the_missing_quota() -> None:
    made = cluster(("a", 2))
    made.put(asks("never", "a", 3))
    made.settle()
    assert reported(made, "never")[2] == (
        "couldn't assign flavors to pod set main: insufficient quota for gpu in flavor on-demand, "
        "previously considered podsets requests (0) + current podset request (3) > maximum capacity (2)"
    )
    made.put(asks("runs", "a", 2))
    made.settle()
    made.put(asks("waits", "a", 1))
    made.settle()

    assert reported(made, "waits")[2] == (
        "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor on-demand, 1 more needed"
    )


def test_a_head_reports_that_another_workload_came_first() -> None:
    made = cluster(("a", 2), ("b", 2))
    made.put(asks("a1", "a", 3, at=1))
    made.put(asks("b1", "b", 3, at=2))
    made.step()

    assert reported(made, "b1") == ("False", "Pending", NO_LONGER_FITS)
    assert NO_LONGER_FITS == "Workload no longer fits after processing another workload"


@pytest.mark.parametrize(
    ("recompute", "message"),
    [
        (False, TAKEN),
        (True, f"{TAKEN}, but will fit after these preemptions complete"),
    ],
)
def test_a_head_reports_victims_that_another_head_took(recompute: bool, message: str) -> None:
    made = cluster(
        *(("a", 1), ("b", 1), ("c", 0)), options=Options(recompute_on_overlap=recompute), preemption=PREEMPTION
    )
    made.put(asks("both", "c", 2))
    made.settle()
    made.put(asks("a1", "a", 1, at=1))
    made.put(asks("b1", "b", 1, at=2))
    made.step()

    pending = "insufficient unused quota for gpu in flavor on-demand, 1 more needed. Pending the preemption of 1"
    assert reported(made, "a1")[2] == f"couldn't assign flavors to pod set main: {pending} workload(s)"
    assert reported(made, "b1") == ("False", "Pending", message)
    assert message in (OVERLAPPING, DEFERRED)


def test_the_requests_of_a_tried_workload_are_shown_until_it_has_quota() -> None:
    made = cluster(("a", 2))
    made.put(asks("w", "a", 3))
    made.settle()
    assert made.workloads["ns/w"].resource_requests == {"main": {"gpu": 3}}

    made.put_queue(queue_settings("a", "team", {FLAVORS[0]: Terms(3)}))
    made.settle()
    assert (made.running(), made.workloads["ns/w"].resource_requests) == (["ns/w"], {})


def test_a_trial_names_a_queue_that_is_deleted_or_inactive() -> None:
    made = cluster(("a", 2))
    made.put(asks("w", "a", 1))
    entry = made.world.queues.pending["a"].get("ns/w")
    made.world.drop_flavor(FLAVORS[0])

    inactive, gone = try_alone(made.world, "a", entry), try_alone(made.world, "b", entry)

    assert isinstance(inactive, Wait)
    assert isinstance(gone, Wait)
    assert (inactive.message, gone.message) == ("ClusterQueue a is inactive", "ClusterQueue b not found")


def test_a_trial_does_not_change_the_workload() -> None:
    made = cluster(("a", 2))
    made.put(asks("w", "a", 3))
    entry = made.world.queues.pending["a"].get("ns/w")
    assert entry is not None
    before = replace(entry)

    assert try_alone(made.world, "a", entry) is not None

    assert repr(entry) == repr(before)
