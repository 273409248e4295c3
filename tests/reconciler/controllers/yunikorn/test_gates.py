"""Pods pass the gate as YuniKorn's quota allows."""

from __future__ import annotations

import json

import pytest

from policies.dialects.yunikorn_gangs import POLICY, placeholder_timeout
from reconciler.controllers.gates.controller import PERIOD
from reconciler.core.commands import WriteCommand
from reconciler.core.writes import TAKEN_OVER_AT
from reconciler.objects.outcomes import Failed, LeaseLost
from scheduling.objects.times import SECOND
from tests.reconciler.controllers.yunikorn.gate_cluster import GateCluster
from tests.reconciler.controllers.yunikorn.gated_objects import DEV, GANG, TEAMS, member, pod
from tests.scheduling.yunikorn.manifests import Manifest, namespace, queues_yaml


def condition(cluster: GateCluster, kind: str, name: str = "dev") -> tuple[str, str]:
    """Status and message; empty where there is none."""
    found = cluster.objects["Namespace", name].get("status", {}).get("conditions", [])
    return next(
        ((each["status"], each["message"]) for each in found if each["type"] == f"quotree.dev/{kind}"), ("", "")
    )


def test_pods_pass_in_order_of_applications_within_the_quota() -> None:
    cluster = GateCluster(DEV)
    for name in ("a1", "a2", "a3"):
        cluster.add(pod(name))
    cluster.settle()

    assert cluster.passed() == ["a1", "a2"]
    assert cluster.note("a1", "quotree.dev/quota-admitted") == "root.dev"
    expected = "NotEnoughQueueQuota in root.dev: root.dev lacks cpu=1, asked 1, 2 of 2 in use"
    assert cluster.note("a3") == expected

    cluster.end("a1")
    cluster.settle()
    assert cluster.passed() == ["a1", "a2", "a3"]
    assert not cluster.note("a3")


def with_a_write_in_flight() -> tuple[GateCluster, WriteCommand]:
    """A Pod that has waited may pass, and this write has not arrived; then an older Pod needs the same quota."""
    cluster = GateCluster(DEV)
    for name in ("ends", "late"):
        cluster.add(pod(name, cpu="2"))
        cluster.settle()
    cluster.end("ends")
    (late,) = (each for each in cluster.wanted() if each.key[0] == "GatedPod")
    older = pod("older", "b", cpu="2")
    cluster.add({**older, "metadata": {**older["metadata"], "creationTimestamp": "2020-01-01T00:00:00Z"}})
    return cluster, late


def test_a_late_write_passes_no_pod_after_another_leader_gave_its_quota_away() -> None:
    cluster, late = with_a_write_in_flight()
    cluster.add(pod("large", "c", cpu="3"))
    cluster.start(late_writes=True)
    cluster.settle()
    assert cluster.passed() == ["ends", "older"]
    assert [name for name in cluster.gated() if cluster.note(name, TAKEN_OVER_AT)] == ["late"]

    cluster.carry_out(late)
    cluster.settle()

    assert cluster.passed() == ["ends", "older"]


def test_a_postponed_write_passes_no_pod_after_another_term() -> None:
    cluster, late = with_a_write_in_flight()
    cluster._handle(Failed(late.key, late.action, LeaseLost("the Lease is not held")))
    cluster.lead(False)
    cluster.lead(True)
    cluster.settle()
    assert cluster.passed() == ["ends", "older"]

    cluster.carry_out(late)
    cluster.settle()

    assert cluster.passed() == ["ends", "older"]


def test_legacy_annotations_count_only_without_the_json_quota() -> None:
    legacy = {"namespace_max_cpu": "1", "namespace_max_memory": "1G"}
    cluster = GateCluster(
        namespace("old", **legacy),
        namespace("both", namespace_quota='{"cpu":"2"}', **{**legacy, "namespace_max_cpu": "x"}),
    )
    for space in ("old", "both"):
        for number in (1, 2, 3):
            cluster.add(pod(f"{space}{number}", space=space))
    cluster.settle()

    assert cluster.passed() == ["both1", "both2", "old1"]


