"""The steps of placement for one state at a time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from scheduling.objects.inadmissible_reasons import PENDING_PREEMPTION
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMITTED,
    EVICTED,
    FINISHED,
    OWNER_NOT_FOUND,
    QUOTA_RESERVED,
    Admission,
    CheckState,
    Condition,
    Owner,
    PodSetAdmission,
    Workload,
)
from scheduling.placement.decisions import (
    Again,
    CopyStatus,
    CreateClone,
    CreateJob,
    Decision,
    DeleteClone,
    DeleteJob,
    EvictRemote,
    Finish,
    Nominate,
    NotePlaces,
    ReportStopped,
    SetCheck,
    SetClusterName,
    UpdateJob,
    applied,
)
from scheduling.placement.dispatch import nominate
from scheduling.placement.group import (
    ORIGIN_UID,
    Group,
    OwnerJob,
    PlacementRefusal,
    QueueState,
    RemoteJob,
    WorkerCluster,
)
from scheduling.placement.place import admitted_on, place
from scheduling.placement.settings import (
    INCREMENTAL,
    PACK,
    REJECT,
    ROUND,
    SPREAD,
    WEIGHTED,
    PlacementRules,
    PlacementSettings,
)
from scheduling.status.reservation import sync_admitted

NOW = 10_000 * SECOND
MANAGED = OwnerJob("batch/v1, Kind=Job", managed_by="kueue.x-k8s.io/multikueue")
CHECK = CheckState("elsewhere", "Pending")
TAKEN = PlacementRefusal("NameTaken", "has an object of this name")
RESERVED = Workload(
    namespace="ns",
    name="work",
    uid="u1",
    queue="main",
    checks=(CHECK,),
    conditions={QUOTA_RESERVED: Condition("True", "QuotaReserved")},
)


def copy(*conditions: str, since: int = NOW, reason: str = "ByTest", **fields: object) -> Workload:
    held = {kind: Condition("True", reason, "told", since) for kind in conditions}
    return replace(Workload(namespace="ns", name="work", queue="main", conditions=held), **fields)


def steps(
    local: Workload | None, *workers: WorkerCluster, job: OwnerJob | None = MANAGED, **placing: object
) -> list[Decision]:
    check = local.check("elsewhere") if local is not None else None
    settings = replace(PlacementSettings(), **placing)
    return place(Group(local, check, job, workers, NOW, settings))


def placed(cluster: str = "east", state: str = "Ready") -> Workload:
    nominated = replace(RESERVED, nominated=(cluster,))
    there = applied(nominated, "elsewhere", SetClusterName(cluster), NOW)
    return applied(there, "elsewhere", SetCheck(state, admitted_on(cluster)), NOW)


def test_copies_are_created_on_all_reachable_workers() -> None:
    found = steps(RESERVED, WorkerCluster("east"), WorkerCluster("west"), WorkerCluster("lost", reachable=False))

    assert found == [Nominate(("east", "west"), 1), CreateClone("east"), CreateClone("west")]


def test_no_copy_is_created_where_the_namespace_is_missing() -> None:
    assert CreateClone("east") not in steps(RESERVED, WorkerCluster("east", namespace=False))


def test_the_first_worker_to_admit_wins_after_the_other_copies_are_deleted() -> None:
    early, late = copy(ADMITTED, since=NOW - SECOND), copy(ADMITTED, since=NOW)
    local = replace(RESERVED, nominated=("east", "west"))

    found = steps(local, WorkerCluster("east", workload=late), WorkerCluster("west", workload=early))
    assert found == [DeleteClone("east"), SetClusterName("west")]
    assert steps(local, WorkerCluster("east"), WorkerCluster("west", workload=early)) == [SetClusterName("west")]


def test_the_name_decides_between_workers_that_admit_at_the_same_time() -> None:
    local = replace(RESERVED, nominated=("east", "west"))
    both = [WorkerCluster(name, workload=copy(ADMITTED)) for name in ("west", "east")]

    assert steps(local, *both) == [DeleteClone("west"), SetClusterName("east")]


def test_the_job_is_not_created_while_other_copies_exist() -> None:
    local = applied(replace(RESERVED, nominated=("east", "west")), "elsewhere", SetClusterName("east"), NOW)
    both = [WorkerCluster(name, workload=copy(ADMITTED)) for name in ("west", "east")]

    assert steps(local, *both) == [DeleteClone("west")]


def test_the_cluster_name_is_not_set_while_another_worker_has_a_job() -> None:
    local = replace(RESERVED, nominated=("east", "west"))
    west = WorkerCluster("west", workload=copy(ADMITTED, since=NOW + SECOND), job=RemoteJob())

    assert steps(local, west, WorkerCluster("east", workload=copy(ADMITTED))) == [DeleteJob("west")]


def test_copies_are_created_on_the_worker_with_the_least_load_first() -> None:
    made = steps(
        RESERVED, WorkerCluster("east", load=2, asked=1), WorkerCluster("north", load=3), WorkerCluster("west", load=2)
    )

    assert made[1:] == [CreateClone("west"), CreateClone("east"), CreateClone("north")]


def test_the_job_is_created_once_the_cluster_name_is_set() -> None:
    local = applied(replace(RESERVED, nominated=("east",)), "elsewhere", SetClusterName("east"), NOW)

    assert steps(local, WorkerCluster("east", workload=copy(ADMITTED))) == [CreateJob("east")]


def test_no_step_is_taken_while_the_creation_of_the_job_is_uncertain() -> None:
    local = applied(replace(RESERVED, nominated=("east",)), "elsewhere", SetClusterName("east"), NOW)

    assert steps(local, WorkerCluster("east", workload=copy(ADMITTED), uncertain=True)) == []
    assert steps(local, WorkerCluster("east", workload=copy(), uncertain=True)) == []


def test_the_check_is_ready_when_the_job_exists() -> None:
    local = applied(replace(RESERVED, nominated=("east",)), "elsewhere", SetClusterName("east"), NOW)
    east = WorkerCluster("east", workload=copy(ADMITTED), job=RemoteJob(news=True))

    assert steps(local, east) == [SetCheck("Ready", 'The workload was admitted on "east"'), CopyStatus("east")]


def test_an_outdated_remote_job_is_updated() -> None:
    east = WorkerCluster("east", workload=copy(ADMITTED), job=RemoteJob(outdated=True))

    assert steps(placed(), east) == [UpdateJob("east")]
    assert steps(placed(), east, syncs_spec=False) == []


def test_a_job_without_managed_by_keeps_its_check_pending_or_is_rejected() -> None:
    local = applied(replace(RESERVED, nominated=("east",)), "elsewhere", SetClusterName("east"), NOW)
    east = WorkerCluster("east", workload=copy(ADMITTED), job=RemoteJob())
    unmanaged = replace(MANAGED, managed_by="")

    assert steps(local, east, job=unmanaged) == [SetCheck("Pending", 'The workload was admitted on "east"')]
    assert steps(placed(state="Pending"), east, job=unmanaged) == []
    (refused,) = steps(RESERVED, east, job=unmanaged, without_managed_by=REJECT)
    assert isinstance(refused, SetCheck)
    assert refused.state == "Rejected"


def test_a_job_that_ran_here_before_the_check_was_added_is_not_placed() -> None:
    ran = replace(RESERVED, checks=(CheckState("elsewhere", "Ready"),))

    for setting in (REJECT, "KeepSuspended"):
        assert steps(ran, WorkerCluster("east"), job=replace(MANAGED, managed_by=""), without_managed_by=setting) == []


OWNED = (Owner("batch/v1", "Job", "work", "u7"),)


def test_a_job_deleted_on_the_worker_is_placed_again() -> None:
    (retry,) = steps(placed(), WorkerCluster("east", workload=copy(ADMITTED, owners=OWNED)))

    assert isinstance(retry, SetCheck)
    assert (retry.state, retry.message) == (
        "Retry",
        'The job was deleted on worker cluster "east", Previously: "Ready"',
    )


def test_the_job_of_a_copy_without_an_owner_is_created_again() -> None:
    assert steps(placed(), WorkerCluster("east", workload=copy(ADMITTED))) == [CreateJob("east")]


def test_an_out_of_sync_copy_on_another_worker_is_deleted_before_the_job_is_created() -> None:
    east = WorkerCluster("east", workload=copy(ADMITTED))
    west = WorkerCluster("west", workload=copy(ADMITTED, queue="another"))

    assert steps(placed(), east, west) == [DeleteClone("west")]
    assert steps(placed(), east, replace(west, workload=None)) == [CreateJob("east")]


def test_an_out_of_sync_copy_on_its_own_cluster_is_deleted_with_its_job() -> None:
    east = WorkerCluster("east", workload=copy(ADMITTED, queue="another", owners=OWNED), job=RemoteJob())
    first, retry = steps(placed(), east)

    assert first == DeleteJob("east")
    assert isinstance(retry, SetCheck)
    assert (retry.state, retry.message) == ("Retry", 'Admitting remote no longer exists, Previously: "Ready"')
    assert steps(placed(state="Retry"), replace(east, job=None)) == [DeleteClone("east")]


def test_a_lost_worker_is_waited_for_until_the_timeout() -> None:
    timeout = PlacementSettings().worker_lost
    unknown, recent = (
        WorkerCluster("east", reachable=False),
        WorkerCluster("east", reachable=False, lost_since=NOW - SECOND),
    )

    assert steps(placed(), unknown) == []
    assert steps(placed(), recent) == [Again(NOW - SECOND + timeout)]
    (retry,) = steps(placed(), replace(recent, lost_since=NOW - timeout))
    assert isinstance(retry, SetCheck)
    assert (retry.state, retry.message) == ("Retry", 'Admitting remote lost, Previously: "Ready"')


def test_no_job_is_created_elsewhere_while_a_lost_worker_may_have_it() -> None:
    """It was evicted here, and has quota again before the timeout of the worker."""
    freed = replace(placed(), cluster="", checks=(CHECK,))
    lost = WorkerCluster("east", reachable=False, lost_since=NOW - SECOND)
    until = NOW - SECOND + PlacementSettings().worker_lost

    assert steps(freed, lost, WorkerCluster("west")) == [Again(until)]
    assert steps(freed, lost, WorkerCluster("west", workload=copy(ADMITTED))) == [Again(until)]
    assert Nominate(("west",), 1) in steps(freed, replace(lost, lost_since=1), WorkerCluster("west"))


def test_a_worker_that_is_reachable_again_in_time_keeps_its_job() -> None:
    freed = replace(placed(), cluster="", checks=(CHECK,))
    back = WorkerCluster("east", workload=copy(ADMITTED), job=RemoteJob(running=True))

    assert steps(freed, back, WorkerCluster("west")) == [Nominate(("east",))]
    assert steps(replace(freed, nominated=("east",)), back, WorkerCluster("west")) == [SetClusterName("east")]


def test_a_worker_that_is_reachable_again_too_late_loses_its_copy() -> None:
    late = WorkerCluster("east", workload=copy(ADMITTED, since=1), job=RemoteJob(running=True))
    west = WorkerCluster("west", workload=copy(ADMITTED), job=RemoteJob(running=True))

    assert steps(placed("west"), late, west) == [DeleteJob("east", running=True)]
    assert steps(placed("west"), replace(late, job=None), west) == [DeleteClone("east")]


def test_an_unknown_cluster_delays_placement_as_long_as_a_lost_worker() -> None:
    evicted = replace(placed(), cluster="", checks=(CHECK,))
    evicted = replace(evicted, conditions={**evicted.conditions, EVICTED: Condition("False", "", "", NOW - SECOND)})

    assert steps(evicted, WorkerCluster("west")) == [Again(NOW - SECOND + PlacementSettings().worker_lost)]


def test_a_workload_evicted_here_is_evicted_on_the_worker_before_its_status_is_copied() -> None:
    evicted = replace(
        RESERVED, conditions={**RESERVED.conditions, EVICTED: Condition("True", "Preempted", "more urgent")}
    )
    runs, stops = copy(ADMITTED), copy(ADMITTED, EVICTED)

    assert steps(evicted, WorkerCluster("east", workload=runs)) == [
        EvictRemote("east", "Evicted on manager: more urgent")
    ]
    assert steps(evicted, WorkerCluster("east", workload=stops, job=RemoteJob(news=True))) == [CopyStatus("east")]


def test_an_evicted_job_of_a_lost_worker_is_reported_as_stopped() -> None:
    lost = WorkerCluster("east", reachable=False, lost_since=1)
    reported = placed()
    evicted = replace(
        reported, cluster="", conditions={**reported.conditions, EVICTED: Condition("True", "AdmissionCheck", "")}
    )

    assert steps(evicted, lost, job=replace(MANAGED, quiet=False)) == [ReportStopped()]
    assert steps(evicted, replace(lost, lost_since=NOW), job=replace(MANAGED, quiet=False)) != [ReportStopped()]


def test_the_status_of_a_job_is_copied_before_its_workload_is_finished() -> None:
    done = copy(ADMITTED, FINISHED, reason="Succeeded")

    assert steps(placed(), WorkerCluster("east", workload=done, job=RemoteJob(news=True))) == [CopyStatus("east")]
    assert steps(placed(), WorkerCluster("east", workload=done, job=RemoteJob())) == [Finish("Succeeded", "told")]

    just = copy(ADMITTED, FINISHED, since=NOW - SECOND, reason="Succeeded")
    late = WorkerCluster("east", workload=just, job=RemoteJob(unfinished=True))
    assert steps(placed(), late) == [Again(NOW + 9 * SECOND)]
    longer = copy(ADMITTED, FINISHED, since=NOW - 10 * SECOND, reason="Succeeded")
    assert steps(placed(), replace(late, workload=longer)) == [Finish("Succeeded", "told")]


def test_a_copy_without_its_job_evicts_only_a_workload_placed_there() -> None:
    lost = WorkerCluster("east", workload=copy(FINISHED, reason=OWNER_NOT_FOUND, owners=OWNED))
    west = WorkerCluster("west", workload=copy(ADMITTED), job=RemoteJob())

    assert [type(each) for each in steps(placed(), lost)] == [SetCheck]
    assert steps(placed("west"), lost, west) == [DeleteClone("east")]


def test_a_job_that_has_not_reported_its_end_is_deleted_only_if_unchanged() -> None:
    over = applied(placed(), "elsewhere", Finish("Succeeded", "told"), NOW)
    east = WorkerCluster("east", workload=copy(ADMITTED, FINISHED, reason="Succeeded"))

    runs = replace(east, job=RemoteJob(running=True, unfinished=True))
    assert steps(over, runs) == [DeleteJob("east", running=True, unchanged=True)]
    assert steps(over, replace(east, job=RemoteJob(news=True))) == [CopyStatus("east")]
    assert steps(over, replace(east, job=RemoteJob())) == [DeleteJob("east")]
    assert steps(over, replace(east, job=RemoteJob(unfinished=True, deleting=True))) == []


def test_the_copy_of_a_job_of_another_owner_does_not_finish_the_workload() -> None:
    done = WorkerCluster("east", workload=copy(ADMITTED, FINISHED, reason="Succeeded", owners=OWNED))

    assert steps(placed(), done) == [CreateJob("east")], "the response shows whether the name is taken"
    assert steps(placed(), replace(done, uncertain=True)) == []
    assert steps(placed(), replace(done, rejection=TAKEN)) == []


def test_a_remote_job_is_deleted_before_its_copy() -> None:
    over = replace(RESERVED, conditions={})
    east = WorkerCluster("east", workload=copy(ADMITTED), job=RemoteJob())

    assert steps(over, east) == [DeleteJob("east")]
    assert steps(over, replace(east, job=RemoteJob(deleting=True))) == []
    assert steps(over, replace(east, job=None)) == [DeleteClone("east")]
    assert steps(None, replace(east, job=None)) == [DeleteClone("east")]


def test_a_copy_of_another_workload_with_this_name_is_deleted_first() -> None:
    stale = copy(ADMITTED, annotations={ORIGIN_UID: "u0"})

    assert steps(RESERVED, WorkerCluster("east", workload=stale), WorkerCluster("west")) == [DeleteClone("east")]


def test_placement_waits_for_other_checks() -> None:
    waits = replace(RESERVED, checks=(CHECK, CheckState("money", "Pending")))

    assert steps(waits, WorkerCluster("east")) == []


def test_the_check_reports_the_reasons_once_all_workers_have_answered() -> None:
    local = replace(RESERVED, nominated=("east", "west"))
    east = WorkerCluster("east", namespace=False)
    west = WorkerCluster(
        "west", workload=replace(copy(), conditions={QUOTA_RESERVED: Condition("False", "WaitingForQuota")})
    )

    (reported,) = (step for step in steps(local, east, west) if isinstance(step, SetCheck))
    assert reported.state == "Pending"
    assert reported.message == "east has no namespace ns; create it there; west has no quota for it (WaitingForQuota)"
    quiet = steps(local, east, replace(west, workload=copy()))
    assert not [step for step in quiet if isinstance(step, SetCheck)], "one worker has not answered yet"


def test_each_reason_has_its_message() -> None:
    local = replace(RESERVED, nominated=("east",))
    queue = QueueState(exists=False)
    for worker, words in (
        (WorkerCluster("east", reachable=False), "cannot be reached"),
        (
            WorkerCluster("east", reachable=False, credentials="the certificate ended"),
            "cannot be used: the certificate ended",
        ),
        (WorkerCluster("east", workload=copy(), local_queue=queue), "has no LocalQueue ns/main; create it there"),
        (
            WorkerCluster("east", workload=copy(), local_queue=QueueState(active=False, reason="Stopped")),
            "LocalQueue ns/main is",
        ),
        (
            WorkerCluster("east", workload=copy(), cluster_queue=QueueState("cq", exists=False)),
            "has no ClusterQueue cq",
        ),
        (
            WorkerCluster("east", workload=copy(), cluster_queue=QueueState("cq", active=False)),
            "its ClusterQueue cq is inactive",
        ),
        (WorkerCluster("east", rejection=TAKEN), "has an object of this name"),
    ):
        (reported,) = (step for step in steps(local, worker) if isinstance(step, SetCheck))
        assert words in reported.message


def _rounds(local: Workload, *workers: WorkerCluster, now: int = NOW, rules: PlacementRules | None = None) -> Group:
    placing = PlacementSettings(dispatcher=INCREMENTAL, step=1)
    return Group(local, local.check("elsewhere"), MANAGED, workers, now, placing, rules or PlacementRules())


def test_a_nomination_round_survives_a_restart_and_the_next_adds_workers() -> None:
    workers = (WorkerCluster("east", workload=copy()), WorkerCluster("west"))
    first = _rounds(RESERVED, *workers)
    (begun, *_) = place(first)
    assert begun == Nominate(("east",), 1)
    local = applied(RESERVED, "elsewhere", begun, NOW)

    assert place(_rounds(local, *workers, now=NOW + ROUND)) == [Again(NOW + ROUND + 1)]
    assert place(_rounds(local, *workers, now=NOW + ROUND + 1))[0] == Nominate(("east", "west"), 2)


def test_the_check_is_rejected_with_the_reasons_after_the_last_round() -> None:
    rules = PlacementRules(rounds=1)
    local = applied(RESERVED, "elsewhere", Nominate(("east",), 1), NOW)
    east = WorkerCluster("east", namespace=False)

    (reported,) = place(_rounds(local, east, now=NOW + ROUND + 1, rules=rules))
    assert isinstance(reported, SetCheck)
    assert reported.state == "Rejected"
    assert reported.message == "No worker cluster admitted it in one round: east has no namespace ns; create it there"


def test_scores_decide_which_worker_is_nominated_first() -> None:
    east, west = WorkerCluster("east", free=Fraction(1, 4)), WorkerCluster("west", free=Fraction(3, 4))
    full = WorkerCluster("full", free=Fraction(0))

    for rules, first in (
        (PlacementRules(), "full"),
        (PlacementRules(SPREAD), "west"),
        (PlacementRules(PACK), "east"),
        (PlacementRules(WEIGHTED, {"east": 4}), "east"),
    ):
        assert nominate(_rounds(RESERVED, full, east, west, rules=rules), RESERVED).clusters == (first,)


def test_a_selector_excludes_workers_only_from_new_work() -> None:
    east = WorkerCluster("east", eligible=False, workload=copy(ADMITTED), job=RemoteJob())

    assert steps(placed(), east) == []
    assert steps(RESERVED, WorkerCluster("east", eligible=False), WorkerCluster("west"))[0] == Nominate(("west",), 1)


@pytest.mark.parametrize("gone", [{"eligible": False}, {"configured": False}])
def test_a_nominated_worker_that_may_get_no_new_work_is_replaced(gone: dict[str, bool]) -> None:
    local = applied(RESERVED, "elsewhere", Nominate(("east",), 1), NOW)
    group = _rounds(local, WorkerCluster("east", workload=copy(), **gone), WorkerCluster("west"), now=NOW + SECOND)

    found = place(group)

    assert found[0] == Nominate(("west",), 1)
    assert DeleteClone("east") in found
    assert CreateClone("west") in found


def test_the_requeue_delay_grows_with_each_retry() -> None:
    local, waits = placed(), []
    for retries in (None, 1, 2, 20):
        again = replace(local, checks=(replace(local.checks[0], since=NOW, retries=retries),))
        (check,) = applied(again, "elsewhere", SetCheck("Retry", "lost"), NOW).checks
        waits.append(check.requeue_after)

    assert waits == [None, 10, 20, 600]
    ready = applied(again, "elsewhere", SetCheck("Ready", "there"), NOW)
    assert ready.checks[0].requeue_after is None


@pytest.mark.parametrize(("ran", "wait"), [(0, 10), (4, 6), (10, None), (3600, None)])
def test_the_requeue_delay_counts_from_the_start_on_the_lost_worker(ran: int, wait: int | None) -> None:
    """A job that is preempted on its workers after hours of work need not wait."""
    local = placed()
    running = replace(local.checks[0], state="Ready", since=NOW, retries=1)

    after = applied(replace(local, checks=(running,)), "elsewhere", SetCheck("Retry", "lost"), NOW + ran * SECOND)

    assert after.checks[0].requeue_after == wait


def test_a_copy_of_a_deleted_job_is_deleted() -> None:
    owned = copy(ADMITTED, owners=OWNED)

    assert steps(RESERVED, WorkerCluster("east", workload=owned)) == [DeleteClone("east")]


def test_a_running_job_is_left_alone_while_its_config_is_missing() -> None:
    away = WorkerCluster("east", configured=False, workload=copy(ADMITTED), job=RemoteJob())
    group = Group(placed(), placed().check("elsewhere"), MANAGED, (away,), NOW, configured=False)

    assert place(group) == []
    assert steps(placed(), away) != [], "the worker is removed from the config"


def test_the_cluster_name_is_set_for_a_job_that_another_manager_placed() -> None:
    """Kueue does not set it."""
    local = replace(placed(), conditions=RESERVED.conditions)
    east = WorkerCluster("east", workload=copy(ADMITTED), job=RemoteJob())

    assert steps(local, east) == [SetClusterName("east")]
    assert steps(applied(local, "elsewhere", SetClusterName("east"), NOW), east) == []


def test_an_out_of_sync_copy_does_not_hide_a_finished_one() -> None:
    lost = WorkerCluster("east", workload=copy(FINISHED, since=1, reason="OutOfSync"), job=RemoteJob())
    done = WorkerCluster("west", workload=copy(FINISHED, since=2, reason="Succeeded"), job=RemoteJob())

    assert steps(placed("west"), lost, done) == [Finish("Succeeded", "told")]


WAITS = f"insufficient unused quota. {PENDING_PREEMPTION} 1 workload(s)"


@pytest.mark.parametrize(
    ("said", "back", "active", "kept"),
    [
        ("lost", NOW - SECOND, True, True),
        (WAITS, NOW - SECOND, True, True),
        ("insufficient unused quota", NOW - SECOND, True, False),
        ("lost", NOW - SECOND, False, False),
        ("lost", NOW - 2 * PlacementSettings().worker_lost, True, False),
        ("lost", 1, True, False),
    ],
    ids=["not tried yet", "waits for victims", "no quota", "deactivated", "back for too long", "never away"],
)
def test_a_worker_reachable_again_keeps_its_job_until_the_queue_has_decided(
    said: str, back: int, active: bool, kept: bool
) -> None:
    conditions = {
        EVICTED: Condition("True", "AdmissionCheck", "lost", 2),
        QUOTA_RESERVED: Condition("False", "Pending", said),
    }
    local = replace(RESERVED, conditions=conditions, active=active)
    east = WorkerCluster("east", back_since=back, workload=copy(ADMITTED), job=RemoteJob(running=True))
    expected = [Again(back + PlacementSettings().worker_lost)] if kept else [DeleteJob("east", running=True)]

    assert steps(local, east) == expected
    assert steps(local, replace(east, workload=copy(ADMITTED, queue="another"))) == [DeleteJob("east", running=True)]


def delayed(*pod_sets: str, topology: dict[str, object] | None = None, state: str = "Pending") -> Admission:
    return Admission("cq", tuple(PodSetAdmission(name, {}, {}, 1, topology, state) for name in pod_sets))


@pytest.mark.parametrize("topology", [{"levels": ["rack"], "slices": []}, None])
def test_a_topology_assignment_on_the_worker_is_noted_and_not_copied(topology: dict[str, object] | None) -> None:
    """A worker may admit it in a flavor without a topology; then the manager does not wait for an assignment."""
    remote = copy(ADMITTED, admission=delayed("a", topology=topology, state=""))
    local = replace(placed(state="Pending"), admission=delayed("a"))
    east = WorkerCluster("east", workload=remote, job=RemoteJob(running=True))

    found = [step for step in steps(local, east) if isinstance(step, NotePlaces | SetCheck)]
    assert found == [NotePlaces(), SetCheck("Ready", admitted_on("east"))]
    assert not sync_admitted(applied(local, "elsewhere", found[1], NOW), NOW).admitted, "no topology assignment"

    after = local
    for step in found:
        after = applied(after, "elsewhere", step, NOW)
    assert [(each.delayed, each.topology) for each in after.admission.assignments] == [("Ready", None)]
    assert sync_admitted(after, NOW).admitted


def test_a_topology_assignment_that_is_ready_is_not_reported_again() -> None:
    there = copy(ADMITTED, admission=delayed("a", topology={"levels": []}, state=""))
    local = replace(placed(), admission=delayed("a", state="Ready"))

    assert steps(local, WorkerCluster("east", workload=there, job=RemoteJob(running=True))) == []
