"""The store with a fake API server that has quota objects and sends changes."""

from __future__ import annotations

import threading

import pytest

from cluster.client import ClusterClient
from cluster.errors import Unreachable
from cluster.reviews import Access, Caller
from cluster.served import FOLLOWED
from cluster.sources import sources
from cluster.store import FixedCache, Store, load
from policies.dialects import core, kueue, volcano
from policies.model.objects import Ref
from tests.builders import cluster_queue, cohort, forest, job, local_queue, pod_group, queue
from tests.cluster.fake import FakeApi, status
from tests.cluster.quota_api import ALL, QUICK, QuotaApi, names
from tests.waiting import eventually

# -- following ---------------------------------------------------------------------------------------------------------


def test_a_store_is_empty_and_not_ready_before_its_start() -> None:
    fresh = Store()

    assert len(fresh.ready()) == len(sources())
    assert "Cohort: not listed yet" in fresh.ready()
    assert fresh.age() is None
    assert fresh.forest().known == frozenset()
    fresh.close()


def test_everything_that_is_stored_is_in_the_forest(
    quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store
) -> None:
    quota_api.put(cohort("org"), cohort("team", "org"), cluster_queue("cq", "team"), local_queue("lq", "cq"))
    quota_api.put(queue("eng"), queue("ml", "eng"), pod_group("group", "ml"), job("train", "ml"))
    quota_api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})

    followed.start(quota_cluster)
    eventually(lambda: not followed.ready())

    tree = followed.forest()
    assert names(tree) == {"org", "team", "cq", "lq", "eng", "ml", "group", "train", "ns"}
    assert tree.known == frozenset(FOLLOWED)
    assert [child.ref for child in tree.children(kueue.COHORT.named("org"))] == [kueue.COHORT.named("team")]
    assert {work.ref.name for work in tree.attached(volcano.queue_ref("ml"))} == {"group", "train"}
    assert followed.age() is not None


def test_changes_are_watched_and_snapshots_do_not_change(
    quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store
) -> None:
    quota_api.put(queue("eng"), queue("ml", "eng"))
    followed.start(quota_cluster)
    eventually(lambda: not followed.ready())
    first = followed.forest()

    quota_api.tell("ADDED", queue("web", "eng"))
    quota_api.tell("MODIFIED", queue("ml", "web"))
    quota_api.tell("DELETED", queue("eng"))
    eventually(lambda: names(followed.forest()) == {"ml", "web"})

    assert [child.ref.name for child in followed.forest().children(volcano.queue_ref("web"))] == ["ml"]
    assert names(first) == {"eng", "ml"}


def test_a_new_list_removes_missing_objects(quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store) -> None:
    quota_api.put(queue("eng"), queue("ml", "eng"), cohort("org"))
    followed.start(quota_cluster)
    eventually(lambda: not followed.ready())

    quota_api.objects["queues"].pop()
    quota_api.tell("ERROR", {"kind": "Queue", "code": 410, "reason": "Expired", "metadata": {}})
    assert eventually(lambda: names(followed.forest()) == {"eng", "org"})


def test_a_kind_that_is_not_installed_counts_as_empty(
    quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store
) -> None:
    quota_api.served = {resource for resource in ALL if resource.group != volcano.GROUP}

    followed.start(quota_cluster)
    eventually(lambda: not followed.ready())

    assert followed.forest().known == frozenset(FOLLOWED)


def test_an_older_version_is_followed_where_no_newer_is_served(
    quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store
) -> None:
    quota_api.served = {resource for resource in ALL if resource.version != "v1beta2"}
    quota_api.put({**cluster_queue("cq"), "apiVersion": "kueue.x-k8s.io/v1beta1", "spec": {"cohort": "org"}})

    followed.start(quota_cluster)
    eventually(lambda: not followed.ready())

    assert followed.forest().has_children(kueue.COHORT.named("org"))


