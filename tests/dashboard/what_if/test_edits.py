"""The edits that are typed into the form, and their stored form."""

from __future__ import annotations

import pytest

from dashboard.what_if import edits
from dashboard.what_if.edits import BadEdit, Edit, EditedNode, MoveEdit, QuotaEdit, StopEdit, WorkEdit

NODE = EditedNode("ClusterQueue", "a")
EDITS = [
    QuotaEdit(NODE, "spot", "nvidia.com/gpu", "nominalQuota", "8"),
    QuotaEdit(NODE, "spot", "cpu", "borrowingLimit", ""),
    QuotaEdit(EditedNode("Namespace", "ml"), "", "memory&x=1", "max", "1Gi"),
    MoveEdit(NODE, "org"),
    MoveEdit(EditedNode("Cohort", "a"), ""),
    StopEdit(NODE, "HoldAndDrain"),
    WorkEdit("team", "main", "what-if", 3, (("cpu", "500m"), ("memory", "1Gi")), -5),
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_reads_back_as_encoded(edit: Edit) -> None:
    assert edits.parse(edits.encoded(edit)) == edit


def test_an_edit_describes_its_effect() -> None:
    assert [str(each) for each in EDITS[:2]] == [
        "ClusterQueue a: nominalQuota of spot/nvidia.com/gpu becomes 8",
        "ClusterQueue a: borrowingLimit of spot/cpu is removed",
    ]
    more, less = (QuotaEdit(NODE, "spot", "cpu", "nominalQuota", amount) for amount in ("+16", "-500m"))
    assert str(more) == "ClusterQueue a: nominalQuota of spot/cpu becomes 16 more than now"
    assert str(less) == "ClusterQueue a: nominalQuota of spot/cpu becomes 500m less than now"
    assert str(EDITS[4]) == "Cohort a becomes a root"
    assert str(EDITS[5]) == "ClusterQueue a evicts its work and admits no more (stopPolicy HoldAndDrain)"
    assert str(EDITS[6]) == "Workload team/what-if at main: 3 × (cpu 500m, memory 1Gi), priority -5"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"amount": "lots"}, "The nominalQuota of ClusterQueue a is lots, which is not a valid amount"),
        ({"amount": ""}, "The nominalQuota of ClusterQueue a is empty"),
        (
            {"field": "capability"},
            "A ClusterQueue has nominalQuota and borrowingLimit and lendingLimit, not capability",
        ),
        ({"kind": "Secret"}, "A Secret has no quota"),
        ({"amount": "+lots"}, "or how much more or less it is"),
        ({"flavor": ""}, "Name the flavor"),
        ({"flavor": "", "amount": "lots"}, "is lots, which is not a valid amount"),
        ({"resource": " "}, "The resource is missing"),
        ({"name": ""}, "The name is missing"),
        ({"name": "x" * 401}, "more than 400 characters"),
    ],
)
def test_an_invalid_quota_edit_is_an_error(changed: dict[str, str], said: str) -> None:
    typed = {"kind": "ClusterQueue", "name": "a", "flavor": "spot", "resource": "cpu", "field": "nominalQuota"}
    with pytest.raises(BadEdit, match=said):
        edits.parse_quota({**typed, "amount": "8", **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"requests": "cpu"}, "Write the requests of a pod as cpu=1"),
        ({"requests": "cpu=x"}, "The request of cpu is x, which is not a valid amount"),
        ({"requests": "cpu=1,"}, "not nothing"),
        ({"pods": "0"}, "pods: 0 is not from 1 to 100000"),
        ({"pods": "9" * 400}, "is not from 1"),
        ({"pods": "many"}, "pods: many is not a whole number"),
        ({"priority": "3000000000"}, "priority: 3000000000 is not from"),
        ({"queue": ""}, "The LocalQueue is missing"),
    ],
)
def test_an_invalid_work_edit_is_an_error(changed: dict[str, str], said: str) -> None:
    with pytest.raises(BadEdit, match=said):
        edits.parse_work({"namespace": "team", "queue": "main", "requests": "cpu=1", **changed})


@pytest.mark.parametrize(
    ("kind", "policy", "said"),
    [
        ("Cohort", "Hold", "A Cohort has no stopPolicy"),
        ("ClusterQueue", "Halt", "is one of None, Hold, HoldAndDrain, not Halt"),
        ("ClusterQueue", "", "not empty"),
    ],
)
def test_an_invalid_stop_edit_is_an_error(kind: str, policy: str, said: str) -> None:
    with pytest.raises(BadEdit, match=said):
        edits.parse_stop({"kind": kind, "name": "a", "policy": policy})


@pytest.mark.parametrize(
    "line", ["", "x", "quota=Secret&name=a", "move=Pod&name=a", "stop=Cohort&name=a&policy=Hold", "&&&", "%00"]
)
def test_an_invalid_encoded_edit_is_an_error(line: str) -> None:
    with pytest.raises(BadEdit):
        edits.parse(line)
