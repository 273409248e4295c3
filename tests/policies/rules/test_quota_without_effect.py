from __future__ import annotations

import json

import pytest
from hypothesis import given

from policies.judge import evaluate
from policies.model.findings import Severity
from tests.builders import change, found, world
from tests.policies.dialects.yunikorn_texts import ANNOTATIONS
from tests.policies.yunikorn_objects import namespace_manifest
from tests.profiles import each_case

RULE = "quota-without-effect"
NOTHING = world()


def slips(annotations: dict[str, str], labels: dict[str, str] | None = None) -> list[tuple[str, str, str]]:
    """(field, message, fix) of each finding."""
    findings = found(RULE, change(NOTHING, namespace_manifest(annotations, labels)))
    return [(finding.field, finding.message, finding.fix) for finding in findings]


NEAR_MISSES = [
    ("namespace.Quota", "write yunikorn.apache.org/namespace.quota;"),
    ("namespace.quotas", "write yunikorn.apache.org/namespace.quota;"),
    ("quota", "write yunikorn.apache.org/namespace.quota;"),
    ("namespace.Guaranteed", "write yunikorn.apache.org/namespace.guaranteed;"),
    ("namespace.maxapps", "write yunikorn.apache.org/namespace.maxApps;"),
    ("namespace.max-apps", "write yunikorn.apache.org/namespace.maxApps;"),
    ("enableYunikorn", "write yunikorn.apache.org/namespace.enableYuniKorn;"),
    ("namespace.enableYunikorn", "write yunikorn.apache.org/namespace.enableYuniKorn;"),
    ("namespace.parentqueue", "write yunikorn.apache.org/parentqueue;"),
    ("parent-queue", "write yunikorn.apache.org/parentqueue;"),
    ("namespace.max.CPU", "write the amount into yunikorn.apache.org/namespace.quota"),
    ("namespace.max.gpu", "write the amount into yunikorn.apache.org/namespace.quota"),
    ("namespace.limits", "write one of namespace.quota, namespace.guaranteed,"),
]


@each_case(("key", "fix"), NEAR_MISSES)
def test_misspelt_annotation_key_is_reported(key: str, fix: str) -> None:
    ((field, message, cure),) = slips({key: '{"cpu":"4"}'})

    assert field == f"metadata.annotations[yunikorn.apache.org/{key}]"
    assert message == f"YuniKorn does not read {key} on a Namespace"
    assert fix in cure


@pytest.mark.parametrize("key", ["queue", "app-id", "user.info", "allow-preemption", "task-groups", "our-own-note"])
def test_other_annotation_keys_are_ignored(key: str) -> None:
    assert slips({key: "x"}) == []


def test_annotation_key_used_as_a_label_is_reported() -> None:
    ((field, message, fix),) = slips({}, {"namespace.max.cpu": "4"})

    assert field == "metadata.labels[yunikorn.apache.org/namespace.max.cpu]"
    assert "is a label" in message
    assert fix == "write it under metadata.annotations"


NAMES = [  # the JSON, a part of the message, the fix
    ('{"vcore":"4"}', "thousandths of a core in an annotation: 4 is 4m of cpu", 'write "cpu", which counts cores'),
    ('{"vcore":"4","cpu":"4"}', "chance decides which of the two counts", 'remove "vcore"'),
    ('{"CPU":"4"}', 'no pod requests a resource named "CPU"', 'write "cpu"'),
    ('{"Memory":"4"}', 'no pod requests a resource named "Memory"', 'write "memory"'),
    ('{"cpus":"4"}', 'no pod requests a resource named "cpus"', 'write "cpu"'),
    ('{"requests.cpu":"4"}', 'no pod requests a resource named "requests.cpu"', 'write "cpu"'),
    ('{"memry":"4Gi"}', 'no pod requests a resource named "memry"', 'write "memory"'),
    ('{"nvidia.com/gpus":"4"}', '"nvidia.com/gpus" is nearly nvidia.com/gpu', "did you mean nvidia.com/gpu?"),
    ('{"":"4"}', 'no pod requests a resource named ""', "write the name that pods use"),
    ('{"gpu":"4"}', 'no pod requests a resource named "gpu"', "write the name that pods use"),
    ('{"cpu":1,"CPU":"4"}', 'no pod requests a resource named "CPU"', 'write "cpu"'),
]


@each_case("annotation", ["namespace.quota", "namespace.guaranteed"])
@each_case(("text", "message", "fix"), NAMES)
def test_unusual_resource_name_is_reported(text: str, message: str, fix: str, annotation: str) -> None:
    ((field, found_message, found_fix),) = slips({annotation: text})

    assert field == f"metadata.annotations[yunikorn.apache.org/{annotation}]"
    assert message in found_message
    assert fix in found_fix


