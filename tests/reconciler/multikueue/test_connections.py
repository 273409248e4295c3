"""Connections to workers as the loop has them: with lines that tests answer for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cluster.actions import Delete
from cluster.errors import Unreachable
from reconciler.multikueue.kubeconfigs import RefusedKubeconfig, WorkerLogin
from reconciler.multikueue.worker_session import SessionBroken, SessionReady
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, Written
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.workers import FromWorker, WorkerActivity, WorkerConnection
from tests.reconciler.multikueue.workers_in_hand import World

KEY: Key = ("Workload", "ns/a")
DELETE = Delete(WORKLOADS, "ns", "a", "1")


@pytest.fixture
def world() -> World:
    return World()


def login(content: str = "one") -> WorkerLogin:
    return WorkerLogin(content, {})


def connect(world: World) -> None:
    world.connections.offer("w", login())
    world.tell(SessionReady())


def test_a_worker_is_connected_once_its_line_is_made(world: World) -> None:
    world.connections.offer("w", login())
    assert world.states == ["connecting"]
    world.tell(Listed("Workload", ()))
    world.tell(SessionReady())
    assert world.lines[0].started
    assert [type(each.news) for each in world.reported] == [WorkerConnection, Listed, WorkerConnection]
    assert world.states == ["connecting", "connected"]


def test_the_same_kubeconfig_again_changes_nothing(world: World) -> None:
    world.connections.offer("w", login())
    world.connections.offer("w", login())
    world.tell(SessionReady())
    world.connections.offer("w", login())
    world.pass_time(1000)
    assert (len(world.lines), world.lines[0].closed) == (1, False)


def test_another_kubeconfig_replaces_the_line_and_what_the_old_one_says_counts_no_more(world: World) -> None:
    connect(world)
    world.connections.offer("w", login("two"))
    world.tell(SessionBroken("closed"), session=0)
    world.tell(SessionReady())
    assert world.lines[0].closed
    assert world.states == ["connecting", "connected", "connecting", "connected"]


def test_attempts_that_fail_wait_longer_each_time_and_may_take_longer(world: World) -> None:
    world.connections.offer("w", login())
    for wait in (5, 10, 20):
        world.tell(SessionBroken("refused"))
        world.pass_time(wait - 0.1)
        count = len(world.lines)
        world.pass_time(0.1 + wait / 10)
        assert len(world.lines) == count + 1
    assert [session.patience for session in world.lines] == [60, 120, 240, 480]


def test_a_connection_that_breaks_is_made_anew_at_once(world: World) -> None:
    connect(world)
    world.tell(SessionBroken("gone"))
    assert world.states == ["connecting", "connected", "lost"]
    world.pass_time(0)
    world.tell(SessionReady())
    assert world.states[-1] == "connected"
    assert world.connections.workers["w"].losses == 1


def test_refused_credentials_are_a_matter_of_the_configuration(world: World) -> None:
    connect(world)
    world.tell(SessionBroken("401", refused=True))
    assert world.states[-1] == "misconfigured"


def test_a_kubeconfig_that_must_not_be_used_closes_the_line_until_a_better_one_comes(world: World) -> None:
    connect(world)
    world.connections.offer("w", RefusedKubeconfig("InsecureKubeConfig", "tokenFile is not allowed"))
    worker = world.connections.workers["w"]
    assert world.lines[0].closed
    assert (worker.state, worker.reason) == ("misconfigured", "InsecureKubeConfig")
    assert worker.message == "load client config failed: tokenFile is not allowed"
    world.pass_time(1000)
    assert len(world.lines) == 1
    world.connections.offer("w", login())
    world.tell(SessionReady())
    assert worker.state == "connected"


def test_every_write_has_one_outcome_also_where_the_line_breaks_under_it(world: World) -> None:
    connect(world)
    world.connections.write("w", KEY, DELETE)
    other: Key = ("Workload", "ns/b")
    world.connections.write("w", other, DELETE)
    assert world.lines[0].written == [(KEY, DELETE), (other, DELETE)]
    world.tell(Written(KEY, DELETE, {}))
    world.tell(SessionBroken("gone"))
    world.tell(Written(other, DELETE, {}), session=0)
    outcomes = world.news(Written, Failed)
    assert [(type(each), each.key) for each in outcomes] == [(Written, KEY), (Failed, other)]
    (lost,) = (each.error for each in outcomes if isinstance(each, Failed))
    assert isinstance(lost, Unreachable)
    assert lost.sent, "it may have been carried out"
    assert isinstance(outcomes[1].error, Unreachable)


@pytest.mark.parametrize("prepare", [lambda world: None, lambda world: world.connections.offer("w", login())])
def test_a_write_to_who_is_not_connected_fails_later(world: World, prepare: Callable[[World], None]) -> None:
    prepare(world)
    world.connections.write("w", KEY, DELETE)
    assert [each for each in world.reported if isinstance(each.news, Failed)] == []
    (failed,) = world.news(Failed)
    assert isinstance(failed.error, Unreachable)


def test_a_write_without_an_answer_makes_the_line_look_whether_the_worker_is_there(world: World) -> None:
    connect(world)
    world.connections.write("w", KEY, DELETE)
    world.tell(Failed(KEY, DELETE, Unreachable("w", "silent", "wait")))
    assert world.lines[0].worried


def test_the_clock_of_a_loss_is_the_stored_condition(world: World) -> None:
    connect(world)
    worker = world.connections.workers["w"]
    world.connections.stored("w", WorkerActivity("True", "Active", "Connected", since=7))
    assert worker.connection.since == 7
    world.tell(SessionBroken("gone"))
    assert worker.connection.since == 0
    world.connections.stored("w", WorkerActivity("False", "ClientConnectionFailed", "gone", since=9))
    assert worker.connection.since == 9


def test_a_restart_takes_the_clock_up_where_it_stood(world: World) -> None:
    world.connections.stored("w", WorkerActivity("False", "ClientConnectionFailed", "gone", since=9))
    world.connections.offer("w", login())
    assert WorkerConnection("connecting", since=9) == world.connections.workers["w"].connection
    world.tell(SessionBroken("gone"))
    assert world.connections.workers["w"].connection.since == 9


def test_a_worker_that_is_none_any_more_is_closed_and_forgotten(world: World) -> None:
    connect(world)
    world.connections.drop("w")
    world.tell(Observed(KEY, "1", None), session=0)
    assert world.lines[0].closed
    assert world.reported[-1] == FromWorker("w", None)


def test_a_connection_that_is_renewed_is_not_known_until_all_is_listed_again(world: World) -> None:
    world.connections.renew("w")
    world.connections.offer("w", login())
    world.connections.renew("w")
    world.tell(SessionReady())
    world.connections.write("w", KEY, DELETE)
    world.connections.renew("w")
    assert [line.closed for line in world.lines] == [True, True, False]
    world.tell(Observed(KEY, "1", None), session=1)
    assert world.news(Observed) == []
    assert [type(each) for each in world.news(Failed)] == [Failed]
    world.tell(SessionReady())
    assert world.states == ["connecting", "connected", "connecting", "connected"]
    assert world.connections.workers["w"].losses == 0
