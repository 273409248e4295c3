"""Pods pass the gate while Volcano's queues have room; missing and late answers do not change that."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from cluster.actions import Create
from reconciler.controllers.gates.controller import PERIOD
from reconciler.controllers.volcano.gates import GroupNews
from reconciler.core.writes import TAKEN_OVER_AT
from tests.builders import Manifest
from tests.profiles import seeds
from tests.reconciler.controllers.gates.cluster import gated
from tests.reconciler.controllers.turns import Crash
from tests.reconciler.controllers.volcano.gate_cluster import GateCluster, pod
from tests.scheduling.volcano.manifests import namespace, pod_group, priority_class, queue

ORG = (queue("org", "root", capability={"cpu": "5"}), queue("ml", "org", capability={"cpu": "3"}), queue("web", "org"))
ADMITTED, TOGETHER = "quotree.dev/quota-admitted", "quotree.dev/quota-gang"


def group(name: str = "g", queue: str = "ml", members: int = 1) -> Manifest:
    return pod_group(name, queue, members, space="dev")


def test_pods_pass_while_their_queue_has_room_and_others_report_why_they_wait() -> None:
    cluster = GateCluster(*ORG, group())
    for number in range(5):
        cluster.add(pod(f"p{number}"))
    cluster.settle()

    assert cluster.passed() == ["p0", "p1", "p2"]
    assert cluster.note("p0", ADMITTED) == "ml"
    assert cluster.note("p3") == "NotEnoughQueueQuota in ml: ml lacks cpu=1, asked 1, 3 of 3 in use"
    assert cluster.objects["Pod", "dev/p0"]["metadata"]["labels"] == {"quotree.dev/quota": "volcano"}

    cluster.end("p0")
    cluster.settle()
    assert cluster.passed() == ["p0", "p1", "p2", "p3"]
    assert not cluster.note("p3")
    assert cluster.events().count("QuotaAdmitted") == 4 + 1, "one is of the PodGroup"


def test_a_late_write_passes_no_pod_after_another_leader_gave_its_quota_away() -> None:
    high = pod_group("high", "ml", 1, "dev", priorityClassName="high")
    cluster = GateCluster(*ORG, group(), high, priority_class("high", 1))
    for name in ("ends", "late"):
        cluster.add(pod(name, cpu="3"))
        cluster.settle()
    cluster.end("ends")
    (late,) = (each for each in cluster.wanted() if each.key[0] == "VolcanoGatedPod")
    cluster.add(pod("first", "high", cpu="3"))
    cluster.add(group("gang", members=2))
    cluster.add(pod("member", "gang"))
    cluster.start(late_writes=True)
    cluster.settle()
    assert cluster.passed() == ["ends", "first"]
    assert [name for name in cluster.gated() if cluster.note(name, TAKEN_OVER_AT)] == ["late"]

    cluster.carry_out(late)
    cluster.settle()

    assert cluster.passed() == ["ends", "first"]


def test_a_pod_that_passes_is_not_delayed_by_hundreds_of_reasons() -> None:
    cluster = GateCluster(*ORG, group(), group("many", "nowhere"))
    for number in range(300):
        cluster.add(pod(f"p{number}", "many"))

    reasons = cluster.wanted()
    cluster.add(pod("passes"))

    assert 0 < len(reasons) < 50
    assert "passes" in {command.key[1].partition("/")[2] for command in cluster.wanted()}
    for command in reasons:
        cluster.carry_out(command)
    cluster.settle()
    assert {cluster.note(f"p{number}") for number in range(300)} == {"QueueNotFound in nowhere: does not exist"}


def test_a_podgroup_gets_an_event_for_a_new_reason_and_when_its_pods_pass() -> None:
    cluster = GateCluster(*ORG, group(members=2), group("first", members=3))
    for name, owner in (("a", "first"), ("b", "first"), ("c", "first"), ("p0", "g"), ("p1", "g")):
        cluster.add(pod(name, owner))
        cluster.settle()
    cluster.now += PERIOD
    cluster.settle()
    assert of_group(cluster, "first")[-1] == ("QuotaAdmitted", "3 Pods admitted in ml")
    waits = "NotEnoughQueueQuota in ml: 2 members pass together; ml lacks cpu=2, asked 2, 3 of 3 in use"
    assert of_group(cluster, "g")[-1] == ("NotEnoughQueueQuota", waits)
    before = len(of_group(cluster, "g"))

    cluster.end("a")
    cluster.settle()
    cluster.now += PERIOD
    cluster.settle()
    assert len(of_group(cluster, "g")) == before, "amounts alone are no reason for an Event"
    cluster.end("b")
    cluster.settle()
    cluster.settle()
    assert of_group(cluster, "g")[before:] == [("QuotaAdmitted", "2 Pods admitted in ml")]


def of_group(cluster: GateCluster, name: str) -> list[tuple[str, str]]:
    """The Events of a PodGroup: reason and message."""
    every = [action.body for _, action in cluster.written if isinstance(action, Create)]
    found = [
        each
        for each in every
        if each["involvedObject"]["kind"] == "PodGroup" and each["involvedObject"]["name"] == name
    ]
    return [(each["reason"], each["message"]) for each in found]


def test_events_of_a_missing_podgroup_are_dropped() -> None:
    cluster = GateCluster(*ORG)
    cluster.settle()
    news = GroupNews(cluster.controller.records)
    for _ in range(2):
        news.waits("dev/g", "R", "R: for a queue", warning=False)
        news.passes("dev/g", "ml", 1)
        assert news.take() == []

    cluster.add(group())
    cluster.settle()
    for _ in range(2):
        news.waits("dev/g", "R", "R: for a queue", warning=False)
        news.passes("dev/g", "ml", 1)

    assert [each.reason for each in news.take()] == ["R", "QuotaAdmitted"]


def test_a_pod_without_a_podgroup_is_ignored() -> None:
    cluster = GateCluster(*ORG)
    cluster.add(pod("free", ""))
    cluster.settle()

    assert cluster.passed() == ["free"]
    assert not cluster.written


def test_a_pod_waits_for_the_podgroup_that_it_names() -> None:
    cluster = GateCluster(*ORG)
    cluster.add(pod("p"))
    cluster.settle()
    assert cluster.note("p") == "NoPodGroup: PodGroup dev/g does not exist"

    cluster.add(group(queue="nowhere"))
    cluster.now += PERIOD
    cluster.settle()
    assert cluster.note("p") == "QueueNotFound in nowhere: does not exist"

    cluster.add(queue("nowhere", "root"))
    cluster.settle()
    assert cluster.passed() == ["p"]


def test_a_gang_passes_as_a_whole_with_its_size_in_an_annotation() -> None:
    cluster = GateCluster(*ORG, group(members=3), group("first"), priority_class("high", 1))
    cluster.add(pod("first", "first"))
    cluster.settle()
    for number in range(3):
        cluster.add(pod(f"p{number}"))
        cluster.settle(20)
    assert cluster.passed() == ["first"]
    said = "NotEnoughQueueQuota in ml: 3 members pass together; ml lacks cpu=1, asked 3, 1 of 3 in use"
    assert cluster.note("p0") == said

    cluster.delete("first")
    cluster.settle()
    assert cluster.passed() == ["p0", "p1", "p2"]
    assert {cluster.note(name, TOGETHER).partition(" ")[0] for name in cluster.passed()} == {"3"}


def test_a_pod_ungated_by_a_user_is_deleted() -> None:
    cluster = GateCluster(*ORG, group())
    for number in range(4):
        cluster.add(pod(f"p{number}"))
    cluster.settle()
    cluster.edit(("Pod", "dev/p3"), {"spec": {"schedulingGates": None, "nodeName": "n"}})
    cluster.settle()

    assert ("Pod", "dev/p3") not in cluster.objects
    assert "Stopped" in cluster.events()
    assert cluster.passed() == ["p0", "p1", "p2"]


def test_a_pod_that_ran_before_counts_and_is_not_changed() -> None:
    cluster = GateCluster(*ORG, group())
    for number in range(3):
        old = pod(f"old{number}")
        old["spec"]["nodeName"] = "n"
        cluster.put(("Pod", f"dev/old{number}"), {**old, "metadata": {**old["metadata"], "uid": f"u{number}"}})
    cluster.add(pod("new"))
    cluster.settle()
    assert cluster.gated() == ["new"]
    assert len(cluster.pods()) == 4

    cluster.end("old1")
    cluster.settle()
    assert cluster.gated() == []


def test_a_refused_write_is_decided_again() -> None:
    cluster = GateCluster(*ORG, group())
    cluster.refused.add("dev/p")
    cluster.add(pod("p"))
    cluster.settle()
    cluster.add(queue("ml", "org", capability={"cpu": "1m"}))
    cluster.refused.clear()
    cluster.settle(60)

    assert cluster.gated() == ["p"]
    assert "ml lacks cpu=999m, asked 1, 0 of 1m in use" in cluster.note("p")


def test_a_decision_that_was_not_stored_is_dropped_with_the_leadership() -> None:
    cluster = GateCluster(*ORG, group())
    cluster.failing = True
    cluster.add(pod("p", cpu="3"))
    cluster.add(pod("q", cpu="3"))
    cluster.settle(0)
    cluster.lead(leads=False)
    passed = {"metadata": {"annotations": {ADMITTED: "ml"}}, "spec": {"schedulingGates": []}}
    cluster.edit(("Pod", "dev/q"), passed)
    cluster.failing = False
    cluster.lead(leads=True)
    cluster.settle(60)

    assert cluster.passed() == ["q"]


def test_a_deleted_pod_that_may_pass_releases_its_room() -> None:
    cluster = GateCluster(*ORG, group())
    cluster.add(pod("gone", cpu="3"))
    del cluster.objects["Pod", "dev/gone"]
    cluster.add(pod("next", cpu="3"))
    cluster.settle()

    assert cluster.passed() == ["next"]


def test_a_podgroup_in_a_queue_with_children_does_not_block_others() -> None:
    cluster = GateCluster(*ORG, group(), group("inner", "org"))
    cluster.add(pod("i", "inner"))
    cluster.add(pod("p"))
    cluster.settle()

    assert cluster.passed() == ["p"]
    assert cluster.note("i") == "QueueHasChildren in org: has children; only a queue without children takes work"


def test_a_standby_writes_nothing() -> None:
    cluster = GateCluster(*ORG, group())
    cluster.lead(leads=False)
    cluster.add(pod("p"))
    cluster.settle()
    assert not cluster.written

    cluster.lead(leads=True)
    cluster.settle()
    assert cluster.passed() == ["p"]


# --- random runs

LIMITS = {"org": 5, "ml": 3}
LEAF = {"a": "ml", "b": "web", "c": "ml"}


def used(cluster: GateCluster) -> Counter[str]:
    """Whole cpus by queue and in the queues above, of what has passed and goes on."""
    found: Counter[str] = Counter()
    for each in cluster.pods():
        if not gated(each) and not over(each):
            cpu = int(each["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            found["org"] += cpu
            found[each["metadata"]["annotations"][ADMITTED]] += cpu
    return found


def over(each: Manifest) -> bool:
    return each.get("status", {}).get("phase") in ("Succeeded", "Failed")


class Recounted(GateCluster):
    """Fails at the write that lets a Pod pass that does not fit."""

    def put(self, key: tuple[str, str], made: Manifest) -> None:
        before = self.objects.get(key)
        super().put(key, made)
        if key[0] == "Pod" and before is not None and gated(before) and not gated(made):
            count = used(self)
            assert all(count[name] <= limit for name, limit in LIMITS.items()), (key, count)


def _happens(cluster: GateCluster, random: Random, number: int) -> None:
    keys = [key for key in cluster.objects if key[0] == "Pod"]
    match random.randrange(7):
        case 0 | 1 | 2:
            cluster.add(pod(f"p{number}", random.choice([*LEAF]), random.choice("112")))
        case 3 if keys:
            cluster.drop(random.choice(keys))
        case 4 if running := [key for key in keys if not gated(cluster.objects[key])]:
            cluster.edit(random.choice(running), {"status": {"phase": random.choice(["Succeeded", "Failed"])}})
        case 5:
            name = random.choice([*LEAF])
            cluster.put(("PodGroup", f"dev/{name}"), group(name, random.choice(["ml", "web"]), random.randint(0, 3)))
        case 6 if keys:
            cluster.refused ^= {random.choice(keys)[1]}


@pytest.mark.parametrize("seed", seeds(0.5))
def test_random_failures_exceed_no_limit_and_leave_no_pod_without_a_decision(seed: int) -> None:
    random = Random(seed)
    cluster = Recounted(*ORG, *(group(name, queue) for name, queue in LEAF.items()))
    for step in range(20):
        for each in range(random.randint(1, 3)):
            _happens(cluster, random, 10 * step + each)
        cluster.failing = random.random() < 0.1
        cluster.crash_after = random.choice([None, 1, 2])
        try:
            cluster.settle(1)
        except Crash:
            cluster.start()
        cluster.crash_after = None
    cluster.refused.clear()
    cluster.failing = False
    cluster.settle(120)
    for each in cluster.pods():
        if gated(each):
            assert each["metadata"]["annotations"]["quotree.dev/quota-waits"]
    _room_is_used(cluster)


def _room_is_used(cluster: GateCluster) -> None:
    """A Pod that may pass alone waits only if its cpus do not fit."""
    count = used(cluster)
    for each in cluster.pods():
        name = each["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
        spec = cluster.objects["PodGroup", f"dev/{name}"]["spec"]
        if gated(each) and spec["minMember"] < 2:
            cpu = int(each["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            path = ["org", "ml"] if spec["queue"] == "ml" else ["org"]
            assert any(count[above] + cpu > LIMITS[above] for above in path), (each["metadata"], count)


@pytest.mark.parametrize("seed", seeds(0.5))
def test_gangs_pass_completely_or_not_at_all_after_random_crashes(seed: int) -> None:
    random = Random(seed)
    cluster = Recounted(*ORG, *(group(name, queue, 3) for name, queue in LEAF.items()))
    for step in range(25):
        cluster.add(pod(f"{random.choice([*LEAF])}{step}", random.choice([*LEAF])))
        cluster.turn_with_crashes(random)
        for name in LEAF:
            named = (each["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == name for each in cluster.pods())
            members = [each for each, mine in zip(cluster.pods(), named, strict=True) if mine]
            passed = sum(not gated(each) for each in members)
            assert passed == 0 or passed >= 3, (name, passed)
            if passed and random.random() < 0.4:
                for each in members:
                    cluster.delete(each["metadata"]["name"])


def test_a_namespace_label_makes_all_its_pods_wait() -> None:
    cluster = GateCluster(*ORG, group(), namespace("dev", {"quotree.dev/quota": "volcano"}))
    cluster.add(pod("alone", ""))
    cluster.add(pod("p"))
    cluster.settle()

    assert cluster.passed() == ["p"]
    assert cluster.note("alone") == "NoPodGroup: names no PodGroup, so there is no queue for it"
