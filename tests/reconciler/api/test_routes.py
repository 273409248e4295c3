"""What /v1 answers: who is in which place, why one waits, and who may know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from cluster.api.refusal import HttpRefusal
from cluster.reviews import Caller
from cluster.tracing.ids import trace_id
from reconciler.api import routes
from reconciler.api.routes import ReconcilerApi
from reconciler.core.core import Core
from reconciler.multikueue.cluster_list import ClusterReading
from tests.reconciler.api.organisation import (
    USER,
    Rights,
    admitted,
    api,
    core,
    get,
    kueue,
    organisation,
    queue,
    refused,
    waiting,
)

PENDING = "/v1/clusterqueues/a/pendingworkloads"
LOCAL = "/v1/namespaces/a/localqueues/main/pendingworkloads"
BORROWER = admitted("big", 6, "b/main", "b")
"""It holds 6 of the 8 cpu of the tree: 2 are b's to lend, 2 are borrowed from a."""


def names(answer: dict[str, object]) -> list[str]:
    return [each["metadata"]["name"] for each in answer["items"]]  # type: ignore[index, attr-defined]


def test_those_that_wait_are_listed_in_the_order_of_the_queue_with_places_and_reasons() -> None:
    known = core(
        *organisation(BORROWER, waiting("low", 3), waiting("high", 4, priority=5), waiting("mid", 3, priority=1))
    )

    found = get(known, PENDING)

    assert names(found) == ["high", "mid", "low"]
    assert [each["positionInClusterQueue"] for each in found["items"]] == [0, 1, 2]
    assert [each["positionInLocalQueue"] for each in found["items"]] == [0, 1, 2]
    first = found["items"][0]
    assert (first["priority"], first["localQueueName"], first["metadata"]["namespace"]) == (5, "main", "a")
    assert [each["requests"] for each in found["items"]] == [{"cpu": "4"}, {"cpu": "3"}, {"cpu": "3"}]
    assert first["reason"] == "WaitingForQuota"
    assert "insufficient unused quota for cpu in flavor spot, 2 more needed" in first["message"]


def test_a_local_queue_lists_its_own_and_their_places_among_all() -> None:
    other = kueue("LocalQueue", "other", {"clusterQueue": "a"}, "b")
    works = (waiting("one", 9, priority=3), waiting("two", 9, "b/other", priority=2), waiting("three", 9, priority=1))
    known = core(*organisation(other, *works))

    found = get(known, LOCAL)["items"]

    assert [
        (each["metadata"]["name"], each["positionInClusterQueue"], each["positionInLocalQueue"]) for each in found
    ] == [
        ("one", 0, 0),
        ("three", 2, 1),
    ]


def test_workloads_are_listed_by_name_as_far_as_they_wait_and_may_be_read() -> None:
    others = (waiting("theirs", 9, "b/main"), waiting("lost", 1, "a/gone"), admitted("runs", 1, "a/main", "a"))
    known = core(*organisation(waiting("one", 9), waiting("two", 1), *others))
    path = "/v1/pendingworkloads?names=a/one,b/theirs,a/lost,a/runs,a/unknown,,nonsense"

    found = get(known, path)["items"]
    assert {each["metadata"]["name"]: each["cause"] for each in found} == {
        "one": "1 of spot/cpu is short at org, even if nothing else ran",
        "theirs": "1 of spot/cpu is short at org, even if nothing else ran",
        "lost": "LocalQueue a/gone does not exist; Namespace a has main",
    }
    assert sorted(names(get(known, path, "user"))) == ["lost", "one"]
    assert names(get(known, path, "nobody")) == []
    assert names(get(known, "/v1/pendingworkloads")) == []
    code, message = refused(known, f"/v1/pendingworkloads?names={',' * 100}", "Bearer admin")
    assert (code, message) == (400, "names has 101 workloads; it may have 100")