def test_a_kind_that_is_installed_later_is_followed_in_the_version_that_is_served(
    quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store
) -> None:
    quota_api.served = {resource for resource in ALL if resource.group != kueue.GROUP}
    followed.start(quota_cluster)
    eventually(lambda: not followed.ready())

    quota_api.put({**cluster_queue("cq"), "apiVersion": "kueue.x-k8s.io/v1beta1", "spec": {"cohort": "org"}})
    quota_api.served = {resource for resource in ALL if resource.version != "v1beta2"}

    assert eventually(lambda: followed.forest().has_children(kueue.COHORT.named("org")))


def test_a_kind_that_may_not_be_listed_is_named_with_the_reason(
    quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store
) -> None:
    quota_api.failing["queues"] = status(403, "Forbidden", message="no list for you")
    quota_api.put(cohort("org"))

    followed.start(quota_cluster)
    eventually(lambda: len(followed.ready()) == 1 and "no list for you" in followed.ready()[0])

    assert followed.ready()[0].startswith("Queue: ")
    assert volcano.QUEUE not in followed.forest().known
    del quota_api.failing["queues"]
    eventually(lambda: not followed.ready())


def test_an_object_with_defects_is_kept(quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store) -> None:
    odd = queue("odd")
    odd["spec"] = {"capability": {"cpu": "2x"}, "parent": 7}
    quota_api.put(odd, queue("eng"))

    followed.start(quota_cluster)
    eventually(lambda: not followed.ready())

    kept = followed.forest().get(volcano.queue_ref("odd"))
    assert kept is not None
    assert {defect.field for defect in kept.defects} >= {"spec.parent", "spec.capability.cpu"}
    assert names(followed.forest()) == {"odd", "eng"}


def test_a_store_without_its_cluster_reports_this_and_can_be_closed() -> None:
    server = FakeApi()
    unreachable = server.cluster(attempts=1)
    server.close()
    following = Store(QUICK)

    following.start(unreachable)
    eventually(lambda: all("127.0.0.1" in lack for lack in following.ready()))

    assert len(following.ready()) == len(sources())
    following.close()


def test_a_store_may_be_closed_while_it_starts(quota_api: QuotaApi, quota_cluster: ClusterClient) -> None:
    following = Store(QUICK)

    following.start(quota_cluster)
    following.close()

    assert eventually(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("reflector")])


# -- once, and never ---------------------------------------------------------------------------------------------------


def test_load_reads_everything_once(quota_api: QuotaApi, quota_cluster: ClusterClient) -> None:
    quota_api.put(cohort("org"), cluster_queue("cq", "org"), queue("eng"))
    quota_api.served = {resource for resource in ALL if resource.plural != "podgroups"}

    tree = load(quota_cluster)

    assert names(tree) == {"org", "cq", "eng"}
    assert tree.known == frozenset(FOLLOWED)
    assert len(quota_api.seen) >= len(FOLLOWED)
    assert not any(seen.is_watch for seen in quota_api.seen)


def test_load_fails_where_the_cluster_does_not_answer() -> None:
    server = FakeApi()
    unreachable = server.cluster(attempts=1)
    server.close()

    with pytest.raises(Unreachable):
        load(unreachable)


def test_a_fixed_cache_is_ready_and_has_no_age() -> None:
    tree = forest("eng")
    fixed = FixedCache(tree)

    assert (fixed.forest(), fixed.ready(), fixed.age()) == (tree, [], 0.0)
    fixed.close()
    assert fixed.forest().get(Ref(*core.NAMESPACE, "", "none")) is None


# -- rights of callers -------------------------------------------------------------------------------------------------


def test_a_right_that_the_process_may_not_ask_about_counts_as_not_allowed(
    quota_api: QuotaApi, quota_cluster: ClusterClient, followed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = quota_api.reply_to
    monkeypatch.setattr(
        quota_api, "reply_to", lambda seen: status(403, "Forbidden") if "accessreviews" in seen.path else others(seen)
    )
    followed.start(quota_cluster)

    assert not followed.may(Caller("system:serviceaccount:operators:ray"), Access("patch", "batch", "jobs", "status"))
