"""YuniKorn simulated from manifests: placement, quotas of Namespaces, and changes of the configuration."""

from __future__ import annotations

import json

import pytest

from policies.model.objects import Ref
from scheduling.objects.times import SECOND
from scheduling.queue_tree.simulated import RunningPods
from scheduling.yunikorn.properties import DISABLED, FAIR, FENCE, Properties, inherited, read_properties
from scheduling.yunikorn.simulation import (
    REJECTED,
    UNREADABLE_QUEUES,
    UNREADABLE_QUOTA,
    PodPreempted,
    YuniKornSimulation,
)
from scheduling.yunikorn.waiting import APPLICATIONS, GANG, QUEUE_QUOTA, waiting
from tests.scheduling.yunikorn.manifests import Manifest, namespace, node, pod, queues_yaml

DYNAMIC = queues_yaml("")
BELOW_PARENT = (
    "[{name: tag, value: namespace, create: true, parent: {name: tag, value: namespace.parentqueue}},"
    " {name: tag, value: namespace, create: true}]"
)


def played(*manifests: Manifest, strict: bool = True) -> YuniKornSimulation:
    simulation = YuniKornSimulation(0, strict=strict)
    add(simulation, *manifests)
    return simulation


def add(simulation: YuniKornSimulation, *manifests: Manifest) -> None:
    simulation.change(manifests)
    simulation.settle()


def runs(simulation: YuniKornSimulation) -> list[str]:
    return sorted(key for each in simulation.scheduler.applications.values() for key in each.allocations)


def most(simulation: YuniKornSimulation, queue: str = "root.dev") -> object:
    return simulation.scheduler.tree.queues[queue].settings.maximum


def test_a_changed_namespace_quota_takes_effect_with_the_next_application() -> None:
    simulation = played(DYNAMIC, namespace("dev", namespace_quota='{"cpu":"1"}'), pod("a", "app1"), pod("b", "app1"))
    assert (runs(simulation), most(simulation)) == (["dev/a"], {"vcore": 1000})

    add(simulation, namespace("dev", namespace_quota='{"cpu":"8"}'))
    assert (runs(simulation), most(simulation)) == (["dev/a"], {"vcore": 1000})

    add(simulation, pod("c", "app2"))
    assert (runs(simulation), most(simulation)) == (["dev/a", "dev/b", "dev/c"], {"vcore": 8000})

    add(simulation, namespace("dev"), pod("d", "app3"))
    assert most(simulation) == {"vcore": 8000}

    add(simulation, namespace("dev", namespace_guaranteed='{"cpu":"1"}'), pod("e", "app4"))
    assert most(simulation) is None


def test_a_dynamic_queue_is_removed_with_its_last_application() -> None:
    simulation = played(DYNAMIC, namespace("dev", namespace_quota='{"cpu":"1"}'), pod("a", "app1"))
    simulation.finish("dev/a")
    assert list(simulation.scheduler.tree.queues) == ["root"]

    add(simulation, namespace("dev"), pod("b", "app2"))
    assert most(simulation) is None


def test_the_legacy_quota_annotations_count_unless_the_new_one_is_set() -> None:
    legacy = namespace("dev", namespace_max_cpu="1")
    both = namespace("dev", namespace_max_cpu="1", namespace_quota='{"cpu":"5"}')

    assert most(played(DYNAMIC, legacy, pod("a", "app"))) == {"vcore": 1000}
    assert most(played(DYNAMIC, both, pod("a", "app"))) == {"vcore": 5000}


@pytest.mark.parametrize("quota", ['{"cpu":64}', "{'cpu':'1'}", '{"cpu":"-1","memory":"1G"}', '{"cpu":"1x"}'])
def test_an_invalid_namespace_quota_admits_nothing_and_is_reported(quota: str) -> None:
    broken = namespace("dev", namespace_quota=quota, namespace_max_cpu="1")
    simulation = played(DYNAMIC, broken, pod("a", "app"))
    (refusal,) = simulation.refused.values()
    assert refusal.reason == UNREADABLE_QUOTA
    assert "namespace.quota of Namespace dev cannot be read" in refusal.message
    assert runs(played(DYNAMIC, broken, pod("a", "app"), strict=False)) == ["dev/a"]

    add(simulation, namespace("dev", namespace_quota='{"cpu":"1"}'))
    assert runs(simulation) == ["dev/a"]


