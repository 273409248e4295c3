"""Values in files that an API server rejects: in kinds without a schema here, and in pod templates."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from policies import dialects
from policies.configuration.settings import Configuration
from policies.dialects.reading import Parsed
from policies.dialects.strict import strict
from policies.model.forest import Forest
from policies.model.objects import Defect
from policies.mutation.stored import completed
from tests.builders import batch_job, container, manifest, pod, template

QUEUED = {"kueue.x-k8s.io/queue-name": "main"}


def read(written: dict[str, Any]) -> Parsed:
    found = dialects.read(written)
    assert found is not None
    return Parsed(found, written)


def faults(written: dict[str, Any]) -> dict[str, object]:
    """What is to be written, by field."""
    return {each.field: each.write for each in strict(read(written)).object.defects}


def job(cpu: object, **spec: object) -> dict[str, Any]:
    made = template(cpu)
    return batch_job("train", {"template": {"spec": {**made["spec"], **spec}}}, labels=QUEUED)


def labelled(size: object, spot: object) -> dict[str, Any]:
    metadata = {"annotations": {"size": size}, "labels": {"spot": spot}}
    return batch_job("train", {"template": {"metadata": metadata, **template("1")}}, labels=QUEUED)


def xgboost(cpu: object) -> dict[str, Any]:
    spec = {"xgbReplicaSpecs": {"Master": {"replicas": 1, "template": template(cpu)}}}
    return manifest("kubeflow.org/v1", "XGBoostJob", "train", spec, namespace="ns", labels=QUEUED)


def volcano(restart: str, labels: dict[str, object] | None = None) -> dict[str, Any]:
    tasks = [
        {
            "name": "work",
            "replicas": 1,
            "template": {
                "metadata": {"labels": labels or {}},
                "spec": {"restartPolicy": restart, "containers": [container(cpu="1")]},
            },
        }
    ]
    return manifest("batch.volcano.sh/v1alpha1", "Job", "train", {"tasks": tasks}, namespace="ns")


@pytest.mark.parametrize(
    ("written", "cures"),
    [
        (job("1"), {}),
        (job(0.5), {}),
        (job("4Gb"), {"spec.template.spec.containers[0].resources.requests.cpu": "4G"}),
        (job("1", restartPolicy="never"), {"spec.template.spec.restartPolicy": "Never"}),
        (job("1", restartPolicy="Sometimes"), {"spec.template.spec.restartPolicy": None}),
        (
            pod("work", spec={"restartPolicy": "never", "containers": [container(cpu=0.5)]}, labels=QUEUED),
            {"spec.restartPolicy": "Never"},
        ),
        (job("1", nodeSelector={"zone": 3, "pool": "a", "rack": None}), {"spec.template.spec.nodeSelector.zone": "3"}),
        (
            labelled(1, True),
            {"spec.template.metadata.annotations.size": "1", "spec.template.metadata.labels.spot": "true"},
        ),
        (labelled("1", None), {}),
        (
            job("1", hostNetwork="true", terminationGracePeriodSeconds="30"),
            {
                "spec.template.spec.hostNetwork": True,
                "spec.template.spec.terminationGracePeriodSeconds": 30,
            },
        ),
        (
            job("1", containers=[{**container(), "env": [{"name": "A", "value": 3}, {"name": "B"}], "command": "ls"}]),
            {
                "spec.template.spec.containers[0].env[0].value": "3",
                "spec.template.spec.containers[0].command": None,
            },
        ),
        (job("1", containers=[None, 3], priority=2.0, hostname=None), {"spec.template.spec.containers[1]": None}),
        (
            batch_job("train", {"template": 3, "backoffLimit": 2.5}, labels=QUEUED),
            {
                "spec.template": None,
                "spec.backoffLimit": None,
            },
        ),
        (xgboost("500m"), {}),
        (xgboost(0.5), {"spec.xgbReplicaSpecs.Master.template.spec.containers[0].resources.requests.cpu": "0.5"}),
        (volcano("Never"), {}),
        (volcano("never"), {"spec.tasks[0].template.spec.restartPolicy": "Never"}),
        (volcano("Never", {"pool": 2}), {"spec.tasks[0].template.metadata.labels.pool": "2"}),
    ],
    ids=str,
)
def test_invalid_value_is_a_defect_with_its_fix(written: dict[str, Any], cures: dict[str, object]) -> None:
    assert faults(written) == cures


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"labels": QUEUED}}])
def test_pod_without_a_name_is_not_judged(metadata: dict[str, Any]) -> None:
    work = pod("work", spec={"containers": [container(cpu="1")]})
    del work["metadata"]

    assert faults(work | metadata) == {}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (300, "300 is a whole number; it must be a string: put it in quotes"),
        (Decimal("1.50"), "1.50 is a decimal number; it must be a string"),
        (False, "false is a boolean; it must be a string: put it in quotes"),
        (["a"], '["a"] is a list; it must be a string'),
    ],
)
def test_the_message_has_the_value_its_type_and_the_type_that_is_wanted(argument: object, message: str) -> None:
    (defect,) = strict(read(job("1", containers=[{**container(), "args": [argument]}]))).object.defects

    assert (defect.field, defect.message) == ("spec.template.spec.containers[0].args[0]", message)


def test_defects_found_by_the_reader_are_kept_beside_new_ones() -> None:
    found = read(job("1", hostNetwork="true"))
    twice = (Defect("spec.parallelism", "is wrong"), Defect("spec.parallelism", "is wrong in another way"))

    defects = strict(found._replace(object=replace(found.object, defects=twice))).object.defects

    assert [defect.field for defect in defects] == [*["spec.parallelism"] * 2, "spec.template.spec.hostNetwork"]


def test_unknown_field_is_renamed_even_if_the_right_field_is_defaulted() -> None:
    """The default of the correct field does not turn the rename into a removal."""
    misspelt = manifest("scheduling.volcano.sh/v1beta1", "Queue", "bert", {"parnet": "training"})

    (defect,) = (each for each in completed(read(misspelt), Forest(), Configuration()).object.defects if each.unknown)

    assert (defect.field, defect.rename, defect.remove) == ("spec.parnet", "parent", False)
