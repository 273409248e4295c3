"""Settings are read without a check of the structure; the caller checks it or does not need the check."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from policies.dialects import reading
from policies.model.objects import Defect
from scheduling.objects.queue_settings import read_cohort_settings, read_local_queue_settings, read_queue_settings
from tests.scheduling.calls import calls

SPEC = {
    "cohortName": "company",
    "parentName": "company",
    "clusterQueue": "main",
    "fairSharing": {"weight": 2},
    "resourceGroups": [
        {
            "coveredResources": ["cpu"],
            "flavors": [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "4"}]}],
        }
    ],
}


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("ClusterQueue", read_queue_settings),
        ("Cohort", read_cohort_settings),
        ("LocalQueue", read_local_queue_settings),
    ],
)
def test_reading_settings_does_not_check_the_structure(
    kind: str, read: Callable[[Mapping[str, Any]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Mapping[str, Any]] = []

    def defects(manifest: Mapping[str, Any]) -> tuple[Defect, ...]:
        checked.append(manifest)
        return ()

    manifest = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "a"}, "spec": SPEC}
    expected = read(manifest)
    monkeypatch.setattr(reading, "defects", defects)

    assert expected == read(manifest)
    assert not any(checked)


def test_fields_that_only_rules_use_are_not_read() -> None:
    """A start reads thousands of ClusterQueues, each with a status that is as large as its quota."""
    held = [{"name": "spot", "resources": [{"name": "cpu", "total": "3"}]}]
    rules = {"concurrentAdmissionPolicy": {"migration": {"mode": "Auto"}}}
    bare = {"metadata": {"name": "main"}, "spec": SPEC}
    full = {"metadata": {"name": "main"}, "spec": {**SPEC, **rules}, "status": {"flavorsReservation": held}}

    of_bare, of_full = (calls(lambda: read_queue_settings(each), package="policies") for each in (bare, full))  # noqa: B023

    assert of_full == of_bare