def test_offset_and_limit_cut_a_piece_out() -> None:
    known = core(*organisation(*(waiting(f"w{number}", 9, priority=9 - number) for number in range(5))))

    assert names(get(known, f"{PENDING}?offset=1&limit=2")) == ["w1", "w2"]
    assert names(get(known, f"{PENDING}?offset=4&limit=1000")) == ["w4"]
    assert names(get(known, f"{PENDING}?limit=0")) == []
    assert names(get(known, f"{LOCAL}?offset=3&limit=100000")) == ["w3", "w4"]
    for path in (PENDING, LOCAL):
        rests = [get(known, f"{path}?{query}")["metadata"] for query in ("offset=1&limit=2", "offset=2&limit=3", "")]
        assert rests == [{"remainingItemCount": 2}, {}, {}]


def test_a_list_that_is_longer_than_a_piece_comes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_FEW", 70)
    known = core(*organisation(*(waiting(f"w{number:04}", 9) for number in range(1100))))

    found = get(known, f"{PENDING}?limit=100000")

    assert len(found["items"]) == 1100
    assert [each["positionInClusterQueue"] for each in found["items"]] == list(range(1100))
    assert len(get(known, PENDING)["items"]) == 1000


@pytest.mark.parametrize("query", ["offset=-1", "limit=x", "limit=100001", "limit=", "offset=99999999999999"])
def test_a_number_that_is_none_is_a_bad_request(query: str) -> None:
    name, _, value = query.partition("=")
    most = {"offset": 1_000_000_000, "limit": 100_000}[name]

    message = f"{name} is '{value}'; it may be 0 to {most}"
    assert refused(core(*organisation()), f"{PENDING}?{query}", "Bearer admin") == (400, message)


def test_work_at_a_local_queue_that_is_stopped_is_listed_without_a_place() -> None:
    stopped = kueue("LocalQueue", "main", {"clusterQueue": "a", "stopPolicy": "Hold"}, "a")
    others = [each for each in organisation() if each["metadata"].get("namespace") != "a"]
    (only,) = get(core(*others, stopped, waiting("one", 1)), LOCAL)["items"]

    assert (only["reason"], only["message"]) == ("Suspended", "LocalQueue main is inactive")
    assert "positionInClusterQueue" not in only


def test_work_that_names_a_local_queue_that_does_not_exist_is_listed_under_that_name_with_what_was_meant() -> None:
    known = core(*organisation(waiting("slip", 1, "a/mian"), waiting("fine", 1)))

    (only,) = get(known, LOCAL.replace("main", "mian"))["items"]
    assert (only["metadata"]["name"], only["reason"], only["localQueueName"]) == ("slip", "Misconfigured", "mian")
    assert only["message"] == "LocalQueue a/mian does not exist; did you mean main?"
    assert "positionInClusterQueue" not in only
    code, message = refused(known, LOCAL.replace("main", "gpu"), "Bearer admin")
    assert (code, message) == (404, "there is no LocalQueue a/gpu")


def test_an_explanation_names_the_node_the_shortage_and_who_holds_it() -> None:
    found = get(core(*organisation(BORROWER, waiting("late", 4))), "/v1/workloads/a/late/explanation")

    (lack,) = found["lacks"]
    assert (found["state"], found["clusterQueue"], found["position"], found["reason"]) == (
        "waiting",
        "a",
        1,
        "WaitingForQuota",
    )
    assert lack["obstacle"] == {"kind": "Cohort", "name": "org", "limit": "nominalQuota", "lacking": "2"}
    assert lack["holders"] == [{"clusterQueue": "b", "used": "6", "borrowed": "2"}]


def test_holders_beyond_the_first_are_counted_with_what_they_hold_together() -> None:
    others = [f"q{number}" for number in range(8)]
    each_one = [queue(name, 4) for name in others]
    local = [kueue("LocalQueue", name, {"clusterQueue": name}, "b") for name in others]
    work = [admitted(f"of-{name}", 3 + number % 2, f"b/{name}", name) for number, name in enumerate(others)]
    mine = admitted("mine", 1, "a/main", "a")
    known = core(*organisation(BORROWER, mine, *each_one, *local, *work, waiting("late", 9)))

    (lack,) = get(known, "/v1/workloads/a/late/explanation")["lacks"]
    assert [each["clusterQueue"] for each in lack["holders"]] == ["b", "q1", "q3", "q5", "q7", "a"], "its own as well"
    assert lack["moreHolders"] == {"count": 4, "used": "12", "borrowed": "0"}
    (seen,) = get(known, "/v1/workloads/a/late/explanation", "user")["lacks"]
    assert [each["clusterQueue"] for each in seen["holders"]] == ["a"]
    assert (seen["heldByOthers"], seen.get("moreHolders")) == ("34", None), "all of them, however many"


