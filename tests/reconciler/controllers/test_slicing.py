"""Elastic jobs on a whole loop, with a Job controller that creates and deletes Pods. Usage never exceeds the quota."""

from __future__ import annotations

import random

import pytest

from cluster.actions import Action
from policies.model.objects import GroupKind
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.slices import slice_pods as pods_of_slices
from reconciler.controllers.slices.slice_pods import SlicePodsController
from reconciler.controllers.slices.slicing import carries
from reconciler.core.commands import ReadObject
from reconciler.core.records import InFlight
from reconciler.core.state import ClusterState
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.kinds import SHIPPED
from reconciler.objects.observed import Key, Listed
from scheduling.objects.workload import Workload
from scheduling.status.deadlines import WaitForPodsReady
from tests import builders
from tests.merging import merged
from tests.profiles import seeds
from tests.reconciler.checked import Asks, loop, statuses
from tests.reconciler.failing import backoffs_end, fail_for_bad
from tests.reconciler.prompt import Manifest, Prompt, job
from tests.scheduling.manifests import condition, workload

K = "kueue.x-k8s.io/"
GATE = f"{K}elastic-job"
RAY = SHIPPED[GroupKind("ray.io", "RayCluster")]
QUOTA = 6


def elastic_jobs(state: ClusterState) -> JobsController:
    return JobsController(state.records.workload, (BATCH, RAY), elastic=True)


def slice_pods(state: ClusterState) -> SlicePodsController:
    return SlicePodsController(state.records.workload)


class Play(Prompt):
    """`count` is a number of Pods everywhere. `left`: so many writes still get through, None for all.

    `grace`: Pods get a node as soon as they may, and stay there when they are deleted, until `kubelet` ends them.
    """

    def __init__(self, *, grace: bool = False, waiting: WaitForPodsReady | None = None) -> None:
        self.made = 0
        self.grace = grace
        self.left: int | None = None
        super().__init__((elastic_jobs, slice_pods), quota=QUOTA, waiting=waiting)

    # --- what users do

    def submit(self, name: str, count: int, *, elastic: bool = True, priority: int = 0, gated: bool = True) -> None:
        made = job(name, parallelism=count, completions=100 if elastic else count)
        gates = [{"name": GATE}] if elastic and gated else []
        template = made["spec"]["template"]
        made["spec"]["template"] = {**template, "spec": {**template["spec"], "schedulingGates": gates}}
        notes = {GATE: "true"} if elastic else {}
        made["metadata"] = {**made["metadata"], "annotations": notes, "generation": 1}
        self.put(("Job", f"ns/{name}"), made)

    def scale(self, name: str, count: int) -> None:
        self.edit(("Job", f"ns/{name}"), {"spec": {"parallelism": count}})

    def put(self, key: Key, manifest: Manifest) -> None:
        """The generation of a Job counts the changes of its spec."""
        before = self.objects.get(key)
        if key[0] == "Job" and before is not None and before["spec"] != manifest["spec"]:
            number = before["metadata"]["generation"] + 1
            manifest = merged(manifest, {"metadata": {"generation": number}})
        super().put(key, manifest)

    # --- what the Job controller does

    def settle(self, rounds: int = 12) -> None:
        for _ in range(rounds):
            self.rounds(2)
            self.control()

    def control(self) -> None:
        for key in [key for key in self.objects if key[0] == "Job"]:
            whole = self.objects[key]
            spec = whole["spec"]
            wanted = 0 if spec["suspend"] else spec["parallelism"]
            stays = [each for each in self.pods(key[1]) if not self.leaves(each)]
            mine = sorted(stays, key=lambda each: (not self.waits(each), each))
            for pod in mine[: max(0, len(mine) - wanted)]:
                self.end(pod)
            for _ in range(wanted - len(mine)):
                self.made += 1
                name = f"{key[1]}-{self.made}"
                meta = {**spec["template"]["metadata"], "name": name[3:], "namespace": "ns", "uid": name}
                self.put(("StartedPod", name), {"metadata": meta, "spec": spec["template"]["spec"], "status": {}})
            self.edit(key, {"status": {"active": wanted}})
        assert self.taken() <= QUOTA
        if self.grace:
            for pod in [key for key in self.objects if key[0] == "StartedPod" and not self.waits(key)]:
                self.edit(pod, {"spec": {"nodeName": "n"}})

    def end(self, pod: Key) -> None:
        self.remove(pod)

    def kubelet(self) -> None:
        for pod in [key for key in self.objects if key[0] == "StartedPod" and self.leaves(key)]:
            self.drop(pod)

    def holders(self, key: Key) -> list[str]:
        """A Pod that is deleted stays on its node until it has ended."""
        bound = key[0] == "StartedPod" and self.objects[key]["spec"].get("nodeName")
        return [*super().holders(key), *(["kubelet"] if bound else [])]

    def leaves(self, pod: Key) -> bool:
        return bool(self.objects[pod]["metadata"].get("deletionTimestamp"))

    def pods(self, name: str) -> list[Key]:
        return [key for key in self.objects if key[0] == "StartedPod" and key[1].startswith(f"{name}-")]

    def waits(self, pod: Key) -> bool:
        return bool(self.objects[pod]["spec"].get("schedulingGates"))

    def taken(self) -> int:
        """The number of Pods that may run."""
        return sum(key[0] == "StartedPod" and not self.waits(key) for key in self.objects)

    def free(self, name: str) -> int:
        return sum(not self.waits(pod) for pod in self.pods(f"ns/{name}"))

    # --- what there is

    def slices(self) -> list[tuple[int, str]]:
        found = [self.watched[key[0]].read(each) for key, each in self.objects.items() if key[0] == "Workload"]
        return [(sum(pods.count for pods in each.pod_sets), state(each)) for each in found if each.elastic]

    def counted(self) -> int:
        return sum(self.loop.core.state.world.state.queues["q0"].node.usage.values()) // 1000

    def write(self, key: Key, action: Action) -> None:
        if self.left is None or (self.left > 0 and key[0] != "Event"):
            self.left = None if self.left is None else self.left - 1
            super().write(key, action)

    def restart(self) -> None:
        """The process ends wherever it is, and another one begins with what is stored."""
        asks = Asks(self.write, self._read)
        self.loop = loop(asks, (elastic_jobs, slice_pods, statuses), clock=lambda: self.now)
        for kind in self.watched:
            objects = tuple(self._seen(key) for key in self.objects if key[0] == kind)
            self.loop.inbox.put(Listed(kind, objects, str(self.version)))


