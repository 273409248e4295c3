"""Steps of a plan are carried out in a cluster that changes meanwhile."""

from __future__ import annotations

from typing import Any, cast

import pytest

from cluster.client import ClusterClient
from cluster.errors import ApiError, Conflict, NotFound
from cluster.takeover import carry_out
from policies.takeover.objects import FoundCluster, ObjectRef, PlannedWrite, PlanStep, TakeoverPlan, ref_of, updates


class Pods:
    """Two Pods; the first answers a write with an error once, and is gone if that says so."""

    def __init__(self, error: ApiError) -> None:
        self._error: ApiError | None = error
        self.objects = {name: self._pod(name) for name in ("a", "b")}

    def patch(self, path: str, body: dict[str, Any], *_: object, **__: object) -> None:
        name = path.rpartition("/")[2]
        if self._error is not None and name == "a":
            error, self._error = self._error, None
            if isinstance(error, NotFound):
                del self.objects["a"]
            raise error
        self.objects[name]["metadata"]["labels"] = {}

    def found(self) -> FoundCluster:
        return FoundCluster({ref_of(each): each for each in self.objects.values()})

    @staticmethod
    def _pod(name: str) -> dict[str, Any]:
        meta = {"name": name, "namespace": "team", "labels": {"mark": ""}, "resourceVersion": "1"}
        return {"kind": "Pod", "metadata": meta}


def without_marks(found: FoundCluster) -> TakeoverPlan:
    bare = [{**each, "metadata": {**each["metadata"], "labels": {}}} for each in found.objects.values()]
    return TakeoverPlan((PlanStep("take off", updates(found, bare)),))


@pytest.mark.parametrize(
    ("error", "left"), [(NotFound(404, "NotFound", "gone"), ["b"]), (Conflict(409, "Conflict", "new"), ["a", "b"])]
)
def test_an_object_that_changes_or_goes_meanwhile_stops_no_step(error: ApiError, left: list[str]) -> None:
    pods = Pods(error)

    carry_out(cast("ClusterClient", pods), pods.found, without_marks, lambda _: None, longest=60, rest=lambda _: None)

    assert [*pods.objects] == left
    assert all(each["metadata"]["labels"] == {} for each in pods.objects.values())


def test_a_status_is_written_as_a_part_of_its_own() -> None:
    paths = []

    class Noting:
        def patch(self, path: str, *_: object, **__: object) -> None:
            paths.append(path)

    writes = [PlannedWrite(ObjectRef("Namespace", "team"), {}, "1", part) for part in ("", "status")]
    plans = iter([TakeoverPlan((PlanStep("both", tuple(writes)),)), TakeoverPlan()])
    carry_out(
        cast("ClusterClient", Noting()), lambda: FoundCluster({}), lambda _: next(plans), lambda _: None, longest=60
    )

    assert paths == ["/api/v1/namespaces/team", "/api/v1/namespaces/team/status"]
