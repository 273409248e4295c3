"""The names by which Workloads, jobs and Pod groups refer to each other."""

from __future__ import annotations

import pytest

from policies.dialects.kueue_jobs import BATCH_JOB, POD_GROUP, PREBUILT
from policies.dialects.naming import NAMING, Naming, workload_names
from tests import builders

LABELS, SHORT = Naming(annotated=False), Naming(short=True)
LONG = "w" * 64


@pytest.mark.parametrize(
    ("label", "annotation", "by_annotation", "by_label"),
    [
        ("a", "b", "b", "a"),
        ("a", "", "a", "a"),
        ("", "b", "b", ""),
        ("", "b" * 63, "b" * 63, ""),
        ("", LONG, LONG, LONG),
        ("a", LONG, LONG, "a"),
        ("", "", "", ""),
    ],
)
def test_label_or_annotation_name_the_workload(label: str, annotation: str, by_annotation: str, by_label: str) -> None:
    meta = {"labels": {PREBUILT: label}, "annotations": {PREBUILT: annotation}}
    assert (NAMING.prebuilt(meta), LABELS.prebuilt(meta)) == (by_annotation, by_label)


@pytest.mark.parametrize(
    ("label", "annotation", "by_annotation", "by_label"),
    [("a", "b", "b", "a"), ("", "b", "b", ""), ("", LONG, LONG, ""), ("a", "", "a", "a")],
)
def test_a_group_is_named_by_its_label_alone_without_the_gate(
    label: str, annotation: str, by_annotation: str, by_label: str
) -> None:
    pod = builders.pod(labels={POD_GROUP: label}, annotations={POD_GROUP: annotation})
    assert (NAMING.group(pod), LABELS.group(pod)) == (by_annotation, by_label)


def test_a_short_name_fits_a_label_and_keeps_the_hash_of_the_whole() -> None:
    for size, cut in ((1, 1), (53, 53), (54, 53), (253, 53)):
        usual, short = (naming.workload(BATCH_JOB, "n" * size, "u") for naming in (NAMING, SHORT))
        assert short == f"job-{'n' * cut}-{usual[-5:]}"
        assert len(short) <= 63
        assert len(usual) <= 253
        assert workload_names(BATCH_JOB, "n" * size, "u") == {usual, short}


def test_jobs_with_the_same_truncated_name_have_different_workloads() -> None:
    names = {SHORT.workload(BATCH_JOB, f"{'n' * 100}{number}", "u") for number in range(50)}
    assert len(names) == 50
