"""The slices of an elastic job in every state that users, crashes and other controllers leave them in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cluster.actions import Create, Patch
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.model.objects import GroupKind
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import composed, workload_key
from reconciler.jobs.elastic import uses_slices
from reconciler.jobs.kinds import SHIPPED
from reconciler.jobs.life import steps as life_steps
from reconciler.jobs.reported import report_patch
from reconciler.jobs.slices import Chain, chain, steps
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Admission, PodSetAdmission, Workload
from scheduling.status.eviction import preempt
from scheduling.status.progress import finish, with_reclaimable
from scheduling.status.reservation import reserve, sync_admitted
from tests.profiles import each_case
from tests.reconciler.jobs.world import AROUND, NOW, K, job, template

ELASTIC = {f"{K}elastic-job": "true"}
GATES: list[dict[str, str]] = [{"name": f"{K}elastic-job"}]
WITHOUT = replace(AROUND, pods_ready=False)
"""The feature is off. PodsReady would be told first, of each job."""
INPUTS = replace(WITHOUT, elastic=True)
RAY = SHIPPED[GroupKind("ray.io", "RayCluster")]


def elastic_job(parallelism: int, generation: int = 1, **spec: Any) -> dict[str, Any]:
    made = job(notes=ELASTIC, parallelism=parallelism, completions=None, template=template(schedulingGates=GATES))
    spec = {key: value for key, value in {**made["spec"], **spec}.items() if value is not None}
    return {**made, "metadata": {**made["metadata"], "generation": generation}, "spec": spec}


def made_for(submitted: dict[str, Any]) -> dict[str, Any]:
    found = composed(BATCH, submitted, INPUTS)
    assert found is not None
    return {**found, "metadata": {**found["metadata"], "uid": found["metadata"]["name"], "resourceVersion": "1"}}


def read(manifest: dict[str, Any], created: int = 1) -> Workload:
    return replace(read_workload(manifest), created=created)


def admitted(workload: Workload) -> Workload:
    given = PodSetAdmission("main", {"cpu": "spot"}, {"cpu": 1000}, workload.pod_sets[0].count)
    return sync_admitted(reserve(workload, Admission("cq", (given,)), NOW), NOW)


def replacing(workload: Workload, before: Workload, created: int = 2) -> Workload:
    notes = {**workload.annotations, f"{K}workload-slice-replacement-for": before.key}
    return replace(workload, annotations=notes, created=created)


FIRST = read(made_for(elastic_job(2)))
SECOND = replacing(read(made_for(elastic_job(3, 2))), FIRST)
THIRD = replacing(read(made_for(elastic_job(4, 3))), FIRST, 3)


def reported(found: Chain) -> tuple[str | None, str | None, set[str]]:
    names = {FIRST.key: "first", SECOND.key: "second", THIRD.key: "third"}
    holder, pending = found.holder, found.pending
    return (
        names[holder.key] if holder else None,
        names[pending.key] if pending else None,
        {names[each.key] for each in found.surplus},
    )


def test_a_slice_has_the_name_of_kueue() -> None:
    meta = {"name": "demo-slice", "uid": "78d1e61a-c399-4c09-800f-a0bbfb5fe71e"}
    known = elastic_job(2) | {"metadata": {**elastic_job(2)["metadata"], **meta, "generation": 1}}

    assert workload_key(BATCH, known, elastic=True) == "ns/job-demo-slice-e7080", "as in KEP-77"
    assert workload_key(BATCH, known) != workload_key(BATCH, known, elastic=True)
    assert FIRST.key != SECOND.key


def test_the_first_slice_has_its_own_name_in_the_annotation() -> None:
    assert FIRST.annotations[SLICE_CHAIN] == FIRST.name
    plain = composed(BATCH, job(), INPUTS)
    assert plain is not None
    assert SLICE_CHAIN not in plain["metadata"]["annotations"]


@each_case(
    ("slices", "expected"),
    [
        ([], (None, None, set())),
        ([FIRST], ("first", None, set())),
        ([admitted(FIRST)], ("first", None, set())),
        ([admitted(FIRST), SECOND], ("first", "second", set())),
        ([SECOND, admitted(FIRST)], ("first", "second", set())),
        ([admitted(FIRST), admitted(SECOND)], ("second", None, set())),
        ([finish(admitted(FIRST), "WorkloadSliceReplaced", "", NOW), admitted(SECOND)], ("second", None, set())),
        ([admitted(FIRST), SECOND, THIRD], ("first", "second", {"third"})),
        ([admitted(FIRST), admitted(SECOND), THIRD], ("second", None, {"third"})),
        ([admitted(FIRST), admitted(SECOND), replacing(THIRD, SECOND, 3)], ("second", "third", set())),
        ([preempt(admitted(FIRST), "InCohort", "", NOW), SECOND], ("first", None, {"second"})),
        ([FIRST, SECOND], ("first", None, {"second"})),
        ([replace(admitted(FIRST), deleting=True), SECOND], ("first", None, {"second"})),
        ([finish(FIRST, "Succeeded", "", NOW)], ("first", None, set())),
        ([finish(FIRST, "OutOfSync", "", NOW)], (None, None, set())),
        ([finish(FIRST, "WorkloadSliceReplaced", "", NOW), SECOND], ("second", None, set())),
        ([finish(FIRST, "WorkloadSliceReplaced", "", NOW)], (None, None, set())),
    ],
)
def test_a_job_uses_one_slice_and_has_at_most_one_pending(
    slices: list[Workload], expected: tuple[str | None, str | None, set[str]]
) -> None:
    assert reported(chain(slices)) == expected
    assert reported(chain(reversed(slices))) == expected


def test_a_slice_of_another_job_replaces_nothing() -> None:
    foreign = replace(SECOND, owners=(SECOND.owners[0]._replace(uid="another"),))

    assert reported(chain([admitted(FIRST), admitted(foreign)]))[0] in ("first", "second")
    assert reported(chain([admitted(FIRST), foreign])) == ("first", None, {"second"})


# --- what is written


class Stored:
    """Slices as the API server holds them."""

    def __init__(self, *manifests: dict[str, Any]) -> None:
        self.by_key = {f"ns/{each['metadata']['name']}": each for each in manifests}

    def steps(self, found: Chain, submitted: dict[str, Any]) -> list[tuple[str, Any]]:
        asked = composed(BATCH, submitted, INPUTS)
        suspended = submitted["spec"]["suspend"]
        return [(name, step.action) for name, step in steps(found, asked, self.by_key.get, suspended, NOW)]


def running(parallelism: int, generation: int = 2, **spec: Any) -> dict[str, Any]:
    started = template(schedulingGates=GATES, nodeSelector={"tier": "spot"})
    started["metadata"]["labels"][f"{K}podset"] = "main"
    return elastic_job(parallelism, generation, suspend=False, template=started, **spec)


def test_a_growing_job_gets_another_slice_with_its_submitted_template() -> None:
    first = made_for(elastic_job(2))

    ((name, action),) = Stored(first).steps(Chain(admitted(FIRST)), running(5))

    assert isinstance(action, Create)
    assert name == f"ns/{action.name}" == workload_key(BATCH, running(5), elastic=True)
    (had,), (pods,) = first["spec"]["podSets"], action.body["spec"]["podSets"]
    own = pods["template"]["metadata"]
    assert own["annotations"] == {f"{K}workload-slice-name": FIRST.name}
    before = {**had["template"], "metadata": {**had["template"]["metadata"], "annotations": own["annotations"]}}
    assert pods == {**had, "count": 5, "template": before}
    assert action.body["spec"]["queueName"] == "q"
    notes = action.body["metadata"]["annotations"]
    assert notes == {
        **ELASTIC,
        f"{K}workload-slice-replacement-for": FIRST.key,
        f"{K}workload-slice-name": FIRST.name,
    }
    assert action.body["metadata"]["ownerReferences"] == first["metadata"]["ownerReferences"]


def test_later_slices_have_the_name_of_the_first_slice() -> None:
    second = replace(SECOND, annotations={**SECOND.annotations, SLICE_CHAIN: FIRST.name})
    stored = Stored(made_for(elastic_job(3, 2)))

    ((_, action),) = stored.steps(Chain(admitted(second)), running(5, 3))

    assert action.body["metadata"]["annotations"][SLICE_CHAIN] == FIRST.name
    assert action.body["spec"]["podSets"][0]["template"]["metadata"]["annotations"][SLICE_CHAIN] == FIRST.name
    assert action.body["metadata"]["annotations"][f"{K}workload-slice-replacement-for"] == second.key


def test_a_pending_slice_follows_the_size_of_the_job() -> None:
    stored = Stored(made_for(elastic_job(2)), made_for(elastic_job(3, 2)))
    both = Chain(admitted(FIRST), SECOND)

    ((name, action),) = stored.steps(both, running(7, 3))
    assert name == SECOND.key
    assert isinstance(action, Patch)
    assert [each["count"] for each in action.body["spec"]["podSets"]] == [7]
    assert stored.steps(both, running(3, 3)) == []


@pytest.mark.parametrize("parallelism", [2, 1, 0])
def test_a_pending_slice_is_finished_when_the_job_needs_no_growth(parallelism: int) -> None:
    stored = Stored(made_for(elastic_job(2)), made_for(elastic_job(3, 2)))

    found = dict(stored.steps(Chain(admitted(FIRST), SECOND), running(parallelism, 3)))

    (finished,) = [each for each in found[SECOND.key].body["status"]["conditions"] if each["type"] == "Finished"]
    assert (finished["reason"], finished["message"]) == (
        "OutOfSync",
        "The workload slice is out of sync with its parent job",
    )
    assert (FIRST.key in found) == (parallelism < 2)


def test_a_job_that_shrinks_shrinks_its_slice() -> None:
    ((name, action),) = Stored(made_for(elastic_job(2))).steps(Chain(admitted(FIRST)), running(1))

    assert name == FIRST.key
    assert [each["count"] for each in action.body["spec"]["podSets"]] == [1]
    assert list(action.body) == ["spec"], "the admission stays as it is"


@pytest.mark.parametrize(
    "found",
    [
        Chain(preempt(admitted(FIRST), "InCohort", "", NOW)),
        Chain(replace(admitted(FIRST), deleting=True)),
        Chain(finish(admitted(FIRST), "Succeeded", "", NOW)),
        Chain(),
    ],
)
def test_a_job_without_an_active_slice_does_not_grow(found: Chain) -> None:
    assert Stored(made_for(elastic_job(2))).steps(found, running(5)) == []


def test_a_suspended_job_does_not_grow() -> None:
    assert Stored(made_for(elastic_job(2))).steps(Chain(admitted(FIRST)), elastic_job(5, 2)) == []


# --- which jobs


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"annotations": {f"{K}elastic-job": "false"}}},
        {"metadata": {"annotations": {**ELASTIC, f"{K}job-min-parallelism": "1"}}},
        {"metadata": {"annotations": ELASTIC, "labels": {f"{K}prebuilt-workload-name": "w"}}},
        {"spec": {"template": template()}},
        {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}},
    ],
    ids=["not elastic", "partial", "prebuilt", "without the gate", "elsewhere"],
)
def test_a_job_that_does_not_use_slices(change: dict[str, Any]) -> None:
    whole = elastic_job(2)
    changed = {key: {**whole[key], **change.get(key, {})} for key in whole if isinstance(whole[key], dict)}

    assert uses_slices(BATCH, whole)
    assert not uses_slices(BATCH, {**whole, **changed})


def test_a_ray_cluster_uses_slices_if_all_its_groups_have_the_gate() -> None:
    gated: dict[str, Any] = {"template": template(schedulingGates=GATES)}
    spec = {"headGroupSpec": gated, "workerGroupSpecs": [{"groupName": "a", "replicas": 2, **gated}]}
    cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"annotations": ELASTIC}, "spec": spec}

    assert uses_slices(RAY, cluster)
    loose = [*spec["workerGroupSpecs"], {"groupName": "b", "replicas": 1, "template": template()}]
    assert not uses_slices(RAY, {**cluster, "spec": {**spec, "workerGroupSpecs": loose}})


# --- beside the life of the slice that the job goes by


def life(submitted: dict[str, Any], held: Workload, inputs: Any = INPUTS) -> list[Any]:
    whole = made_for(elastic_job(2))
    return life_steps(BATCH, submitted, whole, held, inputs, NOW)


def test_a_running_elastic_job_of_another_size_is_not_stopped() -> None:
    assert life(running(5), admitted(FIRST)) == []
    (stop,) = life(running(5), admitted(FIRST), WITHOUT)
    assert stop.reason == "DeletedWorkload", "without the feature it is a job like any other"


def test_the_status_of_a_job_of_another_size_is_ignored() -> None:
    done = {**running(5, completions=6), "status": {"succeeded": 5, "ready": 1, "active": 1}}

    assert life(done, admitted(FIRST)) == []


def test_a_job_with_a_pending_slice_keeps_running() -> None:
    assert life(running(2), FIRST) == []


def test_a_job_started_by_hand_is_suspended() -> None:
    by_hand = elastic_job(2, 2, suspend=False)

    (stop,) = life(by_hand, FIRST)
    assert stop.undoes
    (stop,) = life(by_hand, admitted(FIRST))
    assert stop.undoes


def test_an_evicted_job_of_any_size_is_suspended() -> None:
    (stop,) = life(running(5), preempt(admitted(FIRST), "InCohort", "", NOW))

    assert stop.action.body["spec"]["suspend"] is True


def test_a_job_is_started_with_the_name_of_its_first_slice() -> None:
    second = replace(admitted(SECOND), annotations={**SECOND.annotations, SLICE_CHAIN: FIRST.name})
    submitted = elastic_job(2, 5)

    (start,) = life_steps(BATCH, submitted, made_for(elastic_job(2)), second, INPUTS, NOW)

    notes = start.action.body["spec"]["template"]["metadata"]["annotations"]
    assert notes == {f"{K}workload": SECOND.name, SLICE_CHAIN: FIRST.name}


@pytest.mark.parametrize(("count", "done", "reported"), [(8, 3, 4), (8, 5, 5), (3, 3, 3), (6, 3, 3)])
def test_reclaimable_pods_are_counted_again_after_the_slice_has_shrunk(count: int, done: int, reported: int) -> None:
    held = with_reclaimable(admitted(read(made_for(elastic_job(8)))), {"main": 4})
    slice_ = replace(held, pod_sets=(replace(held.pod_sets[0], count=count),))

    write = report_patch(slice_, {"main": done}, False, replace(INPUTS, pods_ready=False), NOW)

    shown = write.body["status"]["reclaimablePods"] if write is not None else [{"name": "main", "count": 4}]
    assert shown == [{"name": "main", "count": reported}]


@pytest.mark.parametrize("manager", [None, MULTIKUEUE], ids=["here", "on another cluster"])
def test_a_job_that_runs_on_another_cluster_gets_no_gate_when_it_starts(manager: str | None) -> None:
    bare = job(notes=ELASTIC, **({"managedBy": manager} if manager else {}))
    start = BATCH.starting(bare, admitted(read(made_for(bare))), INPUTS)

    assert start is not None
    assert ("schedulingGates" in start.patch.body["spec"]["template"]["spec"]) is (manager is None)