def test_a_declared_queue_ignores_the_quota_of_the_namespace() -> None:
    simulation = played(
        queues_yaml("- {name: dev, resources: {max: {vcore: 2}}}"),
        namespace("dev", namespace_quota="broken"),
        *(pod(name, "app") for name in "abc"),
    )

    assert runs(simulation) == ["dev/a", "dev/b"]


def test_a_namespace_below_its_parentqueue_keeps_the_limits_of_both() -> None:
    config = queues_yaml("- {name: production, parent: true, resources: {max: {vcore: 3}}}", BELOW_PARENT)
    spaces = [namespace(name, parentqueue="root.production", namespace_quota='{"cpu":"2"}') for name in ("x", "y")]
    pods = [pod(f"p{number}", f"app-{space}", space=space) for space in ("x", "y") for number in range(3)]
    simulation = played(config, *spaces, *pods)

    assert len(runs(simulation)) == 3
    assert {lack.queue for each in waiting(simulation) for lack in each.lacks} == {
        "root.production",
        "root.production.x",
    }


def test_a_rejected_application_is_tried_again_with_a_new_configuration() -> None:
    provided = "[{name: provided, create: false}]"
    simulation = played(queues_yaml("- {name: a}", provided), pod("a", "app", queue="root.b"))
    assert [each.reason for each in waiting(simulation)] == [REJECTED]

    add(simulation, queues_yaml("- {name: b}", provided))
    assert runs(simulation) == ["dev/a"]


def test_without_a_configuration_each_namespace_gets_a_queue() -> None:
    assert list(played(pod("a", "app")).scheduler.tree.queues) == ["root", "root.dev"]


def test_a_lower_max_evicts_no_pod_and_a_removed_queue_drains() -> None:
    simulation = played(queues_yaml("- {name: dev, resources: {max: {vcore: 3}}}"), *(pod(n, "app") for n in "abcd"))
    add(simulation, queues_yaml("- {name: dev, resources: {max: {vcore: 1}}}"))
    assert runs(simulation) == ["dev/a", "dev/b", "dev/c"]

    provided = queues_yaml("- {name: other}", "[{name: tag, value: namespace, create: false}]")
    add(simulation, provided, pod("new", "app2"))
    assert runs(simulation) == ["dev/a", "dev/b", "dev/c"]
    assert simulation.refused.keys() == {"dev/new"}
    for name in "abcd":
        simulation.finish(f"dev/{name}")
    assert sorted(simulation.scheduler.tree.queues) == ["root", "root.other"]


def test_running_pods_count_even_beyond_the_quota() -> None:
    quota = namespace("dev", namespace_quota='{"cpu":"1"}')
    simulation = played(DYNAMIC, quota, pod("new", "app"), pod("a", "app", node="n"), pod("b", "app", node="n"))

    assert runs(simulation) == ["dev/a", "dev/b"]
    assert [each.lacks[0].short for each in waiting(simulation)] == [2000]


def test_nodes_are_the_max_of_root_and_guarantees_are_reclaimed_after_the_delay() -> None:
    config = queues_yaml("- {name: dev, resources: {guaranteed: {vcore: 1}}}\n- {name: b}")
    greedy = [pod(f"b{number}", "greedy", space="b") for number in range(2)]
    simulation = played(config, node(cpu="2"), *greedy)
    add(simulation, pod("a", "app"))
    assert runs(simulation) == ["b/b0", "b/b1"]

    simulation.at(60 * SECOND)

    assert runs(simulation) == ["b/b0", "dev/a"] or runs(simulation) == ["b/b1", "dev/a"]
    assert [event.preemptor for event in simulation.trace if isinstance(event, PodPreempted)] == ["dev/a"]


def test_no_pod_is_preempted_for_a_priority_class_that_never_preempts() -> None:
    config = queues_yaml("- {name: dev, resources: {guaranteed: {vcore: 1}}}\n- {name: b}")
    polite = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "polite"},
        "value": 9,
        "preemptionPolicy": "Never",
    }
    simulation = played(config, polite, node(cpu="1"), pod("b", "greedy", space="b"))
    waiting_pod = pod("a", "app")
    waiting_pod["spec"]["priorityClassName"] = "polite"
    add(simulation, waiting_pod)

    simulation.at(60 * SECOND)

    assert runs(simulation) == ["b/b"]