def test_pods_of_namespaces_without_a_quota_have_no_gate() -> None:
    cluster = GateCluster(
        namespace("free"), namespace("off", namespace_quota='{"cpu":"1"}', namespace_enableYuniKorn="no")
    )
    cluster.add(pod("p", space="free"))
    cluster.add(pod("q", space="off"))
    cluster.settle()

    assert cluster.passed() == ["p", "q"]
    assert not cluster.written


@pytest.mark.parametrize("bad", ["{'cpu':'2'}", '{"cpu":2}', '{"cpu":"-1"}', "nonsense", '{"cpu":"2"'])
def test_an_unreadable_quota_admits_no_new_pods_and_is_reported(bad: str) -> None:
    cluster = GateCluster(DEV)
    cluster.add(pod("before"))
    cluster.settle()
    cluster.edit(("Namespace", "dev"), {"metadata": {"annotations": {"yunikorn.apache.org/namespace.quota": bad}}})
    cluster.add(pod("after"))
    cluster.settle()

    assert cluster.passed() == ["before"]
    assert cluster.note("after").startswith("UnreadableQuota: Namespace dev: yunikorn.apache.org/namespace.quota")
    assert condition(cluster, "QuotaUnreadable")[0] == "True"
    assert condition(cluster, "QuotaFull") == ("False", "The quota cannot be read")
    (about,) = (each["involvedObject"] for each in cluster.created() if each["reason"] == "QuotaUnreadable")
    assert (about["kind"], about["uid"]) == ("Namespace", cluster.objects["Namespace", "dev"]["metadata"]["uid"])

    cluster.edit(("Namespace", "dev"), {"metadata": DEV["metadata"]})
    cluster.settle()
    assert cluster.passed() == ["after", "before"]
    assert condition(cluster, "QuotaUnreadable")[0] == "False"


def test_an_edited_quota_applies_at_once_and_evicts_no_pods() -> None:
    cluster = GateCluster(DEV)
    for number in range(5):
        cluster.add(pod(f"p{number}"))
    cluster.settle()
    _quota(cluster, '{"cpu":"4"}')
    cluster.settle()
    assert len(cluster.passed()) == 4

    _quota(cluster, '{"cpu":"1"}')
    for name in ("p0", "p1", "p2"):
        cluster.end(name)
        cluster.settle()
        assert cluster.gated() == ["p4"], "one still runs, which is all there may be"
    cluster.end("p3")
    cluster.settle()
    assert not cluster.gated()


def test_all_pods_pass_when_a_namespace_removes_its_quota() -> None:
    cluster = GateCluster(DEV)
    for number in range(4):
        cluster.add(pod(f"p{number}"))
    cluster.settle()
    cluster.edit(("Namespace", "dev"), {"metadata": {"annotations": None}})
    cluster.settle()

    assert not cluster.gated()


def test_a_parent_queue_limits_all_namespaces_below_it() -> None:
    shares = {"namespace_quota": '{"cpu":"2"}', "parentqueue": "root.team"}
    cluster = GateCluster(TEAMS, namespace("one", **shares), namespace("two", **shares))
    for number in (1, 2, 3):
        cluster.add(pod(f"a{number}", space="one"))
        cluster.add(pod(f"b{number}", space="two"))
    cluster.settle()

    assert len(cluster.passed()) == 3
    waiting = cluster.gated()
    notes = [cluster.note(f"{'one' if name.startswith('a') else 'two'}/{name}") for name in waiting]
    assert all("root.team lacks cpu=1, asked 1, 3 of 3 in use" in note for note in notes)


@pytest.mark.parametrize(
    "broken",
    [queues_yaml("- {name: a.b}"), queues_yaml("- {name: a}", "[{name: nobody}, {name: tag, value: namespace}]")],
    ids=["refused", "rule that cannot be loaded"],
)
def test_unreadable_queues_admit_no_pods(broken: Manifest) -> None:
    cluster = GateCluster(DEV)
    cluster.add(pod("before"))
    cluster.settle()
    cluster.add(broken)
    cluster.add(pod("after"))
    cluster.settle()
    assert cluster.passed() == ["before"]
    assert cluster.note("after").startswith("UnreadableQueues: queues.yaml cannot be used")

    cluster.add(TEAMS)
    cluster.settle()
    assert cluster.passed() == ["after", "before"]


