"""What is written of a Workload after a decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cluster.actions import Patch
from reconciler.objects.patches import ADMISSION_MANAGER, WORKLOADS, differences, spec_patch, status_patch
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Admission, RequeueState
from scheduling.status.progress import finish
from scheduling.status.requeue import requeue_at
from scheduling.status.writing import written_status
from tests.merging import merged
from tests.scheduling.manifests import condition, manifest, workload

NOW = 1_700_000_000 * 10**9
READ = workload(status={"conditions": [condition("QuotaReserved")]}, resourceVersion="7")


def test_only_what_differs_is_patched_and_only_where_the_version_still_is_the_one_read() -> None:
    after = requeue_at(READ, NOW, counted=True)

    assert status_patch(READ, after, ADMISSION_MANAGER) == Patch(
        WORKLOADS,
        "ns",
        "w",
        {"status": {"requeueState": {"count": 1, "requeueAt": "2023-11-14T22:13:20Z"}}},
        "7",
        ADMISSION_MANAGER,
        "status",
    )


def test_what_is_gone_is_taken_away_at_its_own_depth() -> None:
    before = replace(READ, admission=Admission("cq"), requeue=RequeueState(2, NOW))
    after = replace(READ, requeue=RequeueState(2))

    patch = status_patch(before, after, ADMISSION_MANAGER)

    assert patch is not None
    assert patch.body == {"status": {"admission": None, "requeueState": {"requeueAt": None}}}


def test_nothing_is_written_where_nothing_that_is_written_changed() -> None:
    assert status_patch(READ, replace(READ, active=False), ADMISSION_MANAGER) is None
    assert spec_patch(READ, finish(READ, "Succeeded", "", NOW)) is None


def test_activity_is_written_to_the_spec() -> None:
    patch = spec_patch(READ, replace(READ, active=False))

    assert patch == Patch(WORKLOADS, "ns", "w", {"spec": {"active": False}}, "7", ADMISSION_MANAGER)


def test_a_status_that_is_patched_reads_as_what_was_decided() -> None:
    after = finish(requeue_at(READ, NOW, counted=True), "Succeeded", "done", NOW)
    patch = status_patch(READ, after, "m")

    assert patch is not None
    stored = merged(manifest(status=written_status(READ), resourceVersion="7"), patch.body)
    assert read_workload(stored) == after


_TREES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        st.integers() | st.lists(st.integers(), max_size=2),
        lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@given(_TREES, _TREES)
def test_merging_the_differences_leads_from_any_state_to_any_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert merged(before, differences(before, after)) == after
