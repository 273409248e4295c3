"""Migrations in few words: the quota of what came out, and random trees to start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from policies.migration import Migration
from policies.migration.model import SourceQueue
from tests.builders import Manifest, queue

AMOUNTS = st.integers(0, 40)


def named(migration: Migration, kind: str) -> dict[str, Any]:
    """The specs of this kind by name; those of LocalQueues by namespace and name."""
    return {
        "/".join(filter(None, (each["metadata"].get("namespace"), each["metadata"]["name"]))): each.get("spec")
        for each in migration.objects
        if each["kind"] == kind
    }


def quota_of(migration: Migration, name: str, resource: str = "cpu") -> tuple[str | None, ...]:
    """nominalQuota, borrowingLimit and lendingLimit of a ClusterQueue or Cohort; all None where it lists none."""
    spec = {**named(migration, "Cohort"), **named(migration, "ClusterQueue")}[name]
    rows = (row for group in spec.get("resourceGroups", ()) for row in group["flavors"][0]["resources"])
    found: Mapping[str, str] = next((row for row in rows if row["name"] == resource), {})
    return found.get("nominalQuota"), found.get("borrowingLimit"), found.get("lendingLimit")


def fields(migration: Migration) -> list[tuple[str, str]]:
    """What is lost, as object and field."""
    return [(each.object, each.field) for each in migration.lost]


@st.composite
def trees(draw: st.DrawFn, most: int = 8) -> list[SourceQueue]:
    """Queues q0 to qN with amounts of cpu, root among them; whatever fits nowhere is allowed."""
    size = draw(st.integers(1, most))
    found = [SourceQueue(name="root", parent=None)]
    for number in range(size):
        parent = draw(st.sampled_from([each.name for each in found]))
        amounts = [draw(st.none() | AMOUNTS) for _ in range(3)]
        kept, deserved, limit = ({} if amount is None else {"cpu": amount * 1000} for amount in amounts)
        found.append(SourceQueue(name=f"q{number}", parent=parent, guarantee=kept, deserved=deserved, most=limit))
    return found


def volcano(queues: list[SourceQueue]) -> list[Manifest]:
    """The same queues of Volcano; root needs no manifest."""
    return [
        queue(
            each.name,
            each.parent,
            **{
                field: f"cpu:{amounts['cpu']}m"
                for field, amounts in (
                    ("guarantee", each.guarantee),
                    ("deserved", each.deserved),
                    ("capability", each.most),
                )
                if amounts
            },
        )
        for each in queues
        if each.parent is not None
    ]