def test_a_refused_write_is_decided_again() -> None:
    cluster = GateCluster(DEV)
    cluster.refused.add("dev/p")
    cluster.add(pod("p"))
    cluster.settle()
    _quota(cluster, '{"cpu":"1m"}')
    cluster.refused.clear()
    cluster.settle(60)

    assert cluster.gated() == ["p"]
    assert "root.dev lacks cpu=999m, asked 1, 0 of 1m in use" in cluster.note("p")


def test_a_decision_that_was_not_stored_is_dropped_with_the_leadership() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"1"}'))
    cluster.failing = True
    cluster.add(pod("p"))
    cluster.add(pod("q"))
    cluster.settle(0)
    cluster.lead(False)
    passed = {"metadata": {"annotations": {"quotree.dev/quota-admitted": "root.dev"}}, "spec": {"schedulingGates": []}}
    cluster.edit(("Pod", "dev/q"), passed)
    cluster.failing = False
    cluster.lead(True)
    cluster.settle(60)

    assert cluster.passed() == ["q"]


def test_a_deleted_pod_that_may_pass_releases_its_room() -> None:
    cluster = GateCluster(DEV)
    cluster.add(pod("gone", cpu="2"))
    del cluster.objects["Pod", "dev/gone"]
    cluster.add(pod("next", cpu="2"))
    cluster.settle()

    assert cluster.passed() == ["next"]


def test_a_crash_at_any_write_does_not_change_the_result() -> None:
    cluster, crashed = GateCluster(DEV), GateCluster(DEV)
    for each in (cluster, crashed):
        for number in range(4):
            each.add(pod(f"p{number}", app="ab"[number % 2]))
    cluster.settle()
    crashed.restart_until_settled()

    assert cluster.passed() == crashed.passed() == ["p0", "p2"]
    assert all(crashed.note(name) for name in ("p1", "p3"))


# --- gangs


def test_a_gang_passes_with_its_whole_minimum_or_not_at_all() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"4"}'))
    for name in ("x1", "x2"):
        cluster.add(pod(name, "other"))
    cluster.settle()
    for name in ("g1", "g2", "g3"):
        cluster.add(member(name))
    cluster.settle()
    assert cluster.passed() == ["x1", "x2"]
    assert cluster.note("g1") == (
        "WaitsForGang in root.dev: its gang has no room yet for all its placeholders; "
        "root.dev lacks cpu=1, asked 3, 2 of 4 in use"
    )

    cluster.end("x1")
    cluster.settle()
    assert cluster.gated() == []


def test_a_gang_keeps_room_for_missing_members_after_a_crash() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"4"}'))
    cluster.add(member("g1"))
    cluster.settle()
    assert cluster.passed() == ["g1"]
    cluster.start()
    cluster.add(pod("x1", "other"))
    cluster.add(pod("x2", "other"))
    cluster.settle()
    assert cluster.passed() == ["g1", "x1"]

    cluster.add(member("g2"))
    cluster.settle()
    assert cluster.gated() == ["x2"], "g3 may still come"
    cluster.delete("g2")
    cluster.add(pod("x3", "other"))
    cluster.settle()
    assert cluster.gated() == ["x2", "x3"], "another member may take its place"
    cluster.end("g1")
    cluster.settle()
    assert cluster.gated() == [], "nothing is left of the gang"


def test_ended_task_groups_of_the_same_name_take_no_room_from_other_namespaces() -> None:
    cluster = GateCluster(TEAMS, *(namespace(name, parentqueue="root.team") for name in ("dev", "other")))
    twice = f"[{GANG[1:-1]},{GANG[1:-1]}]".replace("3", "1")
    for name in ("m1", "m2"):
        cluster.add(pod(name, "gang", task_group_name="g", task_groups=twice))
    cluster.settle()
    for name in ("m1", "m2"):
        cluster.end(name)
    for name in ("o1", "o2", "o3"):
        cluster.add(pod(name, "later", space="other"))
    cluster.settle()

    assert cluster.passed() == ["m1", "m2", "o1", "o2", "o3"]


