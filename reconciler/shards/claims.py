"""Claims: which part decides for a ClusterQueue, as the ClusterQueue's status says, and how a claim may change.

Flags, labels and conditions call a shard a part, and so does this code.

A claim is one or two conditions of the ClusterQueue. The type of a condition names a part. The condition
`part.quotree.dev/batch` with status True means that the part `batch` decides; with status Unknown it means that `batch`
requests the ClusterQueue. Without any such condition the default part decides.

Only the part that decides may hand the ClusterQueue over. So a claim always has one holder, even if other parts have
stale caches. Claims are conditions because `kubectl replace` and GitOps tools drop annotations, but do not write the
status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cluster.actions import Patch
from policies.dialects.reading import condition, listing, mapping, text
from reconciler.objects.stored import Stored, condition_to_write

DEFAULT = "default"
"""The part that decides for every ClusterQueue without a claim."""
LABEL = "quotree.dev/part"
"""The label on the root of a tree that names the part that should decide for the tree."""
CONDITION = "part.quotree.dev/"
MANAGER = "quotree-parts"
NOBODY = ""
_DECIDES, _ASKS = "True", "Unknown"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


def valid(part: str) -> bool:
    """Whether this is a valid name of a part. The name is a suffix of a Lease's name and of a condition's type."""
    return _NAME.fullmatch(part) is not None


def lease_of(lease: str, part: str) -> str:
    """The name of a part's Lease, made from the default part's. Each part has one, so two of its processes compete."""
    return lease if part == DEFAULT else f"{lease}-{part}"


@dataclass(frozen=True, slots=True)
class TreeClaim:
    """A claim of a ClusterQueue.

    `part`: the part that decides; NOBODY if the conditions contradict each other.
    `requester`: the part that requests the ClusterQueue; empty for none.
    `in_status`: whether the status names the part. If so, the ClusterQueue may have belonged to another part before.
    """

    part: str = DEFAULT
    requester: str = ""
    in_status: bool = False


UNCLAIMED = TreeClaim()


def read_claim(status: Mapping[str, Any]) -> TreeClaim:
    deciding: list[str] = []
    asking: list[str] = []
    for each in map(mapping, listing(status.get("conditions"))):
        kind = text(each.get("type")) or ""
        if kind.startswith(CONDITION):
            (deciding if each.get("status") == _DECIDES else asking).append(kind.removeprefix(CONDITION))
    if len(deciding) > 1 or len(asking) > 1:
        return TreeClaim(NOBODY, in_status=True)
    part = deciding[0] if deciding else DEFAULT
    return TreeClaim(part, asking[0] if asking else "", in_status=bool(deciding))


def next_claim(claim: TreeClaim, wanted: str | None, me: str, *, idle: bool) -> TreeClaim | None:
    """The claim that the part `me` should write; None if `me` may not change the claim, or need not.

    `wanted`: the part that the root of the tree names; None on a cycle of Cohorts, which has no root.
    `idle`: whether this part has no write for the tree's work in flight.
    """
    if wanted is None or claim.part == NOBODY:
        return None
    if claim.part != me:
        asks = wanted == me and claim.requester != me
        return TreeClaim(claim.part, me, in_status=True) if asks else None
    if not claim.requester:
        return None
    if claim.requester != wanted or wanted == me:
        return TreeClaim(me, in_status=True)  # the request came from a part whose cache had another shape of the tree
    return TreeClaim(wanted, in_status=True) if idle else None


def claim_status(before: Stored, claim: TreeClaim, now: int) -> dict[str, Any]:
    """The fields of a ClusterQueue's status that hold the claim. `now` is a whole second, in nanoseconds."""
    others = [each for each in listing(before.status.get("conditions")) if not _of_part(each)]
    made = [_condition(claim.part, _DECIDES, "Decides", _message(claim), before, now)]
    if claim.requester:
        message = f"Part {claim.requester} requests this ClusterQueue, because the root of its tree names that part"
        made.append(_condition(claim.requester, _ASKS, "Asks", message, before, now))
    return {"conditions": [*others, *made]}


def claim_patch(resource: Any, name: str, before: Stored, claim: TreeClaim, now: int) -> Patch:
    """The patch of the claim. It is bound to the version that was read, so one of two concurrent patches fails."""
    body = {"status": claim_status(before, claim, now)}
    return Patch(resource, None, name, body, before.version, MANAGER, "status")


def _message(claim: TreeClaim) -> str:
    if claim.requester:
        return f"Part {claim.part} decides for this ClusterQueue, and hands it over to part {claim.requester}"
    return f"Part {claim.part} decides for this ClusterQueue"


def _condition(part: str, status: str, reason: str, message: str, before: Stored, now: int) -> dict[str, Any]:
    kind = f"{CONDITION}{part}"
    return condition_to_write(condition(before.status, kind), kind, status, reason, message, now)


def _of_part(each: object) -> bool:
    return (text(mapping(each).get("type")) or "").startswith(CONDITION)
