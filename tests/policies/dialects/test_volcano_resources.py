"""The resources that Volcano counts, and those that have no fractions."""

from __future__ import annotations

from policies.dialects.volcano_resources import is_counted, is_whole
from tests.profiles import each_case


@each_case(
    ("resource", "counts", "whole"),
    [
        ("cpu", True, False),
        ("pods", True, True),
        ("ephemeral-storage", True, False),
        ("hugepages-2Mi", True, False),
        ("vendor/gpu", True, True),
        ("kubernetes.io/batch", True, False),
        ("requests.kubernetes.io/batch", True, False),
        ("gpu", False, False),
        ("services", False, True),
        ("count/pods", False, True),
        ("requests.vendor/gpu", False, False),
        ("requests.cpu", False, False),
        ("vendor/rack/gpu", False, False),
    ],
)
def test_resources_count_as_in_volcano(resource: str, counts: bool, whole: bool) -> None:
    assert (is_counted(resource), is_whole(resource)) == (counts, whole)
