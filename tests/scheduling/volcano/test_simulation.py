"""Simulations of Volcano's queues: work is added, runs, is evicted and finishes."""

from __future__ import annotations

import random
from math import inf
from typing import Any

import pytest

from policies.model.objects import Ref
from scheduling.volcano.objects import Status
from scheduling.volcano.play.simulation import Enqueued, PodGroupEnded, PodsEvicted, PodsRan, VolcanoSimulation
from scheduling.volcano.play.waiting import Holders, found, limited_by, waiting
from scheduling.volcano.queues import ALLOCATED
from scheduling.volcano.scheduler_conf import VOLCANO_CONF, SchedulerConf, read_conf
from scheduling.volcano.setup import PluginSettings
from tests.profiles import seeds
from tests.scheduling.volcano.manifests import job, node, pod, pod_group, priority_class, queue, task

START = 1_700_000_000 * 10**9
ORG = (
    queue("org", capability={"cpu": "10"}),
    queue("a", "org", deserved={"cpu": "4"}, guarantee={"cpu": "2"}),
    queue("b", "org", deserved={"cpu": "6"}),
)


def simulation(*manifests: dict[str, Any]) -> VolcanoSimulation:
    made = VolcanoSimulation(START)
    add(made, *manifests)
    return made


def add(made: VolcanoSimulation, *manifests: dict[str, Any]) -> None:
    made.change(manifests)
    made.settle()


def running(made: VolcanoSimulation) -> dict[str, int]:
    """Pods by PodGroup."""
    counts = {name: each.count(Status.RUNNING) for name, each in made.engine.world.jobs.items()}
    return {name: count for name, count in counts.items() if count}


def reasons(made: VolcanoSimulation, name: str) -> list[str]:
    return [str(reason.refusal) for each in found(made, name) for reason in each.reasons]


def test_evicted_pods_wait_again_under_the_rules_of_volcano() -> None:
    made = VolcanoSimulation(START, VOLCANO_CONF)
    queues = queue("first", priority=9, deserved={"cpu": "1"}), queue("mine", deserved={"cpu": "2"})
    add(made, node(cpu="3"), *queues, job("elastic", "first", task("w", 3), minAvailable=1))

    add(made, job("large", "mine", task("w", 1, cpu="2")))

    assert not made.unsettled
    assert running(made) == {"ml/elastic": 1, "ml/large": 1}
    assert [each.pods for each in made.trace if isinstance(each, PodsEvicted)] == [
        ("ml/elastic-w-1", "ml/elastic-w-2"),
    ]
    assert len(made.engine.world.jobs["ml/elastic"].tasks) == 3, "they wait again"


def test_pods_of_a_gang_that_preempted_in_vain_do_not_preempt_again_under_the_rules_of_volcano() -> None:
    first = [{"name": "priority"}, {"name": "gang", "enablePreemptable": False}]
    tiers = [{"plugins": first}, {"plugins": [{"name": "capacity"}]}]
    conf = read_conf({"actions": "enqueue, allocate, preempt", "tiers": tiers})
    made = VolcanoSimulation(START, conf)
    low = job("low", "q", task("w", 1), priorityClassName="low")
    add(made, node(cpu="5"), queue("q"), queue("other"), priority_class("low", 1), priority_class("high", 9), low)
    add(made, job("fill", "other", task("w", 4, cpu="1")))
    add(made, job("high", "q", task("w", 3), priorityClassName="high"))
    assert running(made) == {"ml/fill": 4, "ml/low": 1}

    made.change([job("fill", "other", task("w", 2, cpu="1"), minAvailable=2)])
    made.settle()

    assert running(made) == {"ml/fill": 2, "ml/low": 1}
    assert not made.unsettled


def test_a_pod_without_its_podgroup_is_found_by_name() -> None:
    made = simulation(pod("one", "lost"), pod("two", "lost"))

    assert [each.display_name for each in found(made, "ml/one")] == ["Pod ml/one"]