def test_one_that_runs_says_what_it_holds() -> None:
    found = get(core(*organisation(BORROWER)), "/v1/workloads/b/big/explanation")

    assert (found["state"], found["clusterQueue"], found["podSets"][0]["flavors"]) == ("running", "b", {"cpu": "spot"})
    assert found["trace"] == trace_id("big"), "as in its Events and in the log"


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_a_standby_answers_what_the_leader_answers(strategy: str) -> None:
    others = [each for each in organisation() if each["metadata"]["name"] != "a" or each["kind"] == "Namespace"]
    local = kueue("LocalQueue", "main", {"clusterQueue": "a"}, "a")
    works = (BORROWER, waiting("first", 4, priority=1), waiting("second", 9), waiting("third", 4))
    objects = (*others, local, queue("a", 4, queueingStrategy=strategy), *works)
    leader, standby = core(*objects), core(*objects, leads=False)

    for name in ("first", "second", "third"):
        path = f"/v1/workloads/a/{name}/explanation"
        reported = [{**get(each, path), "setAside": None} for each in (leader, standby)]
        assert reported[0] == reported[1]
    lists = [[each["message"] for each in get(known, PENDING)["items"]] for known in (leader, standby)]
    assert lists[0] == lists[1]


def test_the_tree_has_quota_usage_what_is_borrowed_and_who_waits() -> None:
    found = {each["name"]: each for each in get(core(*organisation(BORROWER, waiting("late", 4))), "/v1/tree")["nodes"]}

    assert found["org"]["children"] == ["a", "b"]
    assert (found["org"]["kind"], found["org"]["exists"], found["b"]["parent"]) == ("Cohort", False, "org")
    assert found["b"]["quota"] == [
        {
            "flavor": "spot",
            "resource": "cpu",
            "own": {"nominalQuota": "4", "used": "6", "borrowed": "2"},
            "children": {},
        }
    ]
    assert found["org"]["quota"][0]["own"] == {"used": "6"}
    assert found["org"]["quota"][0]["children"] == {"nominalQuota": "8"}
    assert found["a"]["workloads"] == {"pending": 1, "reserving": 0, "admitted": 0}
    assert found["org"]["workloads"] == {"pending": 1, "reserving": 1, "admitted": 1}


def test_the_tree_tells_what_is_stopped_and_since_when_the_oldest_work_waits() -> None:
    def late(day: int, **fields: Any) -> dict[str, Any]:
        return waiting(f"w-{day}", 9, metadata={"creationTimestamp": f"2026-01-0{day}T00:00:00Z"}, **fields)

    lost = {"status": "False", "reason": "Pending", "message": "", "lastTransitionTime": "2026-01-04T00:00:00Z"}
    evicted = {"type": "Evicted", "status": "True", "reason": "Preempted", "message": ""}
    conditions = [{"type": "QuotaReserved", **lost}, {**lost, **evicted}]
    again = late(1, status={"conditions": conditions})
    stopped = (queue("c", 4, stopPolicy="Hold"),)
    answer = get(core(*organisation(late(3, priority=7), late(2), again, *stopped)), "/v1/tree")
    found = {each["name"]: each for each in answer["nodes"]}

    assert found["a"]["oldestPending"] == "2026-01-02T00:00:00Z", "w-1 ran until the 4th; the order is not that of ages"
    assert not {"oldestPending", "stopPolicy", "inactive"} & found["b"].keys()
    assert found["c"]["stopPolicy"] == "Hold"
    assert found["c"]["inactive"] == "Can't admit new workloads: is stopped."
    tenant = get(core(*organisation(late(2))), "/v1/namespaces/a/namespacetrees", "admin")["nodes"]
    assert [each["workloads"]["pending"] for each in tenant if each["name"] == "a"] == [1]
    assert "oldestPending" not in str(tenant), "it may be that of another namespace"