FRACTIONS = [
    ({"namespace.quota": '{"memory":"100m"}'}, "memory=100m is rounded up to 1 byte", "write 100M or 100Mi"),
    ({"namespace.quota": '{"memory":"1500m"}'}, "memory=1500m is rounded up to 2 bytes", "write 1500M or 1500Mi"),
    ({"namespace.quota": '{"nvidia.com/gpu":"0.5"}'}, "nvidia.com/gpu=0.5 is rounded up to 1", "write a whole amount"),
    ({"namespace.guaranteed": '{"pods":"2500m"}'}, "pods=2500m is rounded up to 3", "write a whole amount"),
    ({"namespace.max.memory": "100m"}, "memory=100m is rounded up to 1 byte", "write 100M or 100Mi"),
]


@pytest.mark.parametrize(("annotations", "message", "fix"), FRACTIONS)
def test_fraction_of_a_unit_is_reported(annotations: dict[str, str], message: str, fix: str) -> None:
    assert [(message, fix)] == [(reported, cure) for _, reported, cure in slips(annotations)]


ALL_ZERO = [
    ({"namespace.quota": '{"cpu":"0","memory":"0"}'}, "everything is allowed"),
    ({"namespace.quota": "{}"}, "everything is allowed"),
    ({"namespace.max.cpu": "0"}, "everything is allowed"),
    ({"namespace.max.cpu": "0", "namespace.max.memory": "0"}, "everything is allowed"),
    ({"namespace.guaranteed": '{"cpu":"0"}'}, "guarantees nothing"),
]


@pytest.mark.parametrize(("annotations", "message"), ALL_ZERO)
def test_quota_of_only_zeros_is_reported_once(annotations: dict[str, str], message: str) -> None:
    ((_, reported, _),) = slips(annotations)

    assert message in reported


COUNTS = [
    ("0", "counts as absent"),
    ("+0", "counts as absent"),
    ("-0", "counts as absent"),
    ("+5", "cannot read the sign"),
]


@pytest.mark.parametrize(("text", "message"), COUNTS)
def test_max_apps_without_effect_is_reported(text: str, message: str) -> None:
    ((_, reported, _),) = slips({"namespace.maxApps": text})

    assert message in reported


@pytest.mark.parametrize("text", ["True", "yes", "1", ""])
def test_flag_read_as_false_is_reported(text: str) -> None:
    ((_, reported, _),) = slips({"namespace.enableYuniKorn": text})

    assert "is read as false" in reported


@pytest.mark.parametrize("key", ["namespace.quota", "namespace.max.cpu", "namespace.maxApps", "parentqueue"])
def test_an_empty_annotation_counts_as_absent(key: str) -> None:
    ((_, reported, _),) = slips({key: ""})

    assert reported == f"{key} is empty, which counts as absent"


QUIET = [
    {},
    {"namespace.quota": '{"cpu":"4","memory":"64Gi","pods":"20","nvidia.com/gpu":"1","ephemeral-storage":"1Ti"}'},
    {"namespace.quota": '{"hugepages-2Mi":"1Gi","attachable-volumes-x":"2"}'},
    {"namespace.quota": '{"cpu":"0","memory":"1G"}'},
    {"namespace.quota": '{"cpu":"100m","memory":"1.1Gi"}'},
    {"namespace.quota": '{"memory":"128974848000m"}'},
    {"namespace.max.cpu": "0", "namespace.max.memory": "64Gi"},
    {"namespace.max.cpu": "0", "namespace.quota": '{"cpu":"4"}'},
    {"namespace.maxApps": "05"},
    {"namespace.enableYuniKorn": "false", "namespace.generateAppId": "true", "parentqueue": "root.x"},
    {"namespace.quota": "null"},
    {"namespace.quota": '{"cpu":"-1"}'},
]


@each_case("annotations", QUIET)
def test_effective_or_otherwise_refused_annotations_are_not_reported(annotations: dict[str, str]) -> None:
    assert slips(annotations) == []


def test_quota_without_effect_is_a_warning() -> None:
    verdict = evaluate(change(NOTHING, namespace_manifest({"namespace.quota": "{}"})))

    assert [(judged.rule.id, judged.severity) for judged in verdict.findings] == [(RULE, Severity.WARNING)]


@given(text=ANNOTATIONS)
def test_any_annotation_text_is_judged(text: str) -> None:
    keys = ("namespace.quota", "namespace.guaranteed", "namespace.max.memory", "namespace.maxApps", "parentqueue")
    findings = found(RULE, change(NOTHING, namespace_manifest(dict.fromkeys(keys, text))))

    assert all(finding.message and finding.fix for finding in findings)
    assert len({finding.identity for finding in findings}) == len(findings)


def test_a_thousand_findings_are_not_listed() -> None:
    assert len(slips({"namespace.quota": json.dumps({f"x{number}": "1" for number in range(1000)})})) == 100