def test_a_job_is_enqueued_and_runs() -> None:
    made = simulation(*ORG, job("train", "a", task("w", 2)))

    assert made.trace == [
        Enqueued(START, "ml/train", "a"),
        PodsRan(START, "ml/train", "a", ("ml/train-w-0", "ml/train-w-1")),
    ]
    assert made.engine.world.jobs["ml/train"].group.phase == "Running"
    assert list(waiting(made)) == []


def test_pods_without_requests_run() -> None:
    idle = task("log", 2)
    del idle["template"]["spec"]["containers"][0]["resources"]

    made = simulation(*ORG, job("mixed", "a", task("w", 1), idle), job("idle", "a", idle))

    assert running(made) == {"ml/mixed": 3, "ml/idle": 2}
    assert list(waiting(made)) == []


@pytest.mark.parametrize(
    "gone",
    [
        {"status": {"phase": "Failed"}},
        {"metadata": {"name": "gone", "namespace": "ml", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
)
def test_a_failed_or_deleted_pod_is_not_a_member(gone: dict[str, Any]) -> None:
    manifest = pod("gone", "gang")
    gone = {**manifest, **gone, "metadata": {**manifest["metadata"], **gone.get("metadata", {})}}

    made = simulation(*ORG, pod_group("gang", "a", members=2), pod("left", "gang"), gone)

    assert running(made) == {}


def test_the_podgroup_of_a_deleted_single_pod_is_deleted() -> None:
    made = simulation(queue("a", capability={"cpu": "1"}), node(cpu="0"), pod("first", queue_name="a"))
    made.drop([Ref("", "Pod", "ml", "first")])

    add(made, node(), pod("second", queue_name="a"))

    assert list(running(made)) == ["ml/podgroup-second"]


def test_a_pod_whose_podgroup_was_deleted_can_be_deleted_too() -> None:
    made = simulation(pod("first"))
    made.drop([Ref("scheduling.volcano.sh", "PodGroup", "ml", "podgroup-first")])
    add(made, pod("second", "podgroup-first"))

    made.drop([Ref("", "Pod", "ml", "second")])

    assert made.engine.world.tasks == {}


def test_a_podgroup_without_a_namespace_is_named_after_its_job() -> None:
    made_for = pod_group("train-1", "a")
    del made_for["metadata"]["namespace"]
    made_for["metadata"]["ownerReferences"] = [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "t"}]

    assert simulation(*ORG, made_for).display_name("default/train-1") == "Job default/t"


def test_no_pod_is_placed_on_a_deleted_node() -> None:
    made = simulation(*ORG, node(), pod_group("one", "a"), pod("p", "one"))
    assert running(made) == {"ml/one": 1}

    made.drop([Ref("", "Node", "", "n1")])
    add(made, pod_group("two", "a"), pod("q", "two"))

    assert running(made) == {"ml/one": 1}


def test_a_task_starts_with_its_least_partitions() -> None:
    policy = {"totalPartitions": 6, "partitionSize": 2, "minPartitions": 4}
    made = simulation(*ORG, job("train", "a", task("w", 12, partitionPolicy=policy)))

    assert running(made) == {"ml/train": 10}, "all 12 have no room, and 8 are enough to start"


def test_a_gang_reclaims_the_deserved_amount_and_the_victims_wait() -> None:
    made = simulation(*ORG, job("greedy", "b", task("w", 8), minAvailable=2))
    assert running(made) == {"ml/greedy": 8}

    add(made, job("late", "a", task("w", 6), minAvailable=4))

    assert running(made) == {"ml/greedy": 6, "ml/late": 4}
    (left,) = [each for each in made.trace if isinstance(each, PodsEvicted)]
    assert (left.group, len(left.pods), left.preemptors) == ("ml/greedy", 2, ("ml/late",))
    short = "queue org would exceed its limit: cpu 10 used + 1 requested > 10, 1 short"
    assert reasons(made, "ml/late") == reasons(made, "ml/greedy") == [short]
    assert not made.unsettled


def test_a_waiting_job_is_shown_with_the_users_of_the_quota_and_its_limit() -> None:
    made = simulation(*ORG, job("first", "b", task("w", 8)), job("second", "b", task("w", 2)))
    (waits,) = waiting(made)

    assert (waits.display_name, waits.queue, waits.phase, waits.waits, waits.pods) == (
        "Job ml/second",
        "b",
        "Pending",
        2,
        2,
    )
    (reason,) = waits.reasons
    (shortage,) = reason.refusal.shortages
    assert (shortage.queue, shortage.resource, shortage.short) == ("b", "cpu", 2 * 1000)
    assert Holders(made).of(shortage) == [("Job ml/first", 8000)]
    assert limited_by(made.engine.world.queues, shortage) == (
        "what queue org has left beside what siblings of b are guaranteed"
    )


def test_a_finished_job_frees_quota() -> None:
    made = simulation(*ORG, job("first", "b", task("w", 8)), job("second", "b", task("w", 2)))

    assert made.finish("ml/first")

    assert running(made) == {"ml/second": 2}
    assert PodGroupEnded(START, "ml/first") in made.trace
    assert not made.finish("ml/first")


def test_a_job_gets_its_pods_once_its_podgroup_is_in_its_queue() -> None:
    growing = job("growing", "q", task("w", 3), minAvailable=1)
    made = simulation(queue("q", capability={"cpu": "3"}), job("first", "q", task("w", 2)), growing)
    add(made, job("late", "q", task("w", 1, cpu="2")))

    assert made.finish("ml/first")

    assert running(made) == {"ml/growing": 3}
    assert made.engine.world.jobs["ml/late"].group.phase == "Inqueue"


def test_pods_that_exist_start_in_the_session_in_which_their_podgroup_enters_its_queue() -> None:
    growing = job("growing", "q", task("w", 3), minAvailable=1)
    made = simulation(queue("q", capability={"cpu": "3"}), job("first", "q", task("w", 2)), growing)
    add(made, pod_group("late", "q", minResources={"cpu": "2"}), pod("late", "late", cpu="2"))

    assert made.finish("ml/first")

    assert running(made) == {"ml/growing": 1, "ml/late": 1}


@pytest.mark.parametrize(("exists", "runs"), [(False, {"ml/growing": 3}), (True, {"ml/growing": 1, "ml/late-1": 1})])
def test_a_pod_group_of_a_job_may_have_its_pods_already(exists: bool, runs: dict[str, int]) -> None:
    growing = job("growing", "q", task("w", 3), minAvailable=1)
    made = simulation(queue("q", capability={"cpu": "3"}), job("first", "q", task("w", 2)), growing)
    late, group = job("late", "q", task("w", 1, cpu="2")), pod_group("late-1", "q", minResources={"cpu": "2"})
    late["metadata"]["uid"] = "1"
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "late"}
    group["metadata"]["ownerReferences"] = [owner]
    add(made, late, group, *([pod("late-w-0", "late-1", cpu="2")] if exists else []))

    assert made.finish("ml/first")

    assert running(made) == runs


def test_a_finished_pod_frees_quota() -> None:
    made = simulation(queue("q", capability={"cpu": "1"}), pod_group("g", "q"), pod("p1", "g"), pod("p2", "g"))
    assert running(made) == {"ml/g": 1}

    assert made.finish("ml/p1")

    assert made.engine.world.tasks["ml/p2"].status is Status.RUNNING
    assert not made.finish("ml/p1")


def test_completed_jobs_and_pods_free_their_quota() -> None:
    first = job("first", "b", task("w", 8))
    made = simulation(*ORG, first, job("second", "b", task("w", 2)), pod_group("g", "a"), pod("p", "g"))

    add(
        made,
        {**first, "status": {"state": {"phase": "Completed"}}},
        {**pod("p", "g"), "status": {"phase": "Succeeded"}},
    )

    assert running(made) == {"ml/second": 2}


def test_fewer_replicas_are_fewer_pods() -> None:
    made = simulation(*ORG, job("first", "b", task("w", 8), minAvailable=1))

    add(made, job("first", "b", task("w", 3), minAvailable=1))

    assert running(made) == {"ml/first": 3}


def test_a_raised_capability_lets_the_next_job_run() -> None:
    made = simulation(*ORG, job("first", "b", task("w", 8)), job("second", "b", task("w", 2)))

    add(made, queue("org", capability={"cpu": "12"}))

    assert running(made) == {"ml/first": 8, "ml/second": 2}


def test_a_single_pod_has_a_podgroup_in_the_queue_that_it_names() -> None:
    alone = pod("alone", queue_name="b")
    made = simulation(*ORG, alone)

    assert [(each.group.queue, each.group.members) for each in made.engine.world.jobs.values()] == [("b", 1)]
    assert running(made) == {"ml/podgroup-alone": 1}


def test_work_without_a_queue_is_in_the_queue_of_its_namespace() -> None:
    notes = {"scheduling.volcano.sh/queue-name": "b"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "annotations": notes}}
    made = simulation(*ORG, space, pod("alone"), pod_group("g", "default"), job("j", "default", task("w", 1)))

    assert {name: each.group.queue for name, each in made.engine.world.jobs.items()} == {
        "ml/podgroup-alone": "b",
        "ml/g": "b",
        "ml/j": "b",
    }


