"""Owners are read from the API server and compared by UID."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cluster.resource import Manifest, Resource
from cluster.store import FixedCache
from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects.kueue_kinds import IN_USE
from policies.dialects.kueue_workload import ELASTIC
from policies.dialects.selectors import LabelSelector, Requirement
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE
from tests.builders import batch_job, manifest, pod, queued, template, world
from tests.described_jobs import WRAPPERS
from tests.webhook.owned import MUTATE, SET, VALIDATE, Stored, client, job_set
from tests.webhook.reviews import answer, review
from webhook import review_handler
from webhook.app import create_app
from webhook.settings import WebhookSettings

QUEUES = "system:serviceaccount:queues:manager"
OURS = "system:serviceaccount:quotree-system:quotree-reconciler"


def child(owner: dict[str, Any] = SET, *, suspend: bool = False, cpu: str = "1") -> dict[str, Any]:
    spec = {"suspend": suspend, "template": template(cpu)}
    return batch_job("child", spec, labels=queued("main"), ownerReferences=[owner])


def created_suspended(world: FixedCache, job: dict[str, Any]) -> bool:
    return "patch" in answer(client(world), MUTATE, review(job))


def test_a_child_of_a_running_job_is_not_suspended() -> None:
    assert not created_suspended(Stored(job_set()), child())


@pytest.mark.parametrize(
    "world",
    [Stored(job_set(uid="older")), Stored(job_set(suspend=True)), Stored(job_set(labels={}))],
    ids=["another UID", "it waits", "it is in no queue"],
)
def test_any_other_child_is_suspended(world: Stored) -> None:
    assert created_suspended(world, child())
    refused = answer(client(world), VALIDATE, review(child(), child(suspend=True)))
    assert not refused["allowed"]
    assert "[quota-evaded]" in refused["status"]["message"]


@pytest.mark.parametrize(
    "owned", [child(suspend=True), child(), pod("p", labels=queued("main"), ownerReferences=[SET])]
)
def test_an_object_with_a_missing_owner_is_denied(owned: dict[str, Any]) -> None:
    missing = {"code": 403, "reason": "Forbidden"}
    for path in (MUTATE, VALIDATE):
        refused = answer(client(Stored()), path, review(owned))
        assert not refused["allowed"]
        assert missing.items() <= refused["status"].items()
        assert refused["status"]["message"].endswith(": workload owner not found: JobSet set")


def test_an_object_whose_owner_has_a_missing_owner_is_denied() -> None:
    above = {**SET, "name": "above", "uid": "a"}

    assert not answer(client(Stored(job_set(ownerReferences=[above]))), VALIDATE, review(child(suspend=True)))[
        "allowed"
    ]


def test_an_owner_that_is_a_pod_is_read_only_for_the_workers_of_a_leader_worker_set() -> None:
    """The driver of a Spark application owns its executors."""
    driver = {"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": "d", "controller": True}
    executor = pod("p", labels=queued("main"), ownerReferences=[driver])
    workers = manifest("apps/v1", "StatefulSet", "w", {}, namespace="ns", labels=queued("a"), ownerReferences=[driver])

    assert answer(client(Stored()), MUTATE, review(executor))["allowed"]
    assert not answer(client(Stored()), VALIDATE, review(workers))["allowed"]


class Slow(Stored):
    """Two owners take longer to read than the limit that the test sets."""

    def fetch(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        time.sleep(0.06)
        return super().fetch(resource, namespace, name)


def test_a_pod_is_denied_if_reading_its_owners_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the API server times out after two seconds, and creates it without its gate."""
    chain = [{**SET, "name": name, "uid": name} for name in "abc"]
    objects = [
        manifest(
            SET["apiVersion"], "JobSet", owner["name"], {}, namespace="ns", uid=owner["uid"], ownerReferences=above
        )
        for owner, above in zip(chain, [[chain[1]], [chain[2]], []], strict=True)
    ]
    made = pod("p", labels=queued("main"), ownerReferences=chain[:1])

    with monkeypatch.context() as patched:
        patched.setattr(review_handler, "_OWNERS_SECONDS", 0.1)
        refused = answer(client(Slow(*objects)), MUTATE, review(made))
    assert (refused["allowed"], refused["status"]["code"]) == (False, 403)
    assert "its owners take too long to read" in refused["status"]["message"]
    assert answer(client(Stored(*objects)), MUTATE, review(made))["allowed"]


def test_an_object_with_a_deleted_owner_can_only_be_deleted_or_stopped() -> None:
    started, stopped = child(), child(suspend=True)
    going = {**stopped, "metadata": {**stopped["metadata"], "deletionTimestamp": "2026-11-22T00:00:00Z"}}
    reconciler = "system:serviceaccount:quotree-system:quotree-reconciler"

    def allowed(after: dict[str, Any], user: str = "tina") -> bool:
        asked = review(after, started, userInfo={"username": user})
        return bool(answer(client(Stored()), VALIDATE, asked)["allowed"])

    assert [allowed(stopped), allowed(going), allowed(stopped, reconciler)] == [False, True, True]


def test_a_child_that_requests_more_than_its_owner_is_suspended() -> None:
    assert created_suspended(Stored(job_set()), child(cpu="50"))


