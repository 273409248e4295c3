"""YuniKorn's Namespaces and queues, checked by brute force on plain manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from tests.policies import queue_oracle
from tests.policies.oracle_world import (
    CONFIGS,
    NONE,
    YUNIKORN,
    Edit,
    Key,
    Manifest,
    Row,
    World,
    amount,
    applied,
    of_kind,
)
from tests.policies.queue_oracle import PARENT, Team, Tree, json_object


def namespace_faults(world: World) -> Iterator[Row]:
    for key, namespace in of_kind(world, "Namespace"):
        notes = namespace["metadata"].get("annotations", {})
        for which in ("quota", "guaranteed"):
            values = json_object(notes.get(YUNIKORN + which) or "{}")
            if values is None:
                yield "no JSON object", key, which, NONE
            for name, value in (values or {}).items():
                if amount(value) is None:
                    yield "no amount", key, f"{which} {name}", NONE
        quota, guaranteed = (_granted(notes, which) for which in ("quota", "guaranteed"))
        for name, value in guaranteed.items():
            if name in quota and value > quota[name]:
                yield "guaranteed > quota", key, name, value - quota[name]


def _granted(notes: Mapping[str, str], which: str) -> dict[str, Fraction]:
    """One bad value voids the whole, and nothing but zeros is no quota."""
    values = {name: amount(value) for name, value in (json_object(notes.get(YUNIKORN + which) or "{}") or {}).items()}
    read = {name: value for name, value in values.items() if value is not None}
    return read if len(read) == len(values) and any(read.values()) else {}


def queues_of(world: World) -> Tree | None:
    config = world.get(CONFIGS)
    return queue_oracle.read(config["data"]["queues.yaml"], amount) if config else None


def _team(namespace: Manifest) -> Team:
    notes = namespace["metadata"].get("annotations", {})
    quota, guaranteed = (
        {"vcore" if name == "cpu" else name: value for name, value in _granted(notes, which).items()}
        for which in ("quota", "guaranteed")
    )
    return Team(namespace["metadata"]["name"], notes.get(PARENT, ""), quota, guaranteed)


def queue_text_faults(world: World) -> Iterator[Row]:
    root = queues_of(world)
    if root is None:
        return
    teams = [_team(namespace) for _, namespace in of_kind(world, "Namespace")]
    for what, where, excess in (*queue_oracle.queue_faults(root, amount), *queue_oracle.team_faults(root, teams)):
        yield what, CONFIGS, where, excess


def queue_lost(before: World, after: World, key: Key) -> str:
    """Why the Namespace's queue cannot be made where it asks for one, unless that was so before in the same way."""
    stood, root = queues_of(before), queues_of(after)
    team = _team(after[key])
    fault = queue_oracle.parent_fault(root, team) if root else ""
    kept = key in before and _team(before[key]).parent == team.parent
    return "" if kept and stood and queue_oracle.parent_fault(stood, team) == fault else fault


def disturbs(before: World, edit: Edit) -> bool:
    """Whether a queue goes, or becomes a leaf, that Namespaces name as the parent of theirs."""
    after = applied(before, edit)
    stood, root = queues_of(before), queues_of(after)
    teams = [_team(namespace) for _, namespace in of_kind(after, "Namespace")]
    if stood is None or root is None:
        return False
    faults = [(queue_oracle.parent_fault(stood, team), queue_oracle.parent_fault(root, team)) for team in teams]
    return any(now and not was for was, now in faults)
