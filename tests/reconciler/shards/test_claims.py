"""Which shard decides for a ClusterQueue, by its status, and which shard may change that."""

from __future__ import annotations

from typing import Any

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
from tests.profiles import each_case
from tests.reconciler.plain_queues import START

ACTIVE = {"type": "Active", "status": "True"}


def condition(part: str, status: str) -> dict[str, Any]:
    return {"type": f"part.quotree.dev/{part}", "status": status}


def test_without_a_claim_the_default_shard_decides() -> None:
    assert read_claim({}) == UNCLAIMED
    assert read_claim({"conditions": [ACTIVE]}) == UNCLAIMED


def test_a_claim_is_read_as_written_beside_other_conditions() -> None:
    claim = TreeClaim("left", "right", in_status=True)
    status = claim_status(Stored(status={"conditions": [ACTIVE, condition("gone", "True")]}), claim, START)

    assert read_claim(status) == claim
    assert status["conditions"][0] == ACTIVE
    assert len(status["conditions"]) == 3


def test_a_status_that_names_two_shards_belongs_to_neither() -> None:
    assert read_claim({"conditions": [condition("left", "True"), condition("right", "True")]}).part == NOBODY
    assert read_claim({"conditions": [condition("left", "Unknown"), condition("right", "Unknown")]}).part == NOBODY
    assert next_claim(TreeClaim(NOBODY, in_status=True), "left", "left", idle=True) is None


def test_only_a_changed_condition_gets_a_new_transition_time() -> None:
    first = claim_status(Stored(), TreeClaim("left", in_status=True), START)
    asked = claim_status(Stored(status=first), TreeClaim("left", "right", in_status=True), START + 10**10)

    assert asked["conditions"][0]["lastTransitionTime"] == first["conditions"][0]["lastTransitionTime"]
    assert asked["conditions"][1]["lastTransitionTime"] != first["conditions"][0]["lastTransitionTime"]


def test_a_claim_is_patched_at_the_version_that_was_read() -> None:
    patch = claim_patch(RESOURCES["ClusterQueue"], "q", Stored(version="7"), TreeClaim("left", in_status=True), START)

    assert (patch.resource_version, patch.subresource) == ("7", "status")


HELD = TreeClaim("left", in_status=True)
ASKED = TreeClaim("left", "right", in_status=True)


@each_case(
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
def test_only_the_deciding_shard_hands_a_tree_over_and_only_to_the_requester(
    claim: TreeClaim, wanted: str | None, me: str, idle: bool, after: TreeClaim | None
) -> None:
    assert next_claim(claim, wanted, me, idle=idle) == after


def test_only_the_deciding_shard_changes_the_claim() -> None:
    parts = ("default", "left", "right")
    for claim in (TreeClaim(part, asked) for part in parts for asked in ("", *parts)):
        for wanted in (*parts, None):
            for me in parts:
                after = next_claim(claim, wanted, me, idle=True)
                assert after is None or after.part == claim.part or claim.part == me
                assert after is None or after.part in (claim.part, claim.requester)


def test_shard_names_are_valid_suffixes_of_lease_names() -> None:
    assert all(map(valid, ("default", "team-a", "a", "7", "a" * 40)))
    assert not any(map(valid, ("", "Team", "-a", "a-", "a/b", "a.b", "a" * 41)))