@pytest.mark.parametrize("gated", [True, False])
def test_a_large_child_of_an_elastic_job_is_suspended_unless_its_pods_are_gated(gated: bool) -> None:
    def ray(kind: str, cluster: dict[str, Any], **meta: Any) -> dict[str, Any]:
        spec = cluster if kind == "RayCluster" else {"suspend": False, "rayClusterSpec": cluster}
        labels, notes = queued("main"), {ELASTIC: "true"}
        return manifest("ray.io/v1", kind, "r", spec, namespace="ns", labels=labels, annotations=notes, **meta)

    small, large = ({**template(cpu)["spec"], "schedulingGates": [{"name": ELASTIC_GATE}]} for cpu in ("1", "50"))
    above = ray("RayJob", {"headGroupSpec": {"template": {"spec": small}}}, uid="u")
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "uid": "u", "controller": True}
    if gated:
        below = ray("RayCluster", {"headGroupSpec": {"template": {"spec": large}}}, ownerReferences=[owner])
    else:
        below = child(owner, cpu="50")

    assert created_suspended(Stored(above), below) is not gated


def test_the_owner_of_the_owner_counts_where_that_has_no_queue() -> None:
    service = {**SET, "apiVersion": "ray.io/v1", "kind": "RayService", "name": "top", "uid": "t"}
    cluster = {"headGroupSpec": {"template": template("4")}}
    meta: dict[str, Any] = {"namespace": "ns", "uid": "t", "labels": queued("main")}
    top = manifest("ray.io/v1", "RayService", "top", {"rayClusterConfig": cluster}, **meta)
    between = manifest("ray.io/v1", "RayCluster", "c", cluster, namespace="ns", uid="c", ownerReferences=[service])
    of_cluster = {**SET, "apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "c", "uid": "c"}
    made = pod("p", labels=queued("main"), ownerReferences=[of_cluster])

    assert "patch" not in answer(client(Stored(between, top)), MUTATE, review(made))
    top["metadata"]["uid"] = "older"
    assert "patch" in answer(client(Stored(between, top)), MUTATE, review(made))


def test_a_job_is_not_its_own_child() -> None:
    itself = {**SET, "apiVersion": "batch/v1", "kind": "Job", "name": "child", "uid": "c"}
    waiting, started = (child(itself, suspend=suspend) for suspend in (True, False))
    for each in (waiting, started):
        each["metadata"]["uid"] = "c"

    assert not answer(client(Stored(started)), VALIDATE, review(started, waiting))["allowed"]


def test_an_owner_with_an_invalid_name_is_not_read() -> None:
    world = Stored(job_set(), down=True)

    assert created_suspended(world, child({**SET, "name": "../../secrets"}))
    assert world.asked == 0


def test_an_unreadable_owner_gets_500() -> None:
    answered = client(Stored(down=True)).post(MUTATE, json=review(child()))

    assert answered.status_code == 500
    assert "jobsets.v1alpha2.jobset.x-k8s.io ns/set cannot be read" in answered.text


def test_no_owner_is_read_without_an_owner_reference_or_a_queue() -> None:
    world = Stored(down=True)

    assert created_suspended(world, batch_job("job", {"template": template()}, labels=queued("main")))
    assert not created_suspended(world, batch_job("job", {"template": template()}, ownerReferences=[SET]))
    changed = pod("p", labels=queued("main"), ownerReferences=[SET])
    assert answer(client(world), VALIDATE, review(changed, changed))["allowed"]
    assert world.asked == 0


def test_a_missing_owner_is_allowed_in_an_unmanaged_namespace() -> None:
    chosen = KueueSettings(manage_jobs=True, namespaces=LabelSelector((Requirement("batch", "Exists"),)))
    cache = FixedCache(world(manifest("v1", "Namespace", "ns")))
    work = review(batch_job("job", {"template": template()}, labels=queued("main"), ownerReferences=[SET]))
    app = create_app(WebhookSettings(configuration=Configuration(kueue=chosen)), lambda: cache)
    answered = answer(app.test_client(), MUTATE, work)

    assert (answered["allowed"], "patch" in answered) == (True, False)


def test_a_child_of_a_job_that_nobody_counts_is_suspended() -> None:
    chosen = KueueSettings(manage_jobs=True, frameworks=("batch/job",))
    app = create_app(WebhookSettings(configuration=Configuration(kueue=chosen)), lambda: Stored(job_set()))

    assert "patch" in answer(app.test_client(), MUTATE, review(child()))


@pytest.mark.parametrize("named", [(), ("batch/job",)])
def test_a_child_of_a_described_job_is_not_suspended(named: tuple[str, ...]) -> None:
    wrapper = job_set() | {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper"}
    owner = {**SET, "apiVersion": wrapper["apiVersion"], "kind": "AppWrapper"}
    chosen = Configuration(kueue=KueueSettings(manage_jobs=True, frameworks=named), reconciler=WRAPPERS)
    app = create_app(WebhookSettings(configuration=chosen), lambda: Stored(wrapper))

    assert "patch" not in answer(app.test_client(), MUTATE, review(child(owner, cpu="0")))


# --- the finalizer of a Workload


def finalized(*finalizers: str, reserved: bool = True) -> dict[str, Any]:
    conditions = [{"type": "QuotaReserved", "status": "True" if reserved else "False"}]
    spec = {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template()}]}
    made = manifest("kueue.x-k8s.io/v1beta2", "Workload", "w", spec, namespace="ns", finalizers=[*finalizers])
    return {**made, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("user", "reserved", "allowed"),
    [("ada", True, False), ("ada", False, True), (QUEUES, True, True), (OURS, True, True)],
)
def test_only_who_may_write_the_status_of_a_workload_removes_its_finalizer_while_it_has_quota(
    user: str, reserved: bool, allowed: bool
) -> None:
    world = Stored()
    world.controllers = (QUEUES,)
    released = review(finalized("a/b", reserved=reserved), finalized("a/b", IN_USE, reserved=reserved))
    released["request"]["userInfo"] = {"username": user}

    answered = answer(client(world), VALIDATE, released)

    assert answered["allowed"] is allowed
    assert ("[reserved-workload-changed]" in answered.get("status", {}).get("message", "")) is not allowed