def state(workload: Workload) -> str:
    if workload.finished:
        return workload.conditions["Finished"].reason
    return "admitted" if workload.admitted else "waits"


def test_a_job_that_grows_runs_on_while_its_larger_slice_replaces_the_first() -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    first = world.pods("ns/grows")
    world.scale("grows", 5)
    world.settle()

    assert world.slices() == [(2, "WorkloadSliceReplaced"), (5, "admitted")]
    assert world.free("grows") == 5
    assert set(first) <= set(world.pods("ns/grows")), "those that ran go on"
    (message,) = [each[3] for each in world.events if each[1] == "WorkloadSliceReplaced"]
    uid = next(
        each["metadata"]["uid"]
        for each in world.objects.values()
        if each["metadata"].get("annotations", {}).get(f"{K}workload-slice-replacement-for")
    )
    assert message == (
        f"Replaced to accommodate a workload (UID: {uid}, JobUID: uid-grows) due to workload slice aggregation"
    )


def test_a_job_that_came_without_the_gate_gets_it_at_its_start_and_grows_by_slices() -> None:
    world = Play()
    world.submit("grows", 2, gated=False)
    world.settle()
    assert (world.slices(), world.free("grows")) == ([(2, "admitted")], 2)
    first = world.pods("ns/grows")

    for count in (4, 6):
        world.scale("grows", count)
        world.settle()

    assert world.slices() == [(2, "WorkloadSliceReplaced"), (4, "WorkloadSliceReplaced"), (6, "admitted")]
    assert world.free("grows") == 6
    assert set(first) <= set(world.pods("ns/grows")), "those that ran go on"


def test_a_job_that_runs_without_the_gate_restarts_only_at_its_first_resize() -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.edit(("Job", "ns/grows"), {"spec": {"template": {"spec": {"schedulingGates": None}}}})
    world.settle()
    first = world.pods("ns/grows")

    world.scale("grows", 4)
    world.settle()
    second = world.pods("ns/grows")
    assert not set(first) & set(second)
    assert world.free("grows") == 4

    world.scale("grows", 6)
    world.settle()
    assert set(second) <= set(world.pods("ns/grows"))
    assert world.free("grows") == 6


