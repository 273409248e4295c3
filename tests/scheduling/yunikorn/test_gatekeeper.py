"""The gate when many events are observed at once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from policies.dialects.core import read_namespace
from policies.dialects.quota_gates import QUOTA_KEY
from policies.dialects.yunikorn_config import dynamic
from policies.dialects.yunikorn_config.configmap import CONFIGS, read_config_map
from scheduling.yunikorn.application import Application
from scheduling.yunikorn.gates.gated_pod import read_gated_pod
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.gates.queues_in_force import QueuesInForce
from scheduling.yunikorn.ready import LeafWork
from tests.builders import Manifest
from tests.scheduling.yunikorn.manifests import namespace, pod, queues_yaml
from tests.scheduling.yunikorn.recount import check

_TEAM = queues_yaml("- {name: team, parent: true}", "[{name: tag, value: namespace, create: true}]")


@pytest.fixture
def keeper() -> YuniKornGatekeeper:
    made = YuniKornGatekeeper(QueuesInForce("yunikorn"))
    made.put_namespace("dev", read_namespace(namespace("dev", namespace_quota='{"cpu":"2"}')))
    return made


def waiting(made: Manifest, uid: str = "") -> Manifest:
    labels = {**made["metadata"].get("labels", {}), QUOTA_KEY: "yunikorn"}
    gates = [{"name": QUOTA_KEY}]
    return {
        **made,
        "metadata": {**made["metadata"], "uid": uid, "labels": labels},
        "spec": {**made["spec"], "schedulingGates": gates},
    }


def running(made: Manifest) -> Manifest:
    return {**made, "spec": {**made["spec"], "nodeName": "n"}, "status": {"phase": "Running"}}


def put(keeper: YuniKornGatekeeper, *manifests: Manifest) -> None:
    for read in map(read_gated_pod, manifests):
        keeper.put_pod(read.key, read)


def test_running_pods_with_the_id_of_a_refused_application_count_once(keeper: YuniKornGatekeeper) -> None:
    put(keeper, waiting(pod("w", "a", "1", "dev", task_groups="nonsense")))
    assert keeper.decide(1) == []

    put(keeper, *(running(pod(name, "a", "500m", "dev")) for name in ("r1", "r2")))
    keeper.decide(2)

    check(keeper.scheduler)
    assert keeper.scheduler.tree.queues["root.dev"].allocated["vcore"] == 2000
    for name in ("w", "r1", "r2"):
        keeper.put_pod(f"dev/{name}", None)
    keeper.decide(3)
    assert not keeper.scheduler.applications


def test_a_decision_does_not_apply_to_a_later_pod_of_the_same_name(
    keeper: YuniKornGatekeeper,
) -> None:
    put(keeper, waiting(pod("p", "a", "1", "dev"), "first"))
    assert keeper.decide(1) == ["dev/p"]

    put(keeper, waiting(pod("p", "a", "100", "dev"), "second"))
    keeper.queues.put(CONFIGS, read_config_map(_TEAM))

    assert keeper.decide(2) == []
    assert keeper.is_waiting("dev/p")


def test_a_pod_with_a_very_deep_queue_does_not_block_other_pods(keeper: YuniKornGatekeeper) -> None:
    """Such a queue was created recursively, so the error ended the decisions about all Pods."""
    keeper.queues.put(CONFIGS, read_config_map(queues_yaml("- {name: q}", "[{name: provided, create: true}]")))
    deep = pod("deep", "a", "1", "dev")
    deep["metadata"]["annotations"] = {"yunikorn.apache.org/queue": "root" + ".a" * 10_000}
    put(keeper, waiting(deep), waiting(pod("p", "b", "1", "dev", queue="root.q")))

    assert keeper.decide(1) == ["dev/p"]
    why = keeper.why("dev/deep")
    assert why is not None
    assert "more than 100 levels" in why.message


@pytest.mark.parametrize("sort", ["fifo", "fair"])
def test_a_new_application_does_not_sort_all_waiting_ones_again(
    keeper: YuniKornGatekeeper, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    """With 4000 waiting applications in one queue, a decision took a minute."""
    queue = f"- {{name: q, resources: {{max: {{vcore: 1m}}}}, properties: {{application.sort.policy: {sort}}}}}"
    keeper.queues.put(CONFIGS, read_config_map(queues_yaml(queue, "[{name: fixed, value: root.q}]")))
    keeper.put_namespace("ops", read_namespace(namespace("ops")))
    put(keeper, *(waiting(pod(f"p{number}", f"a{number}", "1", "dev")) for number in range(30)))
    keeper.decide(1)
    placed: list[str] = []
    place = LeafWork.place

    def counting(self: LeafWork, application: Application) -> None:
        placed.append(application.name)
        place(self, application)

    monkeypatch.setattr(LeafWork, "place", counting)
    put(keeper, waiting(pod("new", "new", "1", "dev")), waiting(pod("other", "other", "1", "ops")))
    keeper.decide(2)

    assert {*placed} == {"dev/new", "ops/other"}


def shared_by(number: int) -> YuniKornGatekeeper:
    """A dynamic leaf with an application of each of so many Namespaces with quota."""
    made = YuniKornGatekeeper(QueuesInForce("yunikorn"))
    made.queues.put(CONFIGS, read_config_map(queues_yaml("", "[{name: fixed, value: root.shared, create: true}]")))
    for each in range(number):
        made.put_namespace(f"n{each}", read_namespace(namespace(f"n{each}", namespace_quota=f'{{"cpu":"{each + 2}"}}')))
        put(made, waiting(pod("p", "a", "1m", f"n{each}")))
    made.decide(1)
    return made


def test_an_application_does_not_read_the_quotas_of_all_namespaces_in_its_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 600 Namespaces in one dynamic queue, a decision took 37 seconds."""
    few, many = shared_by(2), shared_by(20)
    read: list[str] = []
    effective = dynamic.effective

    def counting(amounts: Mapping[str, int] | None) -> Mapping[str, int] | None:
        read.append("amounts")
        return effective(amounts)

    def reads(keeper: YuniKornGatekeeper) -> int:
        before = len(read)
        put(keeper, waiting(pod("new", "new", "1m", "n0")))
        assert keeper.decide(2) == ["n0/new"]
        return len(read) - before

    monkeypatch.setattr(dynamic, "effective", counting)

    assert reads(many) == reads(few)


def test_an_application_with_unreadable_task_groups_does_not_change_the_limits_of_its_queue() -> None:
    keeper = shared_by(2)

    put(keeper, waiting(pod("new", "new", "1m", "n1", task_groups="nonsense")))
    keeper.decide(2)

    assert keeper.scheduler.tree.queues["root.shared"].settings.maximum == {"vcore": 2000}


def test_usage_is_updated_before_the_next_decision(keeper: YuniKornGatekeeper) -> None:
    put(keeper, waiting(pod("p", "a", "1", "dev")))
    keeper.decide(1)

    keeper.put_pod("dev/p", None)

    assert keeper.usage("dev") == {"vcore": (0, 2000)}


def test_a_pod_is_admitted_once_its_application_runs_beyond_the_application_limit(
    keeper: YuniKornGatekeeper,
) -> None:
    """As in YuniKorn, the number counts only when an application begins to run."""
    only_one = queues_yaml("- {name: q, maxapplications: 1}", "[{name: fixed, value: root.q}]")
    keeper.queues.put(CONFIGS, read_config_map(only_one))
    put(keeper, running(pod("r1", "a")), waiting(pod("w", "b")))
    assert keeper.decide(1) == []

    put(keeper, running(pod("r2", "b")))

    assert keeper.decide(2) == ["dev/w"]
