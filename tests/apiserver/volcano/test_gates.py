"""`volcano.enforce: gates` as shipped: queues, edits, gangs, a tenant that tries to evade quota, and kill -9."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane, User
from tests.apiserver.needs import skip_without
from tests.apiserver.volcano.gated_world import VolcanoWorld, installed
from tests.apiserver.yunikorn.gated_world import ANNA
from tests.profiles import spread
from tests.scheduling.volcano.manifests import node
from tests.waiting import eventually

OWNER, VERA = User(ANNA), User("vera")
SERVING = ("--api-port=0", "--api-host=127.0.0.1")


@pytest.fixture(scope="module")
def world(programs: build.Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VolcanoWorld]:
    with ExitStack() as running:
        try:
            server = running.enter_context(ControlPlane(controller_manager=True, users=[OWNER, VERA]))
        except build.MissingControlPlaneError as error:
            skip_without(error)
        # The controller manager deletes Pods that are bound to a Node which does not exist.
        server.request("POST", "/api/v1/nodes", node("n"))
        guard = running.enter_context(installed(server))
        found = VolcanoWorld(server, guard, tmp_path_factory.mktemp("gates"))
        found.start(*SERVING)
        running.callback(found.kill)
        yield found


def test_pods_are_ungated_within_the_quota_of_every_queue_and_edits_apply_at_once(world: VolcanoWorld) -> None:
    world.space("json")
    world.queue("json", "root", 3)
    world.queue("json-a", "json", 2)
    world.queue("json-b", "json")
    for name in ("a", "b"):
        world.group("json", name, f"json-{name}")
        for number in range(3):
            assert not world.create("json", f"{name}{number}", name)
    eventually(lambda: world.used("json") == 3, world.log)
    eventually(lambda: all("lacks cpu=1" in world.note("json", name) for name in world.gated("json")), world.log)

    world.capability("json", 6)
    eventually(lambda: world.used("json") == 5, world.log)
    (left,) = world.gated("json")
    eventually(lambda: "json-a lacks cpu=1, asked 1, 2 of 2 in use" in world.note("json", left), world.log)
    eventually(lambda: {"QuotaAdmitted", "NotEnoughQueueQuota"} <= world.reasons("json"), world.log)

    world.end("json", min(name for name in world.passed("json") if name.startswith("a")))
    eventually(lambda: not world.gated("json"), world.log)


def test_the_api_and_the_metrics_show_gated_pods_by_the_rights_of_the_user(world: VolcanoWorld) -> None:
    world.space("seen")
    world.queue("seen", "root", 1)
    world.group("seen", "g", "seen")
    role = "--clusterrole=quotree-volcano-gates-viewer"
    world.server.kubectl("create", "clusterrolebinding", "v", role, "--user=vera")
    assert not world.create("seen", "first")
    eventually(lambda: world.passed("seen") == {"first"}, world.log)
    assert not world.create("seen", "second")
    eventually(lambda: "lacks cpu=1" in world.note("seen", "second"), world.log)
    ours, theirs = "/v1/namespaces/seen/pendingpods", "/v1/namespaces/other/pendingpods"
    queue = "/v1/volcano/queues/seen/pendingpods"

    codes = [[world.answer(path, user)[0] for path in (ours, theirs, queue)] for user in (OWNER, VERA)]

    assert codes == [[200, 403, 403], [200, 200, 200]]
    (item,) = world.answer(ours, OWNER)[1]["items"]
    assert (item["pod"], item["podGroup"], item["lacks"][0]["short"]) == ("seen/second", "seen/g", "1")
    assert world.answer(queue, VERA)[1]["items"] == [item]
    lines = (
        'quotree_gates_waiting_pods{dialect="volcano",namespace="seen",reason="NotEnoughQueueQuota"} 1.0',
        'quotree_gates_passed_pods_total{dialect="volcano",namespace="seen"} 1.0',
        'quotree_gates_queue_usage{queue="seen",resource="cpu"} 1.0',
        'quotree_gates_queue_limit{queue="seen",resource="cpu"} 1.0',
    )
    eventually(lambda: {*lines} <= {*world.metrics().splitlines()}, world.metrics)


def test_a_gang_is_ungated_as_a_whole_after_a_quota_increase(world: VolcanoWorld) -> None:
    world.space("gangs")
    world.queue("gangs", "root", 2)
    world.group("gangs", "alone", "gangs")
    world.group("gangs", "gang", "gangs", 3)
    assert not world.create("gangs", "alone", "alone")
    eventually(lambda: world.passed("gangs") == {"alone"}, world.log)
    for number in range(3):
        assert not world.create("gangs", f"g{number}", "gang")
    eventually(lambda: "3 members pass together" in world.note("gangs", "g2"), world.log)
    assert world.passed("gangs") == {"alone"}

    world.capability("gangs", 4)
    eventually(lambda: world.gated("gangs") == set(), world.log)


def test_reclaim_preempts_pods_that_no_disruption_budget_protects(world: VolcanoWorld) -> None:
    world.space("lent")
    world.deserving("lent", "root", 1, 2)
    world.deserving("lent-rich", "lent", 1, 2)
    world.queue("lent-poor", "lent")
    for name, queue in (("old", "lent-poor"), ("young", "lent-poor"), ("rich", "lent-rich")):
        world.group("lent", name, queue)
    world.protect("lent", "kept")
    assert not world.create("lent", "old", "old")
    assert not world.create("lent", "young", "young", labels={"app": "kept"})
    eventually(lambda: world.passed("lent") == {"old", "young"}, world.log)
    world.runs("lent", "young")

    assert not world.create("lent", "rich", "rich")

    eventually(lambda: world.passed("lent") == {"young", "rich"}, world.log)
    eventually(lambda: "Reclaimed" in world.reasons("lent"), world.log)
    assert "403 Forbidden" not in world.log()


def test_a_tenant_cannot_evade_the_quota_of_its_queue(world: VolcanoWorld) -> None:
    world.space("siege")
    world.queue("siege", "root", 1)
    world.queue("rich", "root", 100)
    world.group("siege", "g", "siege")
    world.group("siege", "other", "rich")
    assert not world.create("siege", "first")
    eventually(lambda: world.passed("siege") == {"first"}, world.log)
    assert not world.create("siege", "second")
    eventually(lambda: world.note("siege", "second"), world.log)

    to_other = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "other"}}}
    admitted = {"metadata": {"annotations": {"quotree.dev/quota-admitted": "rich"}}}
    loose = {"spec": {"schedulingGates": None}}
    unmarked = {"metadata": {"labels": {"quotree.dev/quota": None}}}
    for name, attempts in {"first": [to_other, admitted, unmarked], "second": [loose, admitted, unmarked]}.items():
        for body in attempts:
            assert "gated-pod-evaded" in world.patch("siege", name, body), (name, body)
    assert "schedulingGates" in world.create("siege", "bound", nodeName="n")
    assert "schedulingGates" in world.bind("siege", "second")
    for name, notes, labels in (
        ("claims", {"quotree.dev/quota-admitted": "rich", "quotree.dev/quota-gang": "5"}, {}),
        ("others", {}, {"quotree.dev/quota": "yunikorn"}),
    ):
        assert not world.create("siege", name, notes=notes, labels=labels)
        eventually(lambda name=name: "lacks cpu=1" in world.note("siege", name), world.log)

    assert not world.create("siege", "huge", cpu="101")
    world.change_group("siege", "g", minMember=0, minResources={"cpu": "0"})
    world.change_group("siege", "g", queue="rich")
    eventually(lambda: world.gated("siege") == {"huge"}, world.log)
    world.drop_group("siege", "g")
    world.group("siege", "g", "siege", 0)
    # Until the reconciler observes the new PodGroup, a Pod is still ungated in the queue of the former one.
    eventually(lambda: world.waits_in("siege", OWNER) == {"siege/huge": "siege"}, world.log)
    assert not world.create("siege", "late")
    eventually(lambda: "siege lacks cpu=1, asked 1, 1 of 1 in use" in world.note("siege", "late"), world.log)
    assert sorted(world.admitted("siege").values()) == ["rich", "rich", "rich", "siege"]

    world.guard.stop()
    try:
        assert "failed calling webhook" in world.patch("siege", "late", loose)
        assert "failed calling webhook" in world.create("siege", "unseen")
        marked = {"quotree.dev/quota": "volcano"}
        assert "failed calling webhook" in world.create("siege", "forged", "", labels=marked)
    finally:
        world.guard.start()
    assert "late" in world.gated("siege")


def test_a_pod_cannot_join_a_pod_group_after_its_creation(world: VolcanoWorld) -> None:
    world.space("late")
    world.queue("late", "root", 8)
    world.queue("late-victim", "late", 4)
    world.group("late", "g", "late-victim")
    to_victim = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}
    for name, more in {
        "huge": {},
        "bound": {"nodeName": "n"},
        "of-volcano": {"nodeName": "n", "schedulerName": "volcano"},
    }.items():
        assert not world.create("late", name, "", "1000000", **more)
        assert "gated-pod-evaded" in world.patch("late", name, to_victim), name
    assert not world.create("late", "controlled", "", "1000000", schedulerName="volcano")
    assert not world.patch("late", "controlled", to_victim), "as Volcano's controller does"
    with world.unguarded():
        eventually(lambda: not world.patch("late", "huge", to_victim))

    assert not world.create("late", "first")
    eventually(lambda: "first" in world.passed("late"), world.log)
    world.guard.stop()
    try:
        assert "failed calling webhook" in world.patch("late", "bound", to_victim)
    finally:
        world.guard.start()


def test_a_shrinking_pod_uses_quota_until_its_node_has_resized_it(world: VolcanoWorld) -> None:
    world.space("shrinks")
    world.queue("shrinks", "root", 2)
    world.group("shrinks", "g", "shrinks")
    assert not world.create("shrinks", "first", cpu="2")
    eventually(lambda: world.passed("shrinks") == {"first"}, world.log)
    assert not world.bind("shrinks", "first")
    world.allocates("shrinks", "first", "2")

    world.resize("shrinks", "first", "1m")
    assert not world.create("shrinks", "second", cpu="1900m")
    short = "shrinks lacks cpu=1900m, asked 1900m, 2 of 2 in use"
    eventually(lambda: short in world.note("shrinks", "second"), world.log)

    world.allocates("shrinks", "first", "1m")
    eventually(lambda: world.passed("shrinks") == {"first", "second"}, world.log)


def test_pods_without_a_pod_group_stay_gated_in_a_labelled_namespace(world: VolcanoWorld) -> None:
    world.space("bound", quota="volcano")
    world.queue("bound", "root", 1)
    world.group("bound", "g", "bound")
    assert not world.create("bound", "free", "")
    assert not world.create("bound", "member")
    eventually(lambda: world.passed("bound") == {"member"}, world.log)
    eventually(lambda: "NoPodGroup: names no PodGroup" in world.note("bound", "free"), world.log)

    assert not world.patch("bound", "free", {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}})
    eventually(lambda: "bound lacks cpu=1" in world.note("bound", "free"), world.log)
    world.guard.stop()
    try:
        assert "failed calling webhook" in world.create("bound", "unseen", "")
    finally:
        world.guard.start()

    world.space("open")
    assert not world.create("open", "free", "")
    assert world.passed("open") == {"free"}
    claims = {"labels": {"quotree.dev/quota": "volcano"}, "annotations": {"quotree.dev/quota-admitted": "bound"}}
    assert "gated-pod-evaded" in world.patch("open", "free", {"metadata": claims})


def test_a_pod_ungated_without_the_webhook_is_stopped(world: VolcanoWorld) -> None:
    world.space("loose")
    world.queue("loose", "root", 1)
    world.group("loose", "g", "loose")
    assert not world.create("loose", "first")
    eventually(lambda: world.passed("loose") == {"first"}, world.log)
    assert not world.create("loose", "second")
    eventually(lambda: world.note("loose", "second"), world.log)

    with world.unguarded():
        eventually(lambda: not world.patch("loose", "second", {"spec": {"schedulingGates": None}}))
        eventually(lambda: set(world.pods("loose")) == {"first"}, world.log)
        eventually(lambda: "Stopped" in world.reasons("loose"), world.log)


def test_pods_are_ungated_exactly_up_to_the_quota_after_repeated_kills(world: VolcanoWorld) -> None:
    chance, limits = random.Random(7), {"storm": 3, "gust": 2}
    world.queue("weather", "root", 4)
    for name, cpu in limits.items():
        world.space(name)
        world.queue(name, "weather", cpu)
        world.group(name, "g", name)
    number = 0
    for _ in spread(range(4), 0.4):
        for name in limits:
            for _ in range(4):
                number += 1
                assert not world.create(name, f"p{number}")
        world.kill()
        assert sum(map(world.used, limits)) <= 4
        for name, cpu in limits.items():
            assert world.used(name) <= cpu
            for each in sorted(world.passed(name))[: chance.randint(0, 2)]:
                world.delete(name, each)
        world.start(*SERVING)
        eventually(lambda: sum(map(world.used, limits)) == 4, world.log, seconds=60)
        assert all(world.used(name) <= cpu for name, cpu in limits.items())
    assert all(world.gated(name) for name in limits)
    assert "403 Forbidden" not in world.log()
