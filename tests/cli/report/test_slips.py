"""One typo in a valid tree is one finding, in each dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.input.documents import gather
from tests.builders import queue
from tests.cli.runs import report, run, write

ACCEPTED = Path(__file__).parents[3] / "examples" / "accepted"
QUOTA = '{"cpu": "64", "memory": "256Gi"}'

KUEUE = [
    ("research", "parentName: acme", "parentName: acm", "cohort-name-slip", 3),
    ("research", "parentName: acme", "parentName: research", "parent-cycle", 2),
    ("research", "parentName:", "parentNme:", "unknown-field", 3),
    ("acme", 'nominalQuota: "20"', 'nominalQuota: "20 cores"', "bad-quantity", 1),
    ("acme", "resourceGroups:", "resourceGroup:", "unknown-field", 2),
    ("vision-lab", "namespaceSelector:", "namespaceSelectr:", "unknown-field", 1),
    ("vision-lab", "name: cpu", "name: cpus", "flavor-resources-mismatch", 3),
    ("on-demand", "name: on-demand", "name: ondemand", "flavor-missing", 3),
    ("default", "clusterQueue: vision-lab", "clusterQueue: research", "submit-to-parent", 1),
]
VOLCANO = [
    ("engineering", "parent: root", "parent: rooot", "parent-missing", 4),
    ("training", "parent: engineering", "parent: enginering", "parent-missing", 2),
    ("training", "parent: engineering", "parent: vision", "parent-cycle", 9),
    ("engineering", "parent: root", "parent: training", "parent-cycle", 11),
    ("engineering", "parent: root", "parent: engineering", "parent-cycle", 13),
    ("engineering", "name: engineering", "name: enginering", "parent-missing", 3),
    ("training", "name: training", "name: trainign", "parent-missing", 1),
    ("engineering", "deserved:", "deservd:", "unknown-field", 5),
    ("engineering", "guarantee:", "guarantees:", "unknown-field", 2),
    ("engineering", "resource: {cpu", "resources: {cpu", "unknown-field", 2),
    ("engineering", "spec:", "sepc:", "unknown-field", 5),
    ("engineering", 'cpu: "40"', 'cpu: "40 cores"', "bad-quantity", 2),
    ("engineering", 'cpu: "40"', 'cpu: "400"', "deserved-exceeds-capability", 1),
    ("engineering", 'cpu: "40"', 'cpus: "40"', "children-deserved-exceed-parent", 3),
    ("engineering", 'cpu: "40", memory', 'cpu: "40", memroy', "children-deserved-exceed-parent", 3),
    ("serving", 'cpu: "32"', 'cpu: "320"', "capability-exceeds-ancestor", 1),
    ("batch", "1/4", "1,4", "hierarchy-annotations-invalid", 1),
]
"""A queue, what is written there, the slip, the rule that finds it, and how much follows from it."""

YUNIKORN = [
    ("acme-batch", QUOTA, '{"cpu": 64", "memory": "256Gi"}', "quota-annotation-invalid", 1),
    ("acme-batch", QUOTA, '{"cpu": 64, "memory": 256}', "quota-annotation-invalid", 1),
    ("acme-batch", '"cpu": "64"', '"cpu": "640"', "namespace-quota-exceeds-queue", 1),
    ("acme-batch", "namespace.quota", "namespace.qouta", "key-misspelt", 1),
    ("acme-batch", "namespace.guaranteed", "namespace.guarantee", "key-misspelt", 1),
    ("acme-batch", "parentqueue", "parentQueue", "key-misspelt", 1),
    ("acme-vision", "namespace.maxApps", "namespace.maxapps", "key-misspelt", 1),
    ("acme-batch", "  annotations:", "  labels:", "quota-without-effect", 2),
    ("acme", "guaranteed: {vcore: 40", "guaranteed: {vcore: 4", "children-guaranteed-exceed-queue", 2),
    ("acme", "max: {vcore: 200, memory: 800Gi}", "max: {vcore: 0, memory: 0}", "queue-quota-without-effect", 6),
    ("training", "maxresources:", "maxresource:", "queue-config-invalid", 1),
    ("training", "maxapplications:", "maxapplication:", "queue-config-invalid", 1),
    ("training", "users:", "user:", "queue-config-invalid", 1),
]
"""The same of a Namespace, or of a queue in queues.yaml."""


def misspelt(folder: Path, dialect: str, name: str, right: str, wrong: str) -> Path:
    """The tree of the example with the slip: the first at or below the name of an object, or of a queue in it."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted((ACCEPTED / dialect).glob("*.yaml"))}
    anchors = (f"\n  name: {name}\n", f"name: {name}\n")
    file, anchor = next((file, anchor) for anchor in anchors for file, text in texts.items() if anchor in text)
    head, _, tail = texts[file].partition(anchor)
    assert right in anchor + tail
    texts[file] = head + (anchor + tail).replace(right, wrong, 1)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("dialect", "slip"),
    [
        (name, slip)
        for name, slips in (("kueue", KUEUE), ("volcano", VOLCANO), ("yunikorn", YUNIKORN))
        for slip in slips
    ],
)
def test_typo_is_one_finding(tmp_path: Path, dialect: str, slip: tuple[str, str, str, str, int]) -> None:
    name, right, wrong, rule, following = slip
    tree = misspelt(tmp_path, dialect, name, right, wrong)

    (finding,) = report(run("validate", tree, "-o", "json"))["findings"]

    assert (finding["rule"], len(finding["consequences"])) == (rule, following)