def test_priority_decides_which_job_is_enqueued_first() -> None:
    classes = (priority_class("high", 9), priority_class("low", 1))
    low, high = (job(name, "q", task("w", 1), priorityClassName=name) for name in ("low", "high"))
    made = simulation(queue("q", capability={"cpu": "1"}), low, high, *classes)

    assert running(made) == {"ml/high": 1}


def test_a_job_larger_than_the_nodes_waits() -> None:
    made = simulation(queue("q"), node(cpu="3"), job("big", "q", task("w", 4)), job("small", "q", task("w", 3)))

    assert running(made) == {"ml/small": 3}
    assert "no node has room for the pod" in reasons(made, "ml/big")


def test_binpack_fills_one_node_before_the_next() -> None:
    tiers = ((PluginSettings("gang"), PluginSettings("capacity"), PluginSettings("binpack")),)
    made = VolcanoSimulation(START, SchedulerConf(tiers=tiers))
    for name, number, cpu in (("one", 1, "3"), ("two", 2, "2"), ("three", 3, "2")):
        add(made, queue("a"), node("n1", "8"), node("n2", "4"), job(name, "a", task("w", 1, cpu)))
        assert len(running(made)) == number

    assert {each.name: each.node for each in made.engine.world.tasks.values()} == {
        "ml/one-w-0": "n2",
        "ml/two-w-0": "n1",
        "ml/three-w-0": "n1",
    }