def test_a_gang_releases_the_room_of_members_that_come_too_late() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"4"}'))
    first = member("g1")
    first["metadata"]["annotations"][POLICY] = "gangSchedulingStyle=Hard placeholderTimeoutInSeconds=60"
    cluster.add(first)
    for name in ("x1", "x2"):
        cluster.add(pod(name, "other"))
    cluster.settle(0)
    cluster.now += 30 * SECOND
    cluster.start()
    cluster.settle(0)
    cluster.now += 59 * SECOND
    cluster.settle(0)
    assert cluster.gated() == ["x2"], "the time begins again with the process"

    cluster.settle(2)
    assert cluster.gated() == []
    for name in ("g2", "g3"):
        cluster.add(member(name))
    cluster.settle()
    assert cluster.gated() == ["g3"], "who comes late waits like any other Pod"
    cluster.end("x1")
    cluster.settle()
    assert cluster.gated() == []


def test_the_timeout_of_a_place_starts_when_it_becomes_free() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"4"}'))
    for name in ("g1", "g2", "g3"):
        made = member(name)
        made["metadata"]["annotations"][POLICY] = "placeholderTimeoutInSeconds=60"
        cluster.add(made)
    cluster.settle(0)
    cluster.now += 100 * SECOND
    cluster.delete("g3")
    for name in ("x1", "x2"):
        cluster.add(pod(name, "other"))
    cluster.settle(0)
    cluster.now += 59 * SECOND
    cluster.settle(0)
    assert cluster.gated() == ["x2"]
    cluster.settle(2)
    assert cluster.gated() == []


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        ("", 900),
        ("placeholderTimeoutInSeconds=60", 60),
        ("placeholderTimeoutInSeconds=60 placeholderTimeoutInSeconds=30", 30),
        ("placeholderTimeoutInSeconds=0", 900),
        ("placeholderTimeoutInSeconds=-5", 900),
        ("placeholderTimeoutInSeconds=1m", 900),
        ("placeholderTimeoutInSeconds=9999999999999999999", 900),
    ],
)
def test_a_timeout_is_a_number_of_seconds_above_zero(policy: str, seconds: int) -> None:
    assert placeholder_timeout(policy) == seconds


def test_a_gang_that_can_never_fit_reports_the_reason() -> None:
    cluster = GateCluster(DEV)
    cluster.add(member("g1"))
    cluster.settle()

    assert cluster.note("g1").startswith("ApplicationRejected: its task groups request more vcore")


# --- theft


def test_an_application_id_of_another_namespace_gives_no_room() -> None:
    cluster = GateCluster(DEV, namespace("small", namespace_quota='{"cpu":"1"}'))
    cluster.add(pod("theirs", "shared"))
    cluster.settle()
    for number in range(3):
        cluster.add(pod(f"mine{number}", "shared", space="small"))
    cluster.settle()

    assert cluster.passed() == ["mine0", "theirs"]


def test_a_shared_dynamic_queue_uses_the_smallest_quota_of_its_namespaces() -> None:
    rules = "[{name: fixed, value: root.shared, create: true}]"
    cluster = GateCluster(queues_yaml("", rules), DEV, namespace("large", namespace_quota='{"cpu":"100"}'))
    cluster.add(pod("d0"))
    cluster.settle()
    for number in range(5):
        cluster.add(pod(f"l{number}", space="large"))
    cluster.settle()
    assert cluster.passed() == ["d0", "l0"]
    cluster.delete("d0")
    cluster.settle()
    assert not cluster.gated(), "nobody of dev is there any more"


def test_a_pod_ungated_by_a_user_is_deleted() -> None:
    cluster = GateCluster(DEV)
    for number in range(3):
        cluster.add(pod(f"p{number}"))
    cluster.settle()
    cluster.edit(("Pod", "dev/p2"), {"spec": {"schedulingGates": None, "nodeName": "n"}})
    cluster.settle()

    assert ("Pod", "dev/p2") not in cluster.objects
    assert "Stopped" in cluster.events()
    assert cluster.passed() == ["p0", "p1"]