@pytest.mark.parametrize(("policy", "preempts"), [("Never", False), ("PreemptLowerPriority", True)])
def test_placeholders_have_the_class_of_the_pod_that_submits_them(policy: str, preempts: bool) -> None:
    config = queues_yaml("- {name: dev, resources: {guaranteed: {vcore: 1}}}\n- {name: b}")
    named = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "named"}, "value": 9}
    simulation = played(config, {**named, "preemptionPolicy": policy}, node(cpu="1"), pod("b", "greedy", space="b"))
    groups = json.dumps([{"name": "g", "minMember": 1, "minResource": {"cpu": "1"}}])
    driver = pod("a", "team", task_groups=groups, task_group_name="g")
    driver["spec"]["priorityClassName"] = "named"
    add(simulation, driver)

    simulation.at(60 * SECOND)

    assert runs(simulation) == (["dev/a"] if preempts else ["b/b"])


def test_the_gang_of_a_higher_priority_comes_first() -> None:
    config = queues_yaml("- {name: dev, resources: {max: {vcore: 1}}}")
    groups = json.dumps([{"name": "g", "minMember": 1, "minResource": {"cpu": "1"}}])
    gang = {"task_groups": groups, "task_group_name": "g"}
    low, high = pod("a", "first", **gang), pod("b", "second", **gang)
    high["spec"]["priority"] = 9
    simulation = played(config, low, high)

    assert runs(simulation) == ["dev/b"]


@pytest.mark.parametrize(("enabled", "victims"), [("{enabled: false}", 0), ("{quotapreemptionenabled: true}", 1)])
def test_the_partition_may_switch_preemption_off(enabled: str, victims: int) -> None:
    config = queues_yaml("- {name: dev, resources: {guaranteed: {vcore: 1}}}\n- {name: b}")
    text = config["data"]["queues.yaml"].replace("- name: default", f"- name: default\n  preemption: {enabled}", 1)
    simulation = played({**config, "data": {"queues.yaml": text}}, node(cpu="1"), pod("b", "greedy", space="b"))
    add(simulation, pod("a", "app"))
    simulation.at(60 * SECOND)

    assert sum(isinstance(event, PodPreempted) for event in simulation.trace) == victims


def test_gangs_and_applications_beyond_max_apps_report_why_they_wait() -> None:
    groups = json.dumps([{"name": "g", "minMember": 3, "minResource": {"cpu": "1"}}])
    gang = {"task_groups": groups, "task_group_name": "g"}
    limited = namespace("dev", namespace_quota='{"cpu":"4"}')
    simulation = played(DYNAMIC, limited, pod("a", "one", "2"), pod("b", "team", **gang))
    assert [(each.key, each.reason) for each in waiting(simulation)] == [
        ("gang team", QUEUE_QUOTA),
        ("dev/b", GANG),
    ]

    one = YuniKornSimulation(0)
    add(one, DYNAMIC, {**limited, "metadata": namespace("dev", namespace_maxApps="1")["metadata"]})
    add(one, pod("a", "first"))
    add(one, pod("b", "second"))
    assert [(each.reason, each.message) for each in waiting(one)] == [
        (APPLICATIONS, "root.dev runs 1 applications, and 1 is its limit")
    ]


def test_each_free_placeholder_of_a_gang_counts_as_one_pod() -> None:
    sizes = (("driver", 1), ("worker", 3))
    groups = json.dumps([{"name": name, "minMember": n, "minResource": {"cpu": "1"}} for name, n in sizes])
    simulation = played(DYNAMIC, pod("d", "team", task_groups=groups, task_group_name="driver"))
    assert simulation.running() == {"application team": RunningPods("root.dev", 4)}

    add(simulation, pod("w", "team", task_group_name="worker"))
    assert simulation.running() == {"application team": RunningPods("root.dev", 4)}


def test_a_deleted_node_has_no_capacity() -> None:
    simulation = played(DYNAMIC, node("n1", cpu="1"), node("n2", cpu="2"))

    simulation.drop([Ref("", "Node", "", "n2")])
    add(simulation, pod("a", "one"), pod("b", "two"))
    assert runs(simulation) == ["dev/a"]

    simulation.drop(
        [Ref("", "Node", "", "n1"), *[Ref("", "Pod", "dev", "a")] * 2]
    )  # the same object may be named twice
    add(simulation, pod("c", "three"))
    assert runs(simulation) == []