def test_new_pods_without_quota_are_ungated_when_quota_is_released() -> None:
    world = Play()
    world.submit("other", 3, elastic=False)
    world.submit("grows", 2)
    world.settle()
    world.scale("grows", 5)
    world.settle()
    assert world.slices() == [(2, "admitted"), (5, "waits")]
    assert (world.free("grows"), len(world.pods("ns/grows"))) == (2, 5)

    world.scale("other", 0)
    world.edit(("Job", "ns/other"), {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
    world.settle()

    assert world.slices() == [(2, "WorkloadSliceReplaced"), (5, "admitted")]
    assert world.free("grows") == 5


def test_a_pod_that_replaces_an_ended_one_is_ungated_at_once() -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.drop(world.pods("ns/grows")[0])
    world.settle()

    assert world.free("grows") == 2


def test_a_job_that_shrinks_frees_its_quota_at_once() -> None:
    world = Play()
    world.submit("grows", 6)
    world.settle()
    world.submit("other", 4, elastic=False)
    world.scale("grows", 2)
    world.rounds(6)

    assert world.slices() == [(2, "admitted")]
    assert not world.objects["Job", "ns/other"]["spec"]["suspend"]


def test_pods_that_a_shrinking_job_gives_up_use_quota_until_they_end() -> None:
    """They run on their node during their grace period, which the tenant chooses."""
    world = Play()
    world.submit("grows", 6)
    world.settle()
    on_nodes = world.pods("ns/grows")[:4]
    for pod in on_nodes:
        world.edit(pod, {"spec": {"nodeName": "n"}})
    world.submit("other", 4, elastic=False)
    world.scale("grows", 2)
    for pod in on_nodes[:2]:
        world.edit(pod, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    world.rounds(6)
    assert (world.slices(), world.counted()) == ([(4, "admitted")], 4)

    for pod in on_nodes[:2]:
        world.drop(pod)
    world.rounds(6)
    assert world.slices() == [(2, "admitted")]
    assert not world.objects["Job", "ns/other"]["spec"]["suspend"]


def test_each_slice_has_its_own_maximum_execution_time() -> None:
    """As in Kueue, which counts it by Workload."""
    world, minute = Play(), 60 * 10**9
    world.submit("grows", 1)
    world.edit(("Job", "ns/grows"), {"metadata": {"labels": {f"{K}max-exec-time-seconds": "100"}}})
    world.settle()
    world.now += minute
    world.scale("grows", 2)
    world.settle()
    world.now += minute
    world.settle()
    assert not world.objects["Job", "ns/grows"]["spec"]["suspend"]

    world.now += minute
    world.settle()
    assert world.objects["Job", "ns/grows"]["spec"]["suspend"]
    assert world.taken() == 0


def test_at_most_one_slice_is_pending_when_a_job_is_resized_often() -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    for count in (7, 9, 8, 20, 7, 30, 8):
        world.scale("grows", count)
        world.rounds(1)
        assert sum(each[1] == "waits" for each in world.slices()) <= 1
    world.settle()
    assert [each for each in world.slices() if each[1] in ("admitted", "waits")] == [(2, "admitted"), (8, "waits")]

    world.scale("grows", 2)
    world.settle()
    assert [each for each in world.slices() if each[1] in ("admitted", "waits")] == [(2, "admitted")]


def test_a_preempted_job_is_suspended_and_its_pending_slice_is_finished() -> None:
    world = Play()
    world.submit("grows", 4)
    world.settle()
    world.scale("grows", 9)
    world.settle()
    world.put(("WorkloadPriorityClass", "high"), builders.kueue("WorkloadPriorityClass", "high") | {"value": 9})
    urgent = job("urgent", parallelism=5, completions=5)
    urgent["metadata"] |= {"generation": 1}
    urgent["metadata"]["labels"] = {**urgent["metadata"]["labels"], f"{K}priority-class": "high"}
    world.put(("Job", "ns/urgent"), urgent)
    world.settle()

    assert world.objects["Job", "ns/grows"]["spec"]["suspend"]
    assert not world.objects["Job", "ns/urgent"]["spec"]["suspend"]
    assert world.slices() == [(9, "waits"), (9, "OutOfSync")]


def test_a_waiting_slice_gets_the_new_priority_class_of_its_job() -> None:
    """Its Pods are the only ones that wait, so a higher class has no effect on the slice that runs."""
    world = Play()
    world.submit("other", 3)
    world.submit("grows", 3)
    world.settle()
    world.scale("grows", 5)
    world.settle()
    world.put(("WorkloadPriorityClass", "high"), builders.kueue("WorkloadPriorityClass", "high") | {"value": 9})
    world.edit(("Job", "ns/grows"), {"metadata": {"labels": {f"{K}priority-class": "high"}}})
    world.settle()

    assert world.objects["Job", "ns/other"]["spec"]["suspend"]
    assert not world.objects["Job", "ns/grows"]["spec"]["suspend"]
    assert (5, "admitted") in world.slices()


def test_the_workload_of_a_deleted_job_that_grew_keeps_its_quota_while_pods_run() -> None:
    """The Pods have the name of the first slice."""
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.scale("grows", 4)
    world.settle()
    pods = world.pods("ns/grows")
    world.drop(("Job", "ns/grows"))
    gone = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    for key in [key for key in world.objects if key[0] == "Workload"]:
        world.edit(key, gone)
    world.rounds(20, apart=10**9)
    assert world.counted() == 4

    for pod in pods:
        world.drop(pod)
    world.rounds(5)
    assert world.counted() == 0
    assert not [key for key in world.objects if key[0] == "Workload"]


def test_groups_of_a_ray_cluster_are_scaled_independently() -> None:
    """Its Pods are ungated by pod set: Pods of one group do not use the places of another."""
    world, cluster = Play(), (RAY.name, "ns/ray")
    template = builders.template("1")
    gated = {**template, "spec": {**template["spec"], "schedulingGates": [{"name": GATE}]}}
    groups = [{"groupName": name, "replicas": count, "template": gated} for name, count in (("a", 1), ("b", 2))]
    meta = {"name": "ray", "namespace": "ns", "uid": "ray", "generation": 1, "annotations": {GATE: "true"}}
    spec = {"suspend": True, "headGroupSpec": {"template": gated}, "workerGroupSpecs": groups}
    named = {"labels": builders.queued("q0"), **meta}
    world.put(cluster, {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": named, "spec": spec})
    world.rounds(8)
    assert world.slices() == [(4, "admitted")]
    assert not world.objects[cluster]["spec"]["suspend"]

    running = world.objects[cluster]["spec"]["workerGroupSpecs"]
    bigger = [{**running[0], "replicas": 3}, {**running[1], "replicas": 1}]
    world.edit(cluster, {"metadata": {"generation": 5}, "spec": {"workerGroupSpecs": bigger}})
    for group, count in ((running[0], 4), (running[1], 1), (world.objects[cluster]["spec"]["headGroupSpec"], 1)):
        for number in range(count):
            made = group["template"]
            name = f"{made['metadata']['labels'][f'{K}podset']}-{number}"
            found = {**made["metadata"], "name": name, "namespace": "ns", "uid": name}
            world.put(("StartedPod", f"ns/{name}"), {"metadata": found, "spec": made["spec"], "status": {}})
    world.rounds(12)

    assert world.slices() == [(4, "WorkloadSliceReplaced"), (5, "admitted")]
    assert [
        name for name in ("a-0", "a-1", "a-2", "a-3", "b-0", "head-0") if not world.waits(("StartedPod", f"ns/{name}"))
    ] == ["a-0", "a-1", "a-2", "b-0", "head-0"]


def test_pods_that_were_ungated_without_quota_are_deleted() -> None:
    """The gates were removed while the webhook was down."""
    world = Play()
    world.submit("other", 3, elastic=False)
    world.submit("grows", 3)
    world.settle()
    world.scale("grows", 6)
    world.settle()
    stolen = [pod for pod in world.pods("ns/grows") if world.waits(pod)][:2]
    for pod in stolen:
        world.edit(pod, {"spec": {"schedulingGates": []}})
    world.rounds(3)
    assert world.free("grows") == 5, "the Job controller may be about to delete them"

    world.rounds(3, apart=6 * 10**9)

    assert world.free("grows") == 3
    assert len(world.pods("ns/grows")) == 4
    world.settle()
    assert world.free("grows") == 3
    assert ("Warning", "ExcessPodDeleted", "Pod") in {each[:3] for each in world.events}


def test_an_ungated_pod_without_quota_is_deleted_before_older_pods() -> None:
    world = Play()
    world.submit("other", 3, elastic=False)
    world.submit("grows", 3)
    world.settle()
    run = [pod for pod in world.pods("ns/grows") if not world.waits(pod)]
    world.scale("grows", 4)
    world.settle()
    (waiting,) = [pod for pod in world.pods("ns/grows") if world.waits(pod)]
    stolen = world.objects[waiting]
    world.remove(waiting)
    meta = {**stolen["metadata"], "name": "grows-0", "uid": "u", "creationTimestamp": "2026-01-01T00:01:00Z"}
    world.put(
        ("StartedPod", "ns/grows-0"), {**stolen, "metadata": meta, "spec": {**stolen["spec"], "schedulingGates": []}}
    )

    world.rounds(6, apart=6 * 10**9)

    assert world.pods("ns/grows") == run


def test_ungated_pods_with_a_request_in_flight_are_deleted_later() -> None:
    world = Play()
    world.submit("other", 3, elastic=False)
    world.submit("grows", 3)
    world.settle()
    world.scale("grows", 6)
    world.settle()
    for pod in [pod for pod in world.pods("ns/grows") if world.waits(pod)]:
        world.edit(pod, {"spec": {"schedulingGates": []}})
    world.rounds(3)
    before, core = world.pods("ns/grows"), world.loop.core
    for pod in before:
        core.state.records.send(pod, InFlight(ReadObject(pod)))
    world.rounds(3, apart=6 * 10**9)
    assert world.pods("ns/grows") == before

    for pod in before:
        core.state.records.land(pod)
        core.informer.freed(pod, world.now)
        core.state.records.tidy(pod)
    world.rounds(4, apart=6 * 10**9)

    assert len(world.pods("ns/grows")) < len(before)


def test_pods_of_a_shrinking_job_are_not_deleted_by_the_reconciler() -> None:
    world = Play()
    world.submit("grows", 4)
    world.settle()
    pods = world.pods("ns/grows")
    world.scale("grows", 2)
    for pod in pods[:2]:
        world.edit(pod, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"nodeName": "n"}})
    world.rounds(10, apart=10**10)

    assert [pod for pod in pods if pod in world.objects] == pods
    assert world.slices() == [(2, "admitted")]


def test_a_finished_job_finishes_all_its_slices() -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.scale("grows", 9)
    world.settle()
    assert world.slices() == [(2, "admitted"), (9, "waits")]

    world.edit(("Job", "ns/grows"), {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
    world.rounds(10)

    assert world.slices() == [(2, "Succeeded"), (9, "Succeeded")]
    assert world.counted() == 0


def test_a_larger_slice_reports_wait_for_start_from_the_beginning() -> None:
    world = Play(waiting=WaitForPodsReady())
    world.submit("grows", 2)
    world.settle()
    world.scale("grows", 9)
    world.settle()

    assert world.slices() == [(2, "admitted"), (9, "waits")]
    made = [whole for (kind, _), whole in world.objects.items() if kind == "Workload"]
    found = [{each["type"]: each["reason"] for each in whole["status"]["conditions"]} for whole in made]
    assert [each.get("PodsReady") for each in found] == ["WaitForStart"] * 2


def test_the_workload_of_a_finished_elastic_job_has_no_finalizer() -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.edit(("Job", "ns/grows"), {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
    world.rounds(10)

    (made,) = [whole for (kind, _), whole in world.objects.items() if kind == "Workload"]
    assert not made["metadata"].get("finalizers")


def test_foreground_deletion_of_a_job_releases_all_its_slices() -> None:
    """The garbage collector deletes them first, and waits for them."""
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.scale("grows", 4)
    world.settle()
    slices = [key for key in world.objects if key[0] == "Workload"]
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    world.edit(("Job", "ns/grows"), {"metadata": {"finalizers": ["foregroundDeletion"], **gone}})
    for key in slices:
        world.edit(key, {"metadata": gone})
    for pod in world.pods("ns/grows"):
        world.remove(pod)
    world.edit(("Job", "ns/grows"), {"status": {"active": 0}})
    world.rounds(20, apart=10**9)

    assert len(slices) == 2
    assert not [key for key in slices if key in world.objects]


def test_a_deleted_slice_suspends_its_job_and_the_job_is_queued_again() -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.scale("grows", 9)
    world.settle()
    (first, _) = [key for key in world.objects if key[0] == "Workload"]
    world.edit(first, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    world.settle()
    assert world.objects["Job", "ns/grows"]["spec"]["suspend"]
    assert world.taken() == 0

    world.scale("grows", 4)
    world.settle()
    assert world.free("grows") == 4
    assert [each for each in world.slices() if each[1] in ("admitted", "waits")] == [(4, "admitted")]


@pytest.mark.parametrize(
    ("first", "second", "gated", "left"),
    [
        pytest.param(1, 2, True, [(2, "admitted")], id="admitted"),
        pytest.param(1, 2, False, [(2, "admitted")], id="admitted, its pods without the gate"),
        pytest.param(2, 9, True, [(2, "admitted"), (9, "waits")], id="waits"),
    ],
)
def test_a_deleted_larger_slice_is_created_again(
    first: int, second: int, gated: bool, left: list[tuple[int, str]]
) -> None:
    world = Play()
    world.submit("grows", first, gated=gated)
    world.settle()
    world.scale("grows", second)
    world.settle()
    (_, larger) = [key for key in world.objects if key[0] == "Workload"]
    world.edit(larger, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    world.settle()

    assert [each for each in world.slices() if each[1] in ("admitted", "waits")] == left
    assert world.free("grows") == 2


@pytest.mark.parametrize("writes", range(6))
def test_a_crash_between_two_writes_does_not_leave_a_resize_incomplete(writes: int) -> None:
    world = Play()
    world.submit("grows", 2)
    world.settle()
    world.scale("grows", 5)
    world.left = writes
    world.settle(6)
    assert world.left == 0, "it ended before it was done"
    world.left = None
    world.restart()
    world.rounds(1)
    assert world.counted() in (2, 5), "both slices together count once"
    world.settle()

    assert world.slices() == [(2, "WorkloadSliceReplaced"), (5, "admitted")]
    assert (world.free("grows"), world.counted()) == (5, 5)


@pytest.mark.parametrize("seed", seeds(0.3))
@pytest.mark.parametrize("grace", [False, True])
def test_running_pods_always_have_quota_in_random_runs(seed: int, grace: bool) -> None:
    chance, world = random.Random(seed), Play(grace=grace)
    for name in ("a", "b"):
        world.submit(name, chance.randint(1, 3))
    for _ in range(25):
        match chance.randrange(6):
            case 0 | 1 | 2:
                world.scale(chance.choice("ab"), chance.randint(0, 8))
            case 3:
                world.restart()
            case 4:
                running = [each for each in world.objects if each[0] == "StartedPod"]
                for pod in running[: chance.randint(0, 2)]:
                    world.end(pod)
            case 5:
                world.kubelet()
                world.control()
        world.rounds(chance.randint(0, 3))
        if chance.random() < 0.7:
            world.control()
        assert sum(each[1] == "admitted" for each in world.slices()) <= 4
    world.scale("a", 2)
    world.scale("b", 3)
    world.settle(10)
    world.kubelet()
    world.settle(10)

    assert (world.free("a"), world.free("b")) == (2, 3)
    assert world.counted() == 5
    assert sorted(each for each in world.slices() if each[1] in ("admitted", "waits")) == [
        (2, "admitted"),
        (3, "admitted"),
    ]


@pytest.mark.parametrize(
    ("conditions", "gated", "expected"),
    [
        (("QuotaReserved", "Admitted"), False, True),
        (("QuotaReserved",), False, False),
        (("QuotaReserved",), True, True),
        (("QuotaReserved", "Evicted"), True, False),
        ((), True, False),
        (("QuotaReserved", "Admitted", "Finished"), True, False),
    ],
)
def test_an_elastic_workload_carries_its_pods_until_it_is_evicted(
    conditions: tuple[str, ...], gated: bool, expected: bool
) -> None:
    held = workload(status={"conditions": [condition(each) for each in conditions]})

    assert carries(held, gated=gated) is expected
    assert not carries(None, gated=gated)


def test_pods_that_fail_to_be_ungated_do_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Play()
    fail_for_bad(monkeypatch, pods_of_slices, "_ungated")
    for name in ("bad", "good"):
        world.submit(name, 2)
    world.settle()

    assert (world.free("bad"), world.free("good")) == (0, 2)
    monkeypatch.undo()
    backoffs_end(world)
    assert world.free("bad") == 2
