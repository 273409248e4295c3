"""Settings are read without a look at the structure: whoever has the manifest has checked it, or never will."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from policies.dialects import reading
from policies.model.defect import Defect
from scheduling.objects.queue_settings import read_cohort_settings, read_local_queue_settings, read_queue_settings

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
def test_the_structure_is_not_checked(
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
