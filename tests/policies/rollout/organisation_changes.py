"""Changes from one random organisation to another, as edits, and a check that an order is safe."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hypothesis import strategies as st

from policies import dialects
from policies.configuration.settings import Configuration
from policies.dialects.reading import Parsed
from policies.judge import judge
from policies.judging.changes import change
from policies.judging.sentence import sentence
from policies.model.change import Circumstances
from policies.model.findings import Profile
from policies.rollout.edits import Edit, Site
from tests.builders import namespace, queue, world
from tests.policies.oracle_world import YUNIKORN, Manifest, World, applied, key_of
from tests.policies.organisations import changes, queue_text
from tests.policies.queue_oracle import PARENT

STRICT = Configuration(profile=Profile.STRICT)


def parsed(manifest: Manifest | None) -> Parsed | None:
    found = dialects.read(manifest) if manifest is not None else None
    return Parsed(found, manifest) if found is not None else None


def site(before: World) -> Site:
    return Site(world(*before.values()), STRICT, Circumstances())


def edits(before: World, after: World) -> list[Edit]:
    """From one organisation to the other."""
    keys = sorted({*before, *after})
    return [Edit(parsed(before.get(key)), parsed(after.get(key))) for key in keys if before.get(key) != after.get(key)]


def whole(at: Site, every: Iterable[Edit]) -> list[str]:
    """What the change is refused for as one transaction."""
    found = judge(at.world, [change(it.before, it.after) for it in every], at.configuration, at.circumstances)
    return [sentence(judged) for judged in found.verdict.findings if judged.severity == "error"]


def played(at: Site, every: Iterable[Edit]) -> tuple[Site, list[str]]:
    """Each edit by itself, as the webhook sees them; the refusals."""
    refusals: list[str] = []
    for edit in every:
        held = at.world.get(edit.ref)
        before = Parsed(held, edit.before.manifest if edit.before else None) if held is not None else None
        at, found = at.after(Edit(before, edit.after))
        refusals += map(sentence, found)
    return at, refusals


@st.composite
def moves(draw: st.DrawFn, dialect: str = "") -> tuple[World, World]:
    """An organisation before, and another one after, of the same names; of this dialect, or of any."""
    before, edit = draw(changes(sound=True, dialect=dialect))
    if draw(st.booleans()):
        return before, applied(before, edit)
    after, _ = draw(changes(sound=True, dialect=dialect))
    return before, after


@st.composite
def packed(draw: st.DrawFn) -> tuple[World, World]:
    """Children of three queues before and after: there is hardly any room, and any of them may move or change."""
    parents = draw(st.lists(st.integers(2, 6), min_size=3, max_size=3))
    return _filled(draw, parents), _filled(draw, parents)


def _filled(draw: st.DrawFn, parents: list[int]) -> World:
    rooms = list(parents)
    found = [queue(f"p{index}", deserved=f"cpu:{held}") for index, held in enumerate(parents)]
    for child in draw(st.permutations("abcdef")):
        parent = draw(st.integers(0, len(rooms) - 1))
        wanted = min(draw(st.integers(1, 4)), rooms[parent])
        rooms[parent] -= wanted
        found.append(queue(child, f"p{parent}", deserved=f"cpu:{wanted}"))
    return {key_of(manifest): manifest for manifest in found}


@st.composite
def packed_namespaces(draw: st.DrawFn) -> tuple[World, World]:
    """Namespaces of three queues of YuniKorn before and after, whose sizes may change: all is guaranteed to someone."""
    parents = draw(st.lists(st.integers(2, 6), min_size=3, max_size=3))
    later = draw(st.one_of(st.just(parents), st.permutations(parents)))
    return _namespaces(draw, parents), _namespaces(draw, later)


def _namespaces(draw: st.DrawFn, parents: list[int]) -> World:
    rooms = list(parents)
    amounts = [{"guaranteed": {"vcore": f"{held}"}, "max": {"vcore": f"{held}"}} for held in parents]
    tree = [{"name": f"p{index}", "parent": True, "resources": each} for index, each in enumerate(amounts)]
    found = [queue_text(*tree)]
    for name in draw(st.permutations(["n1", "n2", "n3", "n4"])):
        parent = draw(st.integers(0, len(rooms) - 1))
        wanted = min(draw(st.integers(1, 4)), rooms[parent])
        rooms[parent] -= wanted
        text = json.dumps({"cpu": f"{wanted}"})
        notes = {PARENT: f"root.p{parent}", YUNIKORN + "guaranteed": text, YUNIKORN + "quota": text}
        found.append(namespace(name, notes))
    return {key_of(manifest): manifest for manifest in found}
