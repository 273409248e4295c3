"""Kinds of jobs that an administrator describes."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.file import API_VERSION, read_configuration
from policies.configuration.settings import Configuration
from policies.dialects.job_shape import Active, JobShape, pods_at
from policies.dialects.kueue_jobs import job_reader
from policies.model.errors import BadConfiguration
from policies.model.forest import Forest
from policies.model.objects import GroupKind
from policies.mutation.defaults import patch
from policies.mutation.patching import patched
from policies.rules import registry
from tests.profiles import each_case

TRAIN: dict[str, Any] = {
    "group": "example.com",
    "version": "v1",
    "kind": "Train",
    "plural": "trains",
    "suspend": {"path": "spec.state", "suspended": "Halted", "running": "Going"},
    "podSets": [
        {"name": "engine", "template": "spec.engine"},
        {"entries": "spec.cars", "name": "label", "template": "pod", "counts": [{"path": "seats", "atMost": "most"}]},
    ],
    "finished": {"succeeded": {"condition": "Arrived"}, "failed": {"fields": {"status.phase": ["Lost", "Broken"]}}},
    "ready": {"fields": {"status.phase": "Moving"}},
    "active": {"counts": ["status.cars.*.people"], "idle": {"status.phase": ["", "Halted"]}},
    "priorityClass": "spec.class",
}
KIND = GroupKind("example.com", "Train")


def configuration(*jobs: dict[str, Any], **kueue: bool) -> Configuration:
    whole = {"apiVersion": API_VERSION, "kind": "Configuration", "kueue": kueue, "reconciler": {"jobs": list(jobs)}}
    return read_configuration(whole, registry())


def described(**changed: Any) -> JobShape:
    return configuration({**TRAIN, **changed}).reconciler.jobs[KIND]


def train(**spec: Any) -> dict[str, Any]:
    meta = {"name": "t", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    return {"apiVersion": "example.com/v1", "kind": "Train", "metadata": meta, "spec": spec}


def test_pod_sets_are_found_at_the_described_paths() -> None:
    pod: dict[str, Any] = {"spec": {"containers": []}}
    cars = [{"label": "A", "seats": 4, "most": 3, "pod": pod}, {"label": "b", "pod": pod}, {"label": "none"}]

    found = list(pods_at(train(engine=pod, cars=cars), described().pod_sets))

    assert [(each.name, each.count, each.path) for each in found] == [
        ("engine", 1, ("spec", "engine")),
        ("a", 3, ("spec", "cars", 0, "pod")),
        ("b", 1, ("spec", "cars", 1, "pod")),
    ]


def test_pod_sets_of_a_mapping_have_its_keys_and_the_described_order() -> None:
    pods = {"entries": "spec.roles", "template": "template", "counts": ["replicas"], "order": ["Worker"]}
    roles = {"Aide": {"template": {"spec": {}}}, "Worker": {"template": {"spec": {}}, "replicas": 2}}

    found = list(pods_at(train(roles=roles), described(podSets=[pods]).pod_sets))

    assert [(each.name, each.count) for each in found] == [("worker", 2), ("aide", 1)]


@each_case(
    ("changed", "where", "reported"),
    [
        ({"suspnd": "spec.x"}, "reconciler.jobs[0].suspnd", "did you mean 'suspend'"),
        ({"plural": None}, "reconciler.jobs[0].plural", "is required"),
        ({"podSets": [{"name": "a", "tempalte": "spec.a"}]}, "podSets[0].tempalte", "did you mean 'template'"),
        ({"suspend": None}, "reconciler.jobs[0].suspend", "is required"),
        ({"suspend": "spec..suspend"}, "reconciler.jobs[0].suspend", "separate keys by dots"),
        ({"suspend": {"path": "spec.x", "running": True}}, "reconciler.jobs[0].suspend.running", "must differ from"),
        ({"podSets": []}, "reconciler.jobs[0].podSets", "at least one pod set"),
        ({"podSets": [{"name": "a"}]}, "reconciler.jobs[0].podSets[0].template", "is required"),
        ({"podSets": [{"name": "a", "template": "t", "count": 1}]}, "reconciler.jobs[0].podSets[0].count", "'counts'"),
        ({"finished": {"failed": {}}}, "reconciler.jobs[0].finished.failed", "name a condition"),
        ({"active": {"counts": [3]}}, "reconciler.jobs[0].active.counts[0]", "3 is not a valid path"),
        ({"active": {"idle": "status.phase"}}, "reconciler.jobs[0].active.idle", "expected a mapping"),
        ({"reclaimable": {"entries": "status.x", "name": "n"}}, "reconciler.jobs[0].reclaimable.count", "is required"),
        ({"podSets": [{"name": "a", "template": ""}]}, "reconciler.jobs[0].podSets[0].template", "not a valid path"),
        ({"podSets": [{"name": "", "template": "t"}]}, "reconciler.jobs[0].podSets[0].name", "use a form such as"),
        ({"suspend": {"path": ""}}, "reconciler.jobs[0].suspend.path", "not a valid path"),
        ({"suspend": {"pth": "spec.x"}}, "reconciler.jobs[0].suspend.pth", "did you mean 'path'"),
        ({"ready": {"of": ["spec.x"]}}, "reconciler.jobs[0].ready.counts", "is required"),
        ({"ready": {"conditoin": "X"}}, "reconciler.jobs[0].ready.conditoin", "did you mean 'condition'"),
        ({"ready": {"conts": ["spec.x"]}}, "reconciler.jobs[0].ready.conts", "did you mean 'counts'"),
        ({"ready": {"counts": ["spec.x"], "condition": "X"}}, "reconciler.jobs[0].ready.condition", "unknown key"),
        (
            {"reclaimable": {"entries": "", "name": "n", "count": "c"}},
            "jobs[0].reclaimable.entries",
            "not a valid path",
        ),
        ({"reclaimable": {"entires": "x"}}, "reconciler.jobs[0].reclaimable.entires", "did you mean 'entries'"),
        ({"group": "batch", "kind": "Job"}, "reconciler.jobs[0].group", "example.com"),
        ({"group": "ray.io", "kind": "RayJob"}, "reconciler.jobs[0].kind", "is a built-in kind"),
    ],
)
def test_invalid_job_description_is_reported_with_its_path(changed: dict[str, Any], where: str, reported: str) -> None:
    with pytest.raises(BadConfiguration, match=reported) as raised:
        described(**changed)
    assert where in str(raised.value)


def test_a_kind_is_described_once() -> None:
    with pytest.raises(BadConfiguration, match="described twice"):
        configuration(TRAIN, TRAIN)


def test_job_of_a_described_kind_is_suspended_by_its_switch() -> None:
    settings = configuration(TRAIN, manageJobs=True)
    operations = patch(train(state="Going"), Forest(), settings)

    assert operations == [{"op": "add", "path": "/spec/state", "value": "Halted"}]
    assert patch(patched(train(), operations), Forest(), settings) == []
    assert patch(train(state="Going"), Forest(), configuration(TRAIN)) == []


def stored(settings: Configuration, uid: str) -> Forest:
    """The job `t` as the webhook finds it, running."""
    (shape,) = settings.reconciler.jobs.values()
    meta = {"name": "t", "namespace": "default", "uid": uid, "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    return Forest().put(job_reader(shape)({**train(state="Going"), "metadata": meta}))


def test_job_owned_by_a_described_kind_is_not_suspended() -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Train", "name": "t", "uid": "u", "controller": True}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {}}
    meta = {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "q"}}

    assert patch({**job, "metadata": meta}, Forest(), configuration(TRAIN, manageJobs=True))
    settings, child = configuration(TRAIN, manageJobs=True), {**job, "metadata": {**meta, "ownerReferences": [owner]}}
    assert not patch(child, stored(settings, "u"), settings)
    assert patch(child, stored(settings, "of another one"), settings)


def test_pod_owned_by_a_described_job_is_not_gated() -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Train", "name": "t", "uid": "u", "controller": True}
    meta = {"name": "p", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": []}}
    settings = configuration(TRAIN, managePods=True)

    assert patch(pod, Forest(), settings)
    child = {**pod, "metadata": {**meta, "ownerReferences": [owner]}}
    assert not patch(child, stored(settings, "u"), settings)
    assert patch(child, stored(settings, "of another one"), settings)


@pytest.mark.parametrize("active", [None, {}, {"counts": []}])
def test_job_description_requires_the_active_field(active: object) -> None:
    with pytest.raises(BadConfiguration, match=r"write none if suspending a job ends its pods at once") as caught:
        described(active=active)
    assert "reconciler.jobs[0].active" in str(caught.value)

    assert described(active="none").active == Active()


@pytest.mark.parametrize("path", ["metadata.annotations.hold", "status.hold", "kind", "metadata"])
@pytest.mark.parametrize("whole", [True, False])
def test_suspend_path_outside_spec_is_rejected(path: str, whole: bool) -> None:
    with pytest.raises(BadConfiguration, match="name a field of its spec") as caught:
        described(suspend={"path": path} if whole else path)
    assert f"reconciler.jobs[0].suspend{'.path' if whole else ''}" in str(caught.value)
