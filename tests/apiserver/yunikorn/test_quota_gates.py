"""`yunikorn.enforce: gates` as shipped: quotas, edits, gangs, a tenant that tries to evade quota, and kill -9."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane, User
from tests.apiserver.needs import skip_without
from tests.apiserver.yunikorn.gated_world import ANNA, MERGE, GatedWorld, deployment, gang, installed, is_gated
from tests.profiles import spread
from tests.scheduling.yunikorn.manifests import namespace, node, pod, queues_yaml
from tests.waiting import eventually

TEAM = queues_yaml(
    """
    - {name: team, parent: true, resources: {max: {vcore: 3}}}
    - name: guarded
      parent: true
      resources: {max: {vcore: 2}}
      childtemplate: {properties: {preemption.delay: 1s}}
    """,
    "[{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}},"
    " {name: tag, value: namespace, create: true}]",
)


@pytest.fixture(scope="module")
def world(programs: build.Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedWorld]:
    with ExitStack() as running:
        try:
            server = running.enter_context(ControlPlane(controller_manager=True, users=[User(ANNA)]))
        except build.MissingControlPlaneError as error:
            skip_without(error)
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "yunikorn"}})
        server.request("POST", "/api/v1/namespaces/yunikorn/configmaps", TEAM)
        # The controller manager deletes Pods that are bound to a Node which does not exist.
        server.request("POST", "/api/v1/nodes", node("n"))
        guard = running.enter_context(installed(server))
        found = GatedWorld(server, guard, tmp_path_factory.mktemp("gates"))
        found.start()
        running.callback(found.kill)
        yield found


def conditions(world: GatedWorld, namespace: str) -> set[tuple[str, str, str]]:
    found = world.server.request("GET", f"/api/v1/namespaces/{namespace}")["status"].get("conditions", [])
    return {(each["type"], each["status"], each["message"]) for each in found}


def test_pods_of_a_deployment_are_ungated_up_to_the_quota_of_the_namespace(world: GatedWorld) -> None:
    world.space("json", namespace_quota='{"cpu":"2"}')
    world.server.request("POST", "/apis/apps/v1/namespaces/json/deployments", deployment(4))
    eventually(lambda: world.used("json") == 2 and len(world.gated("json")) == 2, world.log)
    name = min(world.gated("json"))
    eventually(lambda: "root.json lacks cpu=1" in world.note("json", name), world.log)

    full = ("quotree.dev/QuotaFull", "True", "cpu 2 of 2 in use")
    eventually(lambda: full in conditions(world, "json"), world.log)

    world.quota("json", '{"cpu":"3"}')
    eventually(lambda: world.used("json") == 3, world.log)
    world.quota("json", '{"cpu":3}')
    eventually(lambda: "UnreadableQuota" in world.note("json", min(world.gated("json"))), world.log)
    eventually(
        lambda: ("quotree.dev/QuotaUnreadable", "True") in {each[:2] for each in conditions(world, "json")}, world.log
    )
    world.end("json", min(world.passed("json")))
    world.quota("json", '{"cpu":"4"}')
    assert eventually(lambda: world.used("json") == 4, world.log)


def test_legacy_annotations_and_parent_queues_limit_the_pods(world: GatedWorld) -> None:
    for name in ("old", "older"):
        world.space(name, namespace_max_cpu="2", parentqueue="root.team")
        for number in range(3):
            assert not world.create(name, f"{name}{number}")
    eventually(lambda: world.used("old") + world.used("older") == 3, world.log)
    waiting = [(name, pod) for name in ("old", "older") for pod in world.gated(name)]
    eventually(lambda: all("root.team lacks cpu=1" in world.note(*each) for each in waiting), world.log)
    world.end("old", min(world.passed("old")))
    eventually(lambda: len(world.gated("old") | world.gated("older")) == 2, world.log)
    assert world.used("old") + world.used("older") == 3


def test_a_gang_is_ungated_as_a_whole(world: GatedWorld) -> None:
    world.space("gangs", namespace_quota='{"cpu":"3"}')
    assert not world.create("gangs", "alone", "other")
    eventually(lambda: world.passed("gangs") == {"alone"}, world.log)
    for number in range(3):
        assert not world.create("gangs", f"g{number}", "gang", notes=gang(3))
    eventually(lambda: "WaitsForGang" in world.note("gangs", "g2"), world.log)
    assert world.passed("gangs") == {"alone"}

    world.end("gangs", "alone")
    eventually(lambda: world.gated("gangs") == set(), world.log)


def test_a_pod_of_the_guaranteed_quota_is_ungated_after_its_victim_ended(world: GatedWorld) -> None:
    world.space("greedy", namespace_max_cpu="2", parentqueue="root.guarded")
    world.space("meek", namespace_guaranteed='{"cpu":"1"}', parentqueue="root.guarded")
    for name in ("first", "second"):
        assert not world.create("greedy", name, name)
        eventually(lambda name=name: name in world.passed("greedy"), world.log)
        assert not world.bind("greedy", name)
    assert not world.create("meek", "small")

    def going() -> list[str]:
        return [name for name, each in world.pods("greedy").items() if each["metadata"].get("deletionTimestamp")]

    eventually(lambda: going() and "Preempted" in world.reasons("greedy"), world.log)
    (victim,) = going()
    assert world.gated("meek") == {"small"}

    world.delete("greedy", victim)
    eventually(lambda: world.passed("meek") == {"small"}, world.log)
    assert world.used("greedy") == 1


def test_a_tenant_cannot_evade_the_quota_of_its_namespace(world: GatedWorld) -> None:
    world.space("siege", namespace_quota='{"cpu":"1"}')
    world.space("rich", namespace_quota='{"cpu":"100"}')
    assert not world.create("siege", "first")
    assert not world.create("siege", "second", "b")
    eventually(lambda: world.passed("siege") == {"first"} and world.note("siege", "second"), world.log)

    attempts = [
        {"spec": {"schedulingGates": None}},
        {"metadata": {"labels": {"quotree.dev/quota": None}}},
        {"metadata": {"labels": {"yunikorn.apache.org/app-id": "elsewhere"}}},
        {"metadata": {"labels": {"queue": "root.rich"}}},
        {"metadata": {"annotations": {"quotree.dev/quota-admitted": "root.rich"}}},
        {"metadata": {"labels": {"quotree.dev/quota": None}}, "spec": {"schedulingGates": None}},
    ]
    for name in ("first", "second"):
        for body in attempts[name == "first" :]:
            assert "gated-pod-evaded" in world.patch("siege", name, body), (name, body)
    assert "schedulingGates" in world.create("siege", "bound", nodeName="n")
    notes = {"metadata": {"annotations": {"quotree.dev/quota-admitted": "root.rich"}}}
    assert not world.create("siege", "claims")
    assert "gated-pod-evaded" in world.patch("siege", "claims", notes)
    assert not world.create("siege", "shares", "of-rich")
    assert "schedulingGates" in world.bind("siege", "shares")
    assert world.used("siege") == 1

    world.guard.stop()
    try:
        assert "failed calling webhook" in world.patch("siege", "second", attempts[0])
        assert "failed calling webhook" in world.create("siege", "unseen")
    finally:
        world.guard.start()
    assert world.used("siege") == 1


def test_a_shrinking_pod_uses_quota_until_its_node_has_resized_it(world: GatedWorld) -> None:
    world.space("shrinks", namespace_quota='{"cpu":"2"}')
    assert not world.create("shrinks", "first", cpu="2")
    eventually(lambda: world.passed("shrinks") == {"first"}, world.log)
    assert not world.bind("shrinks", "first")
    world.allocates("shrinks", "first", "2")

    world.resize("shrinks", "first", "1m")
    assert not world.create("shrinks", "second", "b", cpu="1900m")
    short = "root.shrinks lacks cpu=1900m, asked 1900m, 2 of 2 in use"
    eventually(lambda: short in world.note("shrinks", "second"), world.log)

    world.allocates("shrinks", "first", "1m")
    eventually(lambda: world.passed("shrinks") == {"first", "second"}, world.log)


def test_an_unbound_pod_older_than_the_quota_does_not_use_quota(world: GatedWorld) -> None:
    world.server.request("POST", "/api/v1/namespaces", namespace("elder"))
    world.settled("elder")
    pods = "/api/v1/namespaces/elder/pods"

    def passes_at_once() -> bool:
        """Whether a new Pod has no gate. The webhook gates each Pod of a Namespace that is not in its cache yet."""
        if not is_gated(world.server.request("POST", pods, pod("huge", "a", "1000000", "elder"))):
            return True
        world.delete("elder", "huge")
        return False

    eventually(passes_at_once, world.guard.log)
    world.quota("elder", '{"cpu":"2"}')
    probe = pod("probe", "a", "1", "elder")
    eventually(lambda: is_gated(world.server.request("POST", f"{pods}?dryRun=All", probe)), world.guard.log)
    world.server.request("POST", pods, pod("small", "a", "2", "elder"))

    eventually(lambda: world.passed("elder") == {"huge", "small"}, world.log)
    assert not world.bind("elder", "huge")
    forged = {"metadata": {"annotations": {"quotree.dev/quota-admitted": "root.elsewhere"}}}
    world.server.request("PATCH", f"{pods}/huge", forged, content_type=MERGE)
    world.server.request("POST", pods, pod("next", "b", "1", "elder"))
    eventually(lambda: "1000002 of 2 in use" in world.note("elder", "next"), world.log)


def test_a_pod_ungated_without_the_webhook_is_stopped(world: GatedWorld) -> None:
    world.space("loose", namespace_quota='{"cpu":"1"}')
    assert not world.create("loose", "first")
    assert not world.create("loose", "second")
    eventually(lambda: world.passed("loose") == {"first"} and world.note("loose", "second"), world.log)

    with world.unguarded():
        eventually(lambda: not world.patch("loose", "second", {"spec": {"schedulingGates": None}}))
        eventually(lambda: set(world.pods("loose")) == {"first"}, world.log)
        eventually(lambda: "Stopped" in world.reasons("loose"), world.log)


def test_pods_are_ungated_exactly_up_to_the_quota_after_repeated_kills(world: GatedWorld) -> None:
    chance, spaces = random.Random(7), {"storm": 3, "gust": 2}
    for name, cpu in spaces.items():
        world.space(name, namespace_quota=f'{{"cpu":"{cpu}"}}')
    number = 0
    for _ in spread(range(4), 0.4):
        for name in spaces:
            for _ in range(4):
                number += 1
                assert not world.create(name, f"p{number}", chance.choice("abc"))
        world.kill()
        for name, cpu in spaces.items():
            assert world.used(name) <= cpu
            for each in sorted(world.passed(name))[: chance.randint(0, 2)]:
                world.delete(name, each)
        world.start()
        for name, cpu in spaces.items():
            eventually(lambda name=name, cpu=cpu: world.used(name) == cpu, world.log, seconds=60)
    for name, cpu in spaces.items():
        assert world.used(name) == cpu
        assert world.gated(name)
    assert "403 Forbidden" not in world.log()
