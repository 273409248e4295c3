"""Roles for people who look at the queues of YuniKorn and of Volcano."""

from __future__ import annotations

import pytest

from cluster.reviews import Access
from reconciler.api.routes import OF_VOLCANO, OF_VOLCANO_GATES, OF_YUNIKORN
from tests.manifests.component import MANIFESTS, allowed, objects, only


@pytest.mark.parametrize(
    ("component", "role", "wanted"),
    [
        ("yunikorn-gates", "quotree-yunikorn-viewer", OF_YUNIKORN),
        ("volcano-gates", "quotree-volcano-gates-viewer", OF_VOLCANO_GATES),
        ("reconciler-volcano", "quotree-volcano-viewer", (OF_VOLCANO,)),
    ],
)
def test_they_open_what_they_are_for_and_write_nothing(component: str, role: str, wanted: tuple[Access, ...]) -> None:
    found = only("ClusterRole", role, objects(MANIFESTS / "components" / component))

    assert {(each.group, each.resource) for each in wanted} == allowed(found, "list")
    assert {verb for rule in found["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