def test_a_gang_larger_than_its_queue_is_rejected() -> None:
    groups = json.dumps([{"name": "g", "minMember": 9, "minResource": {"cpu": "1"}}])
    simulation = played(DYNAMIC, namespace("dev", namespace_quota='{"cpu":"4"}'), pod("b", "gang", task_groups=groups))

    (refusal,) = simulation.refused.values()
    assert refusal == (REJECTED, "its task groups request more vcore than root.dev may ever use")


def test_task_groups_that_yunikorn_cannot_read_form_no_gang() -> None:
    simulation = played(DYNAMIC, namespace("dev"), node(cpu="1"), pod("b", "gang", task_groups='[{"name": "g"}]'))

    assert not simulation.refused
    assert not list(waiting(simulation))


def test_a_pod_that_is_read_again_keeps_its_amounts_unless_it_ended() -> None:
    quota = namespace("dev", namespace_quota='{"cpu":"1"}')
    simulation = played(DYNAMIC, quota, pod("a", "app"), pod("b", "app"))
    add(simulation, pod("b", "app", "9"), pod("b", "app", node="n"))
    assert runs(simulation) == ["dev/a", "dev/b"]

    add(simulation, *({**pod(name, "app"), "status": {"phase": "Succeeded"}} for name in ("a", "unknown")))
    assert runs(simulation) == ["dev/b"]
    assert simulation.scheduler.tree.queues["root.dev"].allocated == {"pods": 1, "vcore": 1000}


@pytest.mark.parametrize(
    "refused",
    [
        queues_yaml("- {name: a, resources: {max: {vcore: 1}, guaranteed: {vcore: 2}}}"),
        queues_yaml("- {name: a}", "[{name: nobody}, {name: tag, value: namespace, create: true}]"),
        queues_yaml('- {name: a, submitacl: "sue  dev"}'),
    ],
    ids=["refused", "rule that cannot be loaded", "ACL that cannot be loaded"],
)
def test_an_invalid_configuration_admits_nothing_at_the_start_and_is_ignored_later(refused: Manifest) -> None:
    simulation = played(refused, pod("a", "app"))
    assert [each.reason for each in waiting(simulation)] == [UNREADABLE_QUEUES]
    assert simulation.faults

    add(simulation, queues_yaml("- {name: dev, resources: {max: {vcore: 1}}}"))
    assert (runs(simulation), simulation.faults) == (["dev/a"], [])

    add(simulation, refused, node(cpu="1"))
    assert (most(simulation), most(simulation, "root")) == ({"vcore": 1000}, simulation.intake.capacity)
    assert runs(simulation) == ["dev/a"]
    assert simulation.faults


def test_policies_are_case_insensitive_except_for_the_sort_policy() -> None:
    texts = {
        "application.sort.policy": "FAIR",
        "application.sort.priority": "Disabled",
        "priority.policy": "FENCE",
        "preemption.policy": "Disabled",
    }

    found = read_properties(inherited({}, texts)), read_properties(texts)

    assert found[0] == Properties(by_priority=False, preemption=DISABLED)
    assert found[1] == Properties(by_priority=False, priority_fence=True, preemption=DISABLED)


def test_removed_properties_fall_back_to_the_inherited_value_or_the_default() -> None:
    """YuniKorn up to 1.9 kept them until its next start."""
    above = "- name: p\n  properties: {preemption.delay: 5s}\n  queues:\n  - name: a\n"
    own = "    properties: {application.sort.policy: fair, preemption.delay: 1s, preemption.policy: fence}\n"
    simulation = played(queues_yaml(above + own))

    def properties() -> Properties:
        return simulation.scheduler.tree.queues["root.p.a"].settings.properties

    assert properties() == Properties(sort=FAIR, preemption_delay=SECOND, preemption=FENCE)
    add(simulation, queues_yaml(above))
    assert properties() == Properties(preemption_delay=5 * SECOND)
    add(simulation, queues_yaml("- name: p\n  queues:\n  - name: a\n"))
    assert properties() == Properties()
