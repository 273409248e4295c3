"""What is written of a Workload after a decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.actions import Apply, Patch
from policies.dialects.kueue_checks import MULTIKUEUE, PROVISIONING
from policies.mutation.patching import merge_patch
from reconciler.objects.patches import (
    ADMISSION_MANAGER,
    RECLAIMABLE_MANAGER,
    WORKLOADS,
    condition_manager,
    spec_patch,
    status_patch,
)
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import (
    PODS_READY,
    WAITING_FOR_REPLACEMENT,
    Admission,
    CheckState,
    RequeueState,
)
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import pods_ready
from scheduling.status.progress import finish, with_reclaimable
from scheduling.status.requeue import requeue_at
from scheduling.status.writing import written_status
from tests.merging import merged
from tests.scheduling.manifests import condition, manifest, workload

NOW = 1_700_000_000 * 10**9
READ = workload(status={"conditions": [condition("QuotaReserved")]}, resourceVersion="7")


def test_only_changed_fields_are_patched_at_the_version_that_was_read() -> None:
    after = requeue_at(READ, NOW, counted=True)
    written = {"requeueState": {"count": 1, "requeueAt": "2023-11-14T22:13:20Z"}}

    assert status_patch(READ, after, ADMISSION_MANAGER) == Apply(
        WORKLOADS,
        "ns",
        "w",
        {"status": written},
        "7",
        ADMISSION_MANAGER,
        "status",
        applied={
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "status": {"conditions": written_status(READ)["conditions"], **written},
        },
    )


def test_a_manager_applies_its_own_fields_and_no_others() -> None:
    read = replace(with_reclaimable(READ, {"main": 1}), checks=(CheckState("a", "Pending"), CheckState("b", "Pending")))
    ready = replace(read, checks=(CheckState("a", "Ready"), CheckState("b", "Pending")))

    reports = {
        condition_manager(PODS_READY): pods_ready(read, True, NOW),
        RECLAIMABLE_MANAGER: with_reclaimable(read, {"main": 2}),
        MULTIKUEUE: ready,
        PROVISIONING: ready,
    }
    found = {manager: status_patch(read, after, manager) for manager, after in reports.items()}

    assert {manager: applied(patch) for manager, patch in found.items()} == {
        "kueue-job-controller-PodsReady": {"conditions": ["PodsReady"]},
        "kueue-reclaimable-pods": {"reclaimablePods": ["main"]},
        "kueue.x-k8s.io/multikueue": {"admissionChecks": ["a"]},
        "kueue.x-k8s.io/provisioning-request": {"admissionChecks": ["a", "b"]},
    }
    assert [patch.manager for patch in found.values() if patch is not None] == list(found)


def test_changes_beyond_the_managers_own_fields_use_the_admission_manager() -> None:
    read = replace(READ, checks=(CheckState("a", "Pending"),))
    own = with_condition(read, "quotree.dev/PlacedOn", "True", "Placed", "east", NOW)
    after = finish(replace(own, checks=(CheckState("a", "Ready"),)), "Succeeded", "", NOW)

    patch = status_patch(read, after, MULTIKUEUE)

    assert patch is not None
    assert patch.manager == ADMISSION_MANAGER
    assert applied(patch) == {
        "conditions": ["QuotaReserved", "quotree.dev/PlacedOn", "Finished"],
        "admissionChecks": ["a"],
    }


def test_fields_of_two_managers_are_written_one_after_the_other() -> None:
    waits = with_condition(with_reclaimable(READ, {"main": 1}), WAITING_FOR_REPLACEMENT, "True", "PodsFailed", "", NOW)
    after = finish(waits, "Succeeded", "", NOW)
    writers, read = [], READ
    while (patch := status_patch(read, after, ADMISSION_MANAGER)) is not None:
        writers.append(patch.manager)
        read = read_workload(merged(manifest(status=written_status(read)), patch.body))

    assert writers == ["kueue-pod-controller", RECLAIMABLE_MANAGER, ADMISSION_MANAGER]
    assert written_status(read) == written_status(after)


@pytest.mark.parametrize("left", [True, False])
def test_an_admission_without_quota_is_removed_before_a_new_one_is_written(left: bool) -> None:
    quota = "False" if left else "True"
    before = replace(with_condition(READ, "QuotaReserved", quota, "Pending", "", NOW), admission=Admission("old"))
    after = replace(with_condition(READ, "QuotaReserved", "True", "QuotaReserved", "", NOW), admission=Admission("new"))

    patch = status_patch(before, after, ADMISSION_MANAGER)

    assert patch is not None
    assert (patch.body == {"status": {"admission": None}}) == left
    assert isinstance(patch, Apply) != left, "nulls alone add no owner"


def applied(patch: Patch | None) -> dict[str, list[str]]:
    """The entries that it owns, by field."""
    assert isinstance(patch, Apply)
    status = patch.applied["status"]
    return {field: [each.get("type") or each["name"] for each in entries] for field, entries in status.items()}


def test_removed_fields_are_patched_with_null_at_their_own_depth() -> None:
    before = replace(READ, admission=Admission("cq"), requeue=RequeueState(2, NOW))
    after = replace(READ, requeue=RequeueState(2))

    patch = status_patch(before, after, ADMISSION_MANAGER)

    assert patch is not None
    assert patch.body == {"status": {"admission": None, "requeueState": {"requeueAt": None}}}


def test_an_unchanged_workload_is_not_patched() -> None:
    assert status_patch(READ, replace(READ, active=False), ADMISSION_MANAGER) is None
    assert spec_patch(READ, finish(READ, "Succeeded", "", NOW)) is None


def test_a_change_of_active_is_a_spec_patch() -> None:
    patch = spec_patch(READ, replace(READ, active=False))

    assert patch == Patch(WORKLOADS, "ns", "w", {"spec": {"active": False}}, "7", ADMISSION_MANAGER)


def test_a_patched_status_reads_as_the_decided_workload() -> None:
    after = finish(requeue_at(READ, NOW, counted=True), "Succeeded", "done", NOW)
    patch = status_patch(READ, after, ADMISSION_MANAGER)

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
def test_merging_the_differences_of_two_trees_gives_the_second(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert merged(before, merge_patch(before, after)) == after
