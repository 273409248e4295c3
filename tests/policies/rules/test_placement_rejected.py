"""What placement-rejected suggests, and what it costs among thousands of queues."""

from __future__ import annotations

import json
from functools import partial

import pytest

from policies.dialects.yunikorn import QUEUE, USER_INFO
from policies.judge import evaluate
from policies.judging.rule import Proposal
from policies.model.forest import Forest
from tests.builders import Manifest, change, config_map, container, found, pod, world
from tests.scheduling.calls import calls

FEW, MANY = 9, 3_000


def tree(*queues: Manifest) -> Forest:
    root = {"name": "root", "submitacl": "*", "queues": queues}
    text = json.dumps({"partitions": [{"name": "default", "queues": [root]}]})
    return world(config_map("yunikorn-configs", "yunikorn", data={"queues.yaml": text}))


def submitted(queues: Forest, queue: str) -> Proposal:
    spec = {"schedulerName": "yunikorn", "containers": [container()]}
    return change(queues, pod("p", spec=spec, labels={QUEUE: queue}, annotations={USER_INFO: '{"user":"anna"}'}))


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("team.vision", "root.team.vision"),  # YuniKorn looks for root.team_dot_vision
        ("team.vison", "root.team.vision"),
        ("root.team.vison", "root.team.vision"),
        ("nigthly", "nightly"),
        ("root.nigthly", "root.nightly"),
    ],
)
def test_suggested_queue_has_the_full_path(asked: str, meant: str) -> None:
    queues = tree({"name": "team", "queues": [{"name": "vision"}]}, {"name": "nightly"})

    (finding,) = found("placement-rejected", submitted(queues, asked))

    assert finding.fix == f"did you mean {meant}?"
    assert found("placement-rejected", submitted(queues, meant)) == []


def test_cost_of_a_rejected_placement_is_independent_of_the_number_of_queues() -> None:
    few, many = (
        submitted(tree(*({"name": f"q{at}"} for at in range(leaves))), "root.absent") for leaves in (FEW, MANY)
    )
    for proposal in (few, many):
        evaluate(proposal)  # also reads the tree

    cost, more = (calls(partial(evaluate, proposal), package="policies") for proposal in (few, many))

    assert more < 1.1 * cost
