"""Who decides for a ClusterQueue, as its status says, and who may change that."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.controllers.queue_status import RESOURCES
from reconciler.objects.stored import Stored
from reconciler.shards.claims import (
    NOBODY,
    UNCLAIMED,
    TreeClaim,
    claim_patch,
    claim_status,
    next_claim,
    read_claim,
    valid,
)
from tests.reconciler.plain_queues import START

ACTIVE = {"type": "Active", "status": "True"}


def condition(part: str, status: str) -> dict[str, Any]:
    return {"type": f"part.quotree.dev/{part}", "status": status}


def test_without_a_word_the_default_part_decides() -> None:
    assert read_claim({}) == UNCLAIMED
    assert read_claim({"conditions": [ACTIVE]}) == UNCLAIMED


def test_a_claim_is_read_back_as_it_was_written_beside_other_conditions() -> None:
    claim = TreeClaim("left", "right", in_status=True)
    status = claim_status(Stored(status={"conditions": [ACTIVE, condition("gone", "True")]}), claim, START)

    assert read_claim(status) == claim
    assert status["conditions"][0] == ACTIVE
    assert len(status["conditions"]) == 3


def test_a_status_that_names_two_parts_is_nobodys() -> None:
    assert read_claim({"conditions": [condition("left", "True"), condition("right", "True")]}).part == NOBODY
    assert read_claim({"conditions": [condition("left", "Unknown"), condition("right", "Unknown")]}).part == NOBODY
    assert next_claim(TreeClaim(NOBODY, in_status=True), "left", "left", idle=True) is None


def test_what_moves_is_told_by_the_time_of_the_transition_and_the_rest_keeps_its_own() -> None:
    first = claim_status(Stored(), TreeClaim("left", in_status=True), START)
    asked = claim_status(Stored(status=first), TreeClaim("left", "right", in_status=True), START + 10**10)

    assert asked["conditions"][0]["lastTransitionTime"] == first["conditions"][0]["lastTransitionTime"]
    assert asked["conditions"][1]["lastTransitionTime"] != first["conditions"][0]["lastTransitionTime"]


def test_a_write_of_a_claim_is_bound_to_the_version_that_was_read() -> None:
    patch = claim_patch(RESOURCES["ClusterQueue"], "q", Stored(version="7"), TreeClaim("left", in_status=True), START)

    assert (patch.resource_version, patch.subresource) == ("7", "status")


HELD = TreeClaim("left", in_status=True)
ASKED = TreeClaim("left", "right", in_status=True)


@pytest.mark.parametrize(
    ("claim", "wanted", "me", "idle", "after"),
    [
        (HELD, "left", "left", True, None),
        (HELD, "right", "left", True, None),  # it decides on until the other one is there
        (HELD, "right", "right", True, ASKED),
        (HELD, "right", "third", True, None),
        (HELD, None, "right", True, None),
        (ASKED, "right", "right", True, None),
        (ASKED, "right", "left", False, None),
        (ASKED, "right", "left", True, TreeClaim("right", in_status=True)),
        (ASKED, "left", "left", False, HELD),
        (ASKED, "third", "left", False, HELD),
        (ASKED, "third", "third", True, TreeClaim("left", "third", in_status=True)),
        (ASKED, None, "left", True, None),
        (UNCLAIMED, "default", "default", True, None),
        (UNCLAIMED, "right", "right", True, TreeClaim("default", "right", in_status=True)),
    ],
)
def test_who_holds_it_alone_hands_it_over_and_only_to_whom_asks(
    claim: TreeClaim, wanted: str | None, me: str, idle: bool, after: TreeClaim | None
) -> None:
    assert next_claim(claim, wanted, me, idle=idle) == after


def test_nobody_but_the_holder_changes_who_holds_it() -> None:
    parts = ("default", "left", "right")
    for claim in (TreeClaim(part, asked) for part in parts for asked in ("", *parts)):
        for wanted in (*parts, None):
            for me in parts:
                after = next_claim(claim, wanted, me, idle=True)
                assert after is None or after.part == claim.part or claim.part == me
                assert after is None or after.part in (claim.part, claim.requester)


def test_names_of_parts_end_the_names_of_leases() -> None:
    assert all(map(valid, ("default", "team-a", "a", "7", "a" * 40)))
    assert not any(map(valid, ("", "Team", "-a", "a-", "a/b", "a.b", "a" * 41)))