def test_a_pod_without_its_gate_is_stopped_when_its_namespace_gets_a_quota() -> None:
    cluster = GateCluster(namespace("dev"))
    bare = pod("bare")
    marked = {**bare["metadata"], "uid": "u", "labels": {"quotree.dev/quota": "yunikorn"}}
    cluster.put(("Pod", "dev/bare"), {**bare, "metadata": marked})
    cluster.settle()
    assert ("Pod", "dev/bare") in cluster.objects

    _quota(cluster, '{"cpu":"2"}')
    cluster.settle()

    assert ("Pod", "dev/bare") not in cluster.objects
    assert "Stopped" in cluster.events()


def test_a_pod_that_ran_before_counts_and_is_not_changed() -> None:
    cluster = GateCluster(DEV)
    for number in range(3):
        old = pod(f"old{number}")
        old["spec"]["nodeName"] = "n"
        cluster.put(("Pod", f"dev/old{number}"), {**old, "metadata": {**old["metadata"], "uid": f"u{number}"}})
    cluster.add(pod("new"))
    cluster.settle()
    assert cluster.gated() == ["new"]
    assert len(cluster.pods()) == 4

    for number in range(2):
        cluster.end(f"old{number}")
    cluster.settle()
    assert cluster.gated() == []


def test_an_unscheduled_pod_without_a_gate_uses_no_quota() -> None:
    """It may be older than the quota of its Namespace; the queue above is shared with others."""
    cluster = GateCluster(DEV)
    huge = pod("huge", cpu="1000000")
    cluster.put(("Pod", "dev/huge"), {**huge, "metadata": {**huge["metadata"], "uid": "u"}})
    for name in ("a1", "a2"):
        cluster.add(pod(name))
    cluster.settle()

    assert cluster.gated() == []
    assert condition(cluster, "QuotaFull")[1] == "cpu 2 of 2 in use"

    cluster.edit(("Pod", "dev/huge"), {"spec": {"nodeName": "n"}})
    cluster.add(pod("a3"))
    cluster.now += PERIOD
    cluster.settle()
    assert cluster.gated() == ["a3"]
    assert condition(cluster, "QuotaFull")[1] == "cpu 1000002 of 2 in use"


def test_a_pod_with_volcanos_quota_label_is_ignored() -> None:
    class Both(GateCluster):
        others = frozenset(["volcano"])

    cluster = Both(namespace("free"))
    theirs = pod("theirs", space="free")
    theirs["metadata"] |= {"uid": "u", "labels": {**theirs["metadata"]["labels"], "quotree.dev/quota": "volcano"}}
    theirs["spec"]["schedulingGates"] = [{"name": "quotree.dev/quota"}]
    cluster.put(("Pod", "free/theirs"), theirs)
    cluster.settle()

    assert cluster.gated() == ["theirs"]
    assert not cluster.written


def test_a_running_pod_counts_with_any_quota_label() -> None:
    cluster = GateCluster(DEV)
    old = pod("old", cpu="2")
    old["spec"]["nodeName"] = "n"
    old["metadata"] |= {"uid": "u", "labels": {**old["metadata"]["labels"], "quotree.dev/quota": "volcano"}}
    cluster.put(("Pod", "dev/old"), old)
    cluster.add(pod("new"))
    cluster.settle()

    assert cluster.gated() == ["new"]


def test_a_pod_counts_in_the_queue_that_admitted_it_after_its_labels_change() -> None:
    cluster = GateCluster(
        queues_yaml("", "[{name: provided, create: true}, {name: tag, value: namespace, create: true}]"), DEV
    )
    cluster.add(pod("p0", "a"))
    cluster.add(pod("p1", "b"))
    cluster.settle()
    for name in ("p0", "p1"):
        cluster.edit(("Pod", f"dev/{name}"), {"metadata": {"labels": {"queue": "root.elsewhere"}}})
    cluster.add(pod("p2", "c"))
    cluster.settle()
    assert cluster.gated() == ["p2"]
    cluster.start()
    cluster.settle()
    assert cluster.gated() == ["p2"]