@pytest.mark.parametrize(("limits", "over"), [({}, None), ({"borrowingLimit": 2}, None), ({"borrowingLimit": 1}, "1")])
def test_the_tree_tells_what_is_used_beyond_quota_and_borrowing_limit(limits: dict[str, int], over: str | None) -> None:
    made = [
        each for each in organisation(BORROWER) if (each["kind"], each["metadata"]["name"]) != ("ClusterQueue", "b")
    ]
    answer = get(core(*made, queue("b", 4, limits=limits)), "/v1/tree")
    own = {each["name"]: each["quota"][0]["own"] for each in answer["nodes"]}

    assert (own["b"]["borrowed"], own["b"].get("over")) == ("2", over)
    assert "over" not in own["org"]


def test_a_root_borrows_nothing_and_is_over_what_it_has() -> None:
    answer = get(core(*organisation(admitted("big", 9, "b/main", "b"))), "/v1/tree")
    own = {each["name"]: each["quota"][0]["own"] for each in answer["nodes"]}

    assert (own["org"].get("borrowed"), own["org"]["over"], own["b"]["borrowed"]) == (None, "1", "5")


def test_a_tree_with_a_cycle_is_told_without_sums_on_it() -> None:
    loops = (kueue("Cohort", "x", {"parentName": "y"}), kueue("Cohort", "y", {"parentName": "x"}))
    found = get(core(*organisation(*loops, queue("under", 1, "x"))), "/v1/tree")

    assert found["onCycles"] == ["x", "y"]
    assert {each["name"] for each in found["nodes"]} == {"org", "x", "y", "a", "b", "under"}


# --- who may know


@pytest.mark.parametrize("authorization", [None, "", "Basic YTpi", "Bearer ", "Bearer stranger"])
def test_without_a_token_of_the_cluster_nobody_is_answered(authorization: str | None) -> None:
    known = core(*organisation())

    for path in (PENDING, LOCAL, "/v1/tree", "/v1/workloads/a/one/explanation"):
        assert refused(known, path, authorization)[0] == 401


def test_who_has_no_right_learns_neither_what_is_there_nor_what_is_not() -> None:
    known = core(*organisation(waiting("one", 1)))

    for name in ("one", "ghost"):
        assert refused(known, f"/v1/workloads/a/{name}/explanation", "Bearer nobody") == (
            403,
            "nobody may not get workloads.kueue.x-k8s.io in namespace a",
        )
    for path in (PENDING, "/v1/clusterqueues/ghost/pendingworkloads", LOCAL, "/v1/tree"):
        assert refused(known, path, "Bearer nobody")[0] == 403


def test_a_user_of_one_namespace_sees_it_alone() -> None:
    known = core(*organisation(waiting("one", 9), waiting("two", 9, "b/main")))

    assert names(api(known).answer(LOCAL, "Bearer user")) == ["one"]
    assert get(known, "/v1/workloads/a/one/explanation", "user")["state"] == "waiting"
    for path in (PENDING, "/v1/workloads/b/two/explanation", "/v1/namespaces/b/localqueues/main/pendingworkloads"):
        assert refused(known, path, "Bearer user")[0] == 403


def test_reasons_do_not_tell_a_user_of_other_peoples_queues_and_work() -> None:
    victim = admitted("secret", 4, "b/other", "a")
    other = kueue("LocalQueue", "other", {"clusterQueue": "a"}, "b")
    rest = [each for each in organisation() if (each["kind"], each["metadata"]["name"]) != ("ClusterQueue", "a")]
    own = queue("a", 4, preemption={"withinClusterQueue": "LowerPriority"})
    known = core(*rest, own, other, victim, admitted("big", 4, "b/main", "b"), waiting("late", 4, priority=9))

    admin = get(known, "/v1/workloads/a/late/explanation")
    user = get(known, "/v1/workloads/a/late/explanation", "user")

    assert [each["name"] for each in admin["leaving"]] == ["secret"]
    assert (user["leaving"], user["leavingElsewhere"]) == ([], 1)
    assert {each["clusterQueue"] for each in admin["lacks"][0]["holders"]} == {"a", "b"}
    assert [each["clusterQueue"] for each in user["lacks"][0]["holders"]] == ["a"]
    assert user["lacks"][0]["heldByOthers"] == "4"
    assert [each["name"] for each in admin["lacks"][0]["raise"]] == ["a", "b"]
    assert [each["name"] for each in user["lacks"][0]["raise"]] == ["a"]
    assert user["lacks"][0]["raiseElsewhere"] == 1
    assert "secret" not in str(user)


