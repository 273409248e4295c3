"""Reads how a ClusterQueue may reclaim quota, and the quota that is reserved in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects.kueue_kinds import flavor_resource
from policies.dialects.reading import listing, mapping, text
from policies.model.pools import count
from policies.model.quantity import Quantity

NEVER = "Never"


@dataclass(frozen=True, slots=True)
class Preemption:
    """The parts of spec.preemption that concern other queues."""

    reclaim_within_cohort: str = NEVER
    borrow_within_cohort: str = NEVER


def read_preemption(spec: Mapping[str, object]) -> Preemption:
    borrow = mapping(spec.get("borrowWithinCohort"))
    return Preemption(text(spec.get("reclaimWithinCohort")) or NEVER, text(borrow.get("policy")) or NEVER)


def read_reserved(status: Mapping[str, object]) -> dict[str, int]:
    """status.flavorsReservation by FlavorResource. Unreadable parts count as 0, since a controller writes them."""
    reserved: dict[str, int] = {}
    for flavor in map(mapping, listing(status.get("flavorsReservation"))):
        for resource in map(mapping, listing(flavor.get("resources"))):
            name, held = text(resource.get("name")) or "", Quantity.read(resource.get("total"))
            if held is not None and (amount := count(name, held)) > 0:
                reserved[flavor_resource(text(flavor.get("name")) or "", name)] = amount
    return reserved