def test_a_pod_that_never_had_the_gate_counts_in_the_queue_of_its_namespace() -> None:
    cluster = GateCluster(DEV)
    old = pod("old", cpu="2")
    old["spec"]["nodeName"] = "n"
    old["metadata"] |= {"uid": "u", "annotations": {"quotree.dev/quota-admitted": "root.elsewhere"}}
    cluster.put(("Pod", "dev/old"), old)
    cluster.add(pod("new", "another"))
    cluster.settle()

    assert cluster.gated() == ["new"]


@pytest.mark.parametrize("noted", ["elsewhere", "root", "root" + 2000 * ".a"])
def test_a_pod_with_an_impossible_queue_in_its_annotation_was_not_admitted(noted: str) -> None:
    cluster = GateCluster(DEV)
    forged = pod("forged", cpu="2")
    forged["metadata"] |= {"uid": "u", "annotations": {"quotree.dev/quota-admitted": noted}}
    forged["metadata"]["labels"]["quotree.dev/quota"] = "yunikorn"
    forged["spec"]["nodeName"] = "n"
    cluster.put(("Pod", "dev/forged"), forged)
    cluster.add(pod("new", "another"))
    cluster.settle()

    assert cluster.passed() == ["new"]


def _quota(cluster: GateCluster, quota: str) -> None:
    cluster.edit(("Namespace", "dev"), {"metadata": {"annotations": {"yunikorn.apache.org/namespace.quota": quota}}})


# --- conditions of a Namespace


def test_a_namespace_reports_its_usage_and_whether_its_quota_is_full() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"2","memory":"1Gi"}'))
    cluster.add(pod("a1"))
    cluster.settle()
    assert condition(cluster, "QuotaFull") == ("False", "cpu 1 of 2, memory 0 of 1Gi in use")
    assert "QuotaFull" not in cluster.events()

    cluster.add(pod("a2"))
    cluster.now += PERIOD
    cluster.settle()
    assert condition(cluster, "QuotaFull") == ("True", "cpu 2 of 2, memory 0 of 1Gi in use")
    assert cluster.events().count("QuotaFull") == 1

    cluster.end("a1")
    cluster.now += PERIOD
    cluster.settle()
    assert condition(cluster, "QuotaFull") == ("False", "cpu 1 of 2, memory 0 of 1Gi in use")
    assert "QuotaFree" not in cluster.events()


def test_many_pods_make_few_writes_of_their_namespace() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"100"}'))
    for number in range(30):
        cluster.add(pod(f"p{number}"))
        cluster.settle()

    assert len([1 for key, _ in cluster.written if key[0] == "QuotaNamespace"]) <= 2


def test_usage_is_reported_after_a_while() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"100"}'))
    for number in range(30):
        cluster.add(pod(f"p{number}"))
        cluster.settle()
    cluster.now += PERIOD
    cluster.settle()

    assert condition(cluster, "QuotaFull") == ("False", "cpu 30 of 100 in use")


def test_an_edited_quota_is_reported_at_once() -> None:
    cluster = GateCluster(DEV)
    cluster.add(pod("a1"))
    cluster.settle()
    _quota(cluster, '{"cpu":"1"}')
    cluster.settle()

    assert condition(cluster, "QuotaFull") == ("True", "cpu 1 of 1 in use")


def test_a_namespace_without_quota_has_no_condition() -> None:
    cluster = GateCluster(namespace("free"))
    cluster.add(pod("p", space="free"))
    cluster.settle()

    assert condition(cluster, "QuotaFull", "free") == ("", "")


def test_the_usage_of_many_resources_fits_into_the_condition() -> None:
    quota = {"cpu": "2", **{f"example.com/device-{number}": "8" for number in range(60)}}
    cluster = GateCluster(namespace("dev", namespace_quota=json.dumps(quota)))
    cluster.add(pod("a1"))
    cluster.settle()

    status, message = condition(cluster, "QuotaFull")
    assert (status, message.partition(",")[0]) == ("False", "cpu 1 of 2")


def test_a_resource_with_a_quota_of_zero_is_not_full() -> None:
    cluster = GateCluster(namespace("dev", namespace_quota='{"cpu":"2","nvidia.com/gpu":"0"}'))
    cluster.add(pod("a1"))
    cluster.settle()

    assert condition(cluster, "QuotaFull") == ("False", "cpu 1 of 2, nvidia.com/gpu 0 of 0 in use")