@pytest.mark.parametrize("dialect", ["kueue", "volcano", "yunikorn"])
def test_tree_without_a_typo_has_no_findings(dialect: str) -> None:
    assert gather([str(ACCEPTED / dialect)]).objects
    assert report(run("validate", ACCEPTED / dialect, "-o", "json"))["findings"] == []


def test_independent_errors_are_separate_findings(tmp_path: Path) -> None:
    """A number that violates two bounds has one finding for each bound."""
    tree = misspelt(tmp_path, "volcano", "engineering", 'cpu: "40"', 'cpu: "4"')

    found = report(run("validate", tree, "-o", "json"))["findings"]

    assert [each["rule"] for each in found] == ["children-deserved-exceed-parent", "guarantee-exceeds-deserved"]


def test_fix_of_a_missing_quote_is_the_whole_annotation(tmp_path: Path) -> None:
    tree = misspelt(tmp_path, "yunikorn", "acme-batch", QUOTA, '{"cpu": 64", "memory": "256Gi"}')

    (finding,) = report(run("validate", tree, "-o", "json"))["findings"]

    assert finding["fix"] == f"write {QUOTA}"


def test_a_resource_that_is_misspelt_throughout_is_one_finding(tmp_path: Path) -> None:
    group = "{coveredResources: [memroy], flavors: [{name: a, resources: [{name: memroy, nominalQuota: 4Gi}]}]}"
    file = tmp_path / "a.yaml"
    file.write_text(
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: a}\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\n"
        f"spec: {{namespaceSelector: {{}}, resourceGroups: [{group}]}}\n"
    )

    (finding,) = report(run("validate", file, "-o", "json"))["findings"]

    assert finding["field"] == "spec.resourceGroups[0].coveredResources[0]"
    assert len(finding["consequences"]) == 1


def test_consequence_at_the_same_position_shows_its_message(tmp_path: Path) -> None:
    tree = misspelt(tmp_path, "yunikorn", "acme-batch", QUOTA, '{"cpu": 64, "memory": 256}')

    lines = [line.strip() for line in run("validate", tree).stdout.splitlines() if "follows from it" in line]

    (line,) = lines
    assert line.startswith(
        'follows from it: quota-annotation-invalid: namespace.quota, line 1, column 23: "memory": 256 '
    )


def test_text_truncates_consequences_and_json_lists_all(tmp_path: Path) -> None:
    teams = [queue(f"team-{number:03}", "enginering", deserved="cpu:1") for number in range(100)]
    file = write(tmp_path / "a.yaml", queue("engineering", deserved="cpu:100"), *teams)

    (finding,) = report(run("validate", file, "-o", "json"))["findings"]
    lines = [line.strip() for line in run("validate", file).stdout.splitlines() if "follows from it" in line]

    assert len(finding["consequences"]) == 99
    assert lines[0] == "follows from it: parent-missing: Queue team-001: spec.parent"
    assert lines[20:] == ["follows from it: 79 more findings"]