def test_what_is_not_there_is_not_found() -> None:
    known = core(*organisation())

    missing = {
        "/v1/workloads/a/ghost/explanation": "there is no Workload a/ghost",
        "/v1/clusterqueues/ghost/pendingworkloads": "there is no ClusterQueue ghost",
        "/v1/namespaces/a/localqueues/ghost/pendingworkloads": "there is no LocalQueue a/ghost",
        "/v1": "/v1 does not exist",
        "/v1/workloads/a%2Fb/explanation": "/v1/workloads/a%2Fb/explanation does not exist",
    }
    for path, message in missing.items():
        assert refused(known, path, "Bearer admin") == (404, message)


def test_requests_that_are_none_are_refused_as_such() -> None:
    known = core(*organisation())

    assert refused(known, "//[", None)[0] == 400
    assert refused(known, f"{PENDING}?{'&'.join(['x=1'] * 50)}", "Bearer admin")[0] == 400
    assert refused(known, "", None)[0] == 404


def test_before_everything_is_known_nobody_is_answered() -> None:
    known = core(*organisation())
    known.state.records.progress.listed.discard("Workload")

    assert refused(known, "/v1/tree", "Bearer admin")[0] == 503


def test_one_reads_at_a_time_so_that_the_loop_goes_on_between_two() -> None:
    known, reading, most = core(*organisation()), [0], [0]
    made = api(known)

    def ask(question: Callable[[Core], Any], timeout: float = 5.0) -> Any:
        reading[0] += 1
        most[0] = max(most[0], reading[0])
        time.sleep(0.005)
        reading[0] -= 1
        return question(known)

    made._ask = ask  # type: ignore[assignment]
    threads = [threading.Thread(target=made.answer, args=(PENDING, "Bearer admin")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1]


def test_one_caller_who_asks_all_the_time_keeps_no_other_out() -> None:
    """The others that are being answered are held here, whatever they ask."""
    made = api(core(*organisation()))
    with ExitStack() as others:
        for _ in range(16):
            others.enter_context(made._callers.place(Caller("admin")))

        with pytest.raises(HttpRefusal, match="16 other requests of admin are being answered; try again") as refused:
            made.answer(PENDING, "Bearer admin")
        assert refused.value.code == 429
        assert made.answer("/v1/self", "Bearer nobody")["user"] == "nobody"
    assert made.answer("/v1/self", "Bearer admin")["user"] == "admin"


def test_names_of_work_on_other_clusters_are_for_those_who_may_list_all_workloads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = core(*organisation(waiting("one", 1, status={"clusterName": "far"})))
    monkeypatch.setattr(
        routes, "clusters", lambda of: ClusterReading([{"name": "far"}], [*of.state.world.workloads.values()])
    )
    rights = Rights(admin=("everything",), viewer=("list multikueueclusters.kueue.x-k8s.io",), user=USER)
    made = ReconcilerApi(lambda question, timeout=5.0: question(known), rights)  # type: ignore[arg-type]

    assert made.answer("/v1/clusters", "Bearer admin")["items"][0] == {
        "name": "far",
        "placed": 1,
        "workloads": ["a/one"],
    }
    assert made.answer("/v1/clusters", "Bearer viewer")["items"][0] == {"name": "far", "placed": 1, "workloads": []}
    with pytest.raises(HttpRefusal, match="user may not list multikueueclusters"):
        made.answer("/v1/clusters", "Bearer user")


def test_workers_are_not_told_before_everything_is_known() -> None:
    known = core(*organisation())
    known.state.records.progress.listed.discard("Workload")

    assert refused(known, "/v1/clusters", "Bearer admin")[0] == 503