def test_any_resource_is_unlimited_without_nodes() -> None:
    asks = job("gpus", "q", task("w", 1))
    asks["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "8"

    assert running(simulation(queue("q"), asks)) == {"ml/gpus": 1}


def test_running_pods_count_and_can_be_evicted() -> None:
    held = [{**pod(f"p{i}", "g"), "status": {"phase": "Running"}} for i in range(8)]
    for each in held:
        each["spec"]["nodeName"] = "n1"
    group = {**pod_group("g", "b"), "status": {"phase": "Running"}}
    made = simulation(*ORG, group, *held, job("late", "a", task("w", 4)))

    assert running(made) == {"ml/g": 6, "ml/late": 4}


def test_a_podgroup_in_a_parent_queue_stops_all_work_and_is_reported() -> None:
    made = simulation(*ORG, pod_group("wrong", "org"), pod("p", "wrong"), job("train", "a", task("w", 1)))

    assert running(made) == {}
    halt = "no queue is served: PodGroup ml/wrong is in queue org, which has children"
    assert all(halt in reason for reason in reasons(made, "ml/train"))
    assert reasons(made, "ml/train")


def test_work_that_can_never_run_reports_the_reason() -> None:
    gated = pod("held", "g")
    gated["spec"]["schedulingGates"] = [{"name": "x"}]
    groups = pod_group("g", "a"), pod_group("few", "a", 3)
    nowhere = job("nowhere", "no-such-queue", task("w", 1))
    made = simulation(*ORG, *groups, gated, pod("lost", "nobody"), pod("p", "few"), nowhere)

    assert {each.display_name: [str(reason.refusal) for reason in each.reasons] for each in waiting(made)} == {
        "PodGroup ml/g": ["the pod waits behind a scheduling gate"],
        "PodGroup ml/few": ["there are 1 pods, at least 3 are needed"],
        "Job ml/nowhere": ["queue no-such-queue does not exist"],
        "Pod ml/lost": ["PodGroup ml/nobody does not exist"],
    }


def test_a_job_of_too_many_pods_is_left_out_and_named() -> None:
    made = simulation(*ORG, job("huge", "a", task("w", 10**6)), job("train", "a", task("w", 1)))

    assert running(made) == {"ml/train": 1}
    assert made.problems == ["Job ml/huge has 1000000 pods, and at most 20000 are simulated"]


@pytest.mark.parametrize("seed", seeds(0.3))
def test_random_work_settles_within_all_limits_and_no_job_waits_that_fits(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"q{i}" for i in range(chance.randint(2, 5))]
    queues = [queue("top", capability={"cpu": str(chance.randint(4, 12))})]
    queues += [queue(name, "top", **_amounts(chance)) for name in names]
    made = simulation(*queues)
    for step in range(12):
        if chance.random() < 0.7:
            pods = chance.randint(1, 4)
            work = job(f"j{step}", chance.choice(names), task("w", pods, str(chance.randint(1, 3))))
            work["spec"]["minAvailable"] = chance.randint(1, pods)
            add(made, work)
        else:
            made.finish(f"ml/j{chance.randint(0, step)}")
        assert not made.unsettled
        _check_limits(made)
    _check_nobody_fits(made)


def _amounts(chance: random.Random) -> dict[str, Any]:
    deserved = chance.randint(1, 5)
    found: dict[str, Any] = {"deserved": {"cpu": str(deserved)}}
    if chance.random() < 0.4:
        found["guarantee"] = {"cpu": str(chance.randint(1, deserved))}
    if chance.random() < 0.4:
        found["capability"] = {"cpu": str(chance.randint(deserved, 9))}
    return found


def _check_limits(made: VolcanoSimulation) -> None:
    """Counted from the pods, not from the accounts."""
    world = made.engine.world
    for each in world.queues:
        used = sum(
            one.request["cpu"]
            for work in world.jobs.values()
            if world.queues.is_within(work.group.queue, each.name)
            for one in work.tasks.values()
            if one.status is Status.RUNNING
        )
        assert used == each.amounts(ALLOCATED).get("cpu", 0)
        assert used <= world.queues.limit(each).get("cpu", inf)


def _check_nobody_fits(made: VolcanoSimulation) -> None:
    """No pod of a PodGroup that runs fits on all levels."""
    world = made.engine.world
    for work in world.jobs.values():
        queue_ = world.queues.get(work.group.queue)
        if queue_ is None or work.group.phase != "Running":
            continue
        for each in work.placeable.values():
            assert any(
                here.amounts(ALLOCATED).get("cpu", 0) + each.request["cpu"] > world.queues.limit(here).get("cpu", inf)
                for here in queue_.up()
            )


def test_look_reports_the_next_decisions_without_changes() -> None:
    made = simulation(*ORG, job("runs", "b", task("w", 8)))
    made.change([job("late", "a", task("w", 4)), job("small", "a", task("w", 2)), job("large", "b", task("w", 9))])
    before = {name: (each.group, dict(each.tasks)) for name, each in made.engine.world.jobs.items()}
    used = {node.name: dict(node.amounts(ALLOCATED)) for node in made.engine.world.queues}

    for _ in range(2):
        made.look()
        said = {each.display_name: {str(reason.refusal) for reason in each.reasons} for each in waiting(made)}
        assert {name: any("room" in text for text in texts) for name, texts in said.items()} == {
            "Job ml/late": False,
            "Job ml/small": True,
            "Job ml/large": False,
        }

    assert {name: (each.group, dict(each.tasks)) for name, each in made.engine.world.jobs.items()} == before
    assert {node.name: dict(node.amounts(ALLOCATED)) for node in made.engine.world.queues} == used
